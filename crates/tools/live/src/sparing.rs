//! Distance for one finding alone: exchanges that a remedy would remove pass without the link's delay,
//! in every second operation.
//!
//! ```text
//! relay's link thread --bytes--> reading --requests--> operations --spared?--> link
//! relay of http       --bytes--> reading --requests-->     |
//! ```

mod alternation;
mod operations;
pub mod proofs;
mod reading;
mod spared;
mod stage;

use analysis::findings::{round_trips_kept, sets_up_connection};
use analysis::fingerprint::KnownFingerprints;
use anyhow::Result;
use model::{
    Closing, ConnectionEvent, ConnectionId, Direction, Fingerprint, Observer, ObserverFactory,
    SparingOutcome, Timestamp, Warning, WarningKind, Watermark,
};
use operations::{Number, Operations, Piece};
use reading::{Passed, Reading, Request};
use relay::SparedConnection;
pub use spared::Spared;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// All relays of a run share it.
#[derive(Debug)]
pub struct Sparing {
    known: KnownFingerprints,
    operations: Mutex<Operations>,
    unreadable: AtomicU64,
    next: AtomicU64,
}

impl Sparing {
    /// `by_request` if a relay sees HTTP requests; `rtt` is that of the link.
    ///
    /// # Errors
    /// If longwire cannot spare this alone.
    pub fn new(spared: &str, keeps_literals: bool, by_request: bool, rtt: Duration) -> Result<Arc<Self>> {
        let spared = Spared::parse(spared, keeps_literals)?;
        Ok(Self::from_operations(Operations::new(spared, by_request, rtt)))
    }

    fn from_operations(operations: Operations) -> Arc<Self> {
        Arc::new(Self {
            known: KnownFingerprints::default(),
            operations: Mutex::new(operations),
            unreadable: AtomicU64::new(0),
            next: AtomicU64::new(0),
        })
    }

    /// For the relay of a server at `port`.
    pub fn of_server(self: &Arc<Self>, port: u16) -> Arc<dyn relay::Sparing> {
        Arc::new(OfServer {
            sparing: self.clone(),
            port,
        })
    }

    /// Sees the requests of an application at `port`, and passes all to `inner`.
    pub fn of_application(
        self: &Arc<Self>,
        port: u16,
        inner: Arc<dyn ObserverFactory>,
    ) -> Arc<dyn ObserverFactory> {
        Arc::new(OfApplication {
            sparing: self.clone(),
            port,
            inner,
        })
    }

    pub fn name(&self) -> String {
        self.operations().printed()
    }

    /// # Errors
    /// If statements ran, and none of them is the one to spare.
    pub fn check_named(&self) -> Result<()> {
        match self.unreadable.load(Ordering::Relaxed) {
            0 => self.operations().check_named(),
            _ => Ok(()),
        }
    }

    pub fn proves(&self) -> bool {
        self.operations().proves()
    }

    /// For readers of a recording with operations of both kinds.
    pub fn warning(&self) -> Option<Warning> {
        let text = format!(
            "in every second operation {} passed without the link's delay (--spare): these figures are of both kinds; analyse a \
             run without --spare",
            self.name()
        );
        (!self.proves()).then(|| Warning::new(WarningKind::DoneOtherwise, text))
    }

    pub fn finish(&self) -> Vec<SparingOutcome> {
        let mut outcomes = self.operations().finish();
        for outcome in &mut outcomes {
            outcome.unreadable = self.unreadable.load(Ordering::Relaxed);
        }
        outcomes
    }

    fn reading(&self, port: u16) -> (Number, Reading) {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        (number, Reading::new(port, &self.known))
    }

    /// A panicked thread leaves the data intact.
    fn operations(&self) -> MutexGuard<'_, Operations> {
        self.operations.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

struct OfServer {
    sparing: Arc<Sparing>,
    port: u16,
}

impl relay::Sparing for OfServer {
    fn connection(&self, at: Timestamp) -> Box<dyn SparedConnection + Send> {
        let (number, reading) = self.sparing.reading(self.port);
        Box::new(ServerConnection {
            spares_connecting: self.sparing.operations().open_connection(number, at),
            sparing: self.sparing.clone(),
            number,
            reading,
            opening: Opening::Login,
        })
    }
}

struct ServerConnection {
    sparing: Arc<Sparing>,
    number: Number,
    reading: Reading,
    spares_connecting: bool,
    opening: Opening,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Opening {
    Login,
    /// Settings and catalogue reads.
    SetUp,
    Over,
}

impl SparedConnection for ServerConnection {
    fn spares_connecting(&self) -> bool {
        self.spares_connecting
    }

    fn request(&mut self, at: Timestamp, bytes: &[u8], at_rest: bool) -> bool {
        let (passed, is_whole) = self.read(at, Direction::ClientToServer, bytes);
        let requests: Vec<Request> = passed
            .iter()
            .filter_map(|passed| match passed {
                Passed::Request(request) => Some(request.clone()),
                _ => None,
            })
            .collect();
        let opening = self.opening_after(&requests);
        let before = std::mem::replace(&mut self.opening, opening);
        if self.opening == Opening::Login {
            return self.spares_login(&passed);
        }
        let piece = Piece {
            requests: &requests,
            one_way: passed.contains(&Passed::OneWay),
            is_whole,
            at_rest,
            sets_up: self.opening == Opening::SetUp,
        };
        let mut operations = self.sparing.operations();
        if before == Opening::Login {
            operations.logged_in();
        }
        operations.process_piece(self.number, at, piece)
    }

    fn reply(&mut self, at: Timestamp, bytes: &[u8]) {
        for passed in self.read(at, Direction::ServerToClient, bytes).0 {
            match passed {
                Passed::Reply(state) => self.sparing.operations().process_reply(self.number, at, state),
                Passed::ReplyPause => self.sparing.operations().pause_reply(self.number),
                _ => {}
            }
        }
    }

    fn closed(&mut self, _at: Timestamp) {
        self.sparing.operations().close_connection(self.number);
    }
}

impl ServerConnection {
    fn opening_after(&self, requests: &[Request]) -> Opening {
        let is_login = |request: &Request| *request == Request::default();
        let sets_up = |request: &Request| request.texts().all(|text| sets_up_connection(text));
        match self.opening {
            Opening::Login if self.reading.is_readable() && requests.iter().all(is_login) => Opening::Login,
            Opening::Login | Opening::SetUp if requests.iter().all(sets_up) => Opening::SetUp,
            Opening::Login | Opening::SetUp | Opening::Over => Opening::Over,
        }
    }

    /// A client that tests a kept connection waits for that as for one round trip of the login.
    fn spares_login(&self, passed: &[Passed]) -> bool {
        let is_kept = |passed: &Passed| matches!(passed, Passed::Client(name) if round_trips_kept(name) > 0);
        let spares = self.spares_connecting && !passed.iter().any(is_kept);
        if spares {
            self.sparing.operations().spare_login();
        }
        spares
    }

    fn read(&mut self, at: Timestamp, direction: Direction, bytes: &[u8]) -> (Vec<Passed>, bool) {
        let was_readable = self.reading.is_readable();
        let passed = self.reading.pass(at, direction, bytes);
        if was_readable && !self.reading.is_readable() {
            self.sparing.unreadable.fetch_add(1, Ordering::Relaxed);
        }
        passed
    }
}

struct OfApplication {
    sparing: Arc<Sparing>,
    port: u16,
    inner: Arc<dyn ObserverFactory>,
}

impl ObserverFactory for OfApplication {
    fn observe(&self, id: ConnectionId) -> Box<dyn Observer + Send> {
        let (number, reading) = self.sparing.reading(self.port);
        Box::new(WebConnection {
            sparing: self.sparing.clone(),
            number,
            reading,
            name: None,
            inner: self.inner.observe(id),
        })
    }

    fn watermark(&self) -> Watermark {
        self.inner.watermark()
    }
}

struct WebConnection {
    sparing: Arc<Sparing>,
    number: Number,
    reading: Reading,
    name: Option<Fingerprint>,
    inner: Box<dyn Observer + Send>,
}

impl Observer for WebConnection {
    fn event(&mut self, id: ConnectionId, event: ConnectionEvent<'_>) {
        match event {
            ConnectionEvent::Segment(segment) => {
                let (passed, _) = self.reading.pass(segment.at, segment.direction, segment.payload);
                passed
                    .into_iter()
                    .for_each(|passed| self.passed(segment.at, passed));
            }
            ConnectionEvent::Closed { at, how, .. } => {
                if how == Closing::Finished {
                    let last = self.reading.end_of_server(at);
                    last.into_iter().for_each(|passed| self.passed(at, passed));
                }
                self.sparing.operations().end(self.number, at);
            }
            _ => {}
        }
        self.inner.event(id, event);
    }
}

impl WebConnection {
    fn passed(&mut self, at: Timestamp, passed: Passed) {
        match passed {
            Passed::HttpRequest(name) => self.name = Some(name),
            Passed::Request(_) => {
                if let Some(name) = self.name.take() {
                    self.sparing.operations().http_request(self.number, at, &name);
                }
            }
            Passed::Reply(_) => self.sparing.operations().http_reply(self.number, at),
            Passed::Client(_) | Passed::OneWay | Passed::ReplyPause => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT: Timestamp = Timestamp::from_nanos(1);

    fn message(tag: &[u8], body: &[u8]) -> Vec<u8> {
        [tag, &(body.len() as u32 + 4).to_be_bytes(), body].concat()
    }

    /// The second connection is spared.
    fn connecting() -> (Arc<Sparing>, Box<dyn SparedConnection + Send>) {
        let sparing = Sparing::new("reconnect", false, false, Duration::ZERO).expect("a kind");
        let server = sparing.of_server(5432);
        server.connection(AT).closed(AT);
        let connection = server.connection(AT);
        assert!(connection.spares_connecting());
        (sparing, connection)
    }

    #[test]
    fn connecting_ends_where_encryption_begins() {
        let (sparing, mut connection) = connecting();
        let asks_for_tls = message(b"", &80_877_103_u32.to_be_bytes());
        assert!(connection.request(AT, &asks_for_tls, true));
        connection.reply(AT, b"S");
        assert!(!connection.request(AT, b"\x16\x03\x01\x02\x00\x01", true));
        let refusal = sparing.finish()[0].refusal();
        assert!(refusal.is_some_and(|why| why.contains("encrypted")));
    }

    #[test]
    fn connecting_ends_with_the_first_statement_even_if_it_is_only_prepared() {
        let (sparing, mut connection) = connecting();
        assert!(connection.request(AT, &message(b"", b"\0\x03\0\0user\0app\0\0"), true));
        let login = [message(b"R", &[0; 4]), message(b"Z", b"I")].concat();
        connection.reply(AT, &login);
        let prepares = [message(b"P", b"s1\0select 17\0\0\0"), message(b"S", b"")].concat();
        assert!(!connection.request(AT, &prepares, true));
        assert_eq!(sparing.finish()[0].refusal(), None);
    }

    fn query(text: &str) -> Vec<u8> {
        message(b"Q", format!("{text}\0").as_bytes())
    }

    fn answer(connection: &mut Box<dyn SparedConnection + Send>) {
        let reply = [message(b"C", b"SET\0"), message(b"Z", b"I")].concat();
        connection.reply(AT, &reply);
    }

    #[test]
    fn settings_after_the_login_are_of_connecting_until_the_first_work() {
        let (sparing, mut connection) = connecting();
        assert!(connection.request(AT, &message(b"", b"\0\x03\0\0user\0app\0\0"), true));
        connection.reply(AT, &[message(b"R", &[0; 4]), message(b"Z", b"I")].concat());
        for (text, is_spared) in [
            ("set client_encoding to 'utf8'", true),
            ("select current_schema()", true),
            ("rollback", true),
            ("select name from customers", false),
            ("set client_encoding to 'utf8'", false),
        ] {
            assert_eq!(connection.request(AT, &query(text), true), is_spared, "{text}");
            answer(&mut connection);
        }
        drop(connection);
        assert_eq!(sparing.finish()[0].refusal(), None);
    }

    #[test]
    fn settings_of_few_connections_are_the_programs_own() {
        let (sparing, mut connection) = connecting();
        for _ in 0..5 {
            sparing.operations().logged_in();
        }
        assert!(connection.request(AT, &message(b"", b"\0\x03\0\0user\0app\0\0"), true));
        connection.reply(AT, &[message(b"R", &[0; 4]), message(b"Z", b"I")].concat());
        assert!(!connection.request(AT, &query("set role reader"), true));
    }
}

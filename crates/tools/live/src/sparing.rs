//! Distance for one finding alone: exchanges that a remedy would remove pass without the link's delay,
//! in every second operation.
//!
//! ```text
//! relay's link thread --bytes--> reading --requests--> operations --spared?--> link
//! relay of http       --bytes--> reading --requests-->     |
//! ```

mod alternation;
mod operations;
mod reading;
mod spared;

use analysis::fingerprint::KnownFingerprints;
use anyhow::Result;
use model::{
    ConnectionEvent, ConnectionId, Direction, Fingerprint, Observer, ObserverFactory, SparingOutcome,
    Timestamp,
};
use operations::{Number, Operations, Piece};
use reading::{Passed, Reading, Request};
use relay::SparedConnection;
pub use spared::Spared;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// All relays of a run share it.
#[derive(Debug)]
pub struct Sparing {
    spared: Spared,
    known: KnownFingerprints,
    operations: Mutex<Operations>,
    unreadable: AtomicU64,
    next: AtomicU64,
}

impl Sparing {
    /// `by_request` if a relay sees HTTP requests.
    ///
    /// # Errors
    /// If longwire cannot spare this alone.
    pub fn new(spared: &str, keeps_literals: bool, by_request: bool) -> Result<Arc<Self>> {
        Ok(Arc::new(Self {
            spared: Spared::parse(spared, keeps_literals)?,
            known: KnownFingerprints::default(),
            operations: Mutex::new(Operations::new(by_request)),
            unreadable: AtomicU64::new(0),
            next: AtomicU64::new(0),
        }))
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

    pub fn finish(&self) -> SparingOutcome {
        let mut operations = self.operations();
        SparingOutcome {
            spared: self.spared.printed(operations.named_statement()),
            unreadable: self.unreadable.load(Ordering::Relaxed),
            ..operations.finish()
        }
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
        let is_connecting = self.sparing.spared == Spared::Connecting;
        Box::new(ServerConnection {
            spares_connecting: is_connecting && self.sparing.operations().open_connection(number, at),
            sparing: self.sparing.clone(),
            number,
            reading,
            is_connecting,
        })
    }
}

struct ServerConnection {
    sparing: Arc<Sparing>,
    number: Number,
    reading: Reading,
    spares_connecting: bool,
    /// Until its first statement, if connecting is spared.
    is_connecting: bool,
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
        let is_login = |request: &Request| *request == Request::default();
        self.is_connecting &= self.reading.is_readable() && requests.iter().all(is_login);
        if self.is_connecting {
            return self.spares_connecting;
        }
        let piece = Piece {
            requests: &requests,
            one_way: passed.contains(&Passed::OneWay),
            is_whole,
            at_rest,
        };
        let spared = &self.sparing.spared;
        let mut operations = self.sparing.operations();
        operations.process_piece(self.number, at, piece, spared)
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
            ConnectionEvent::Closed { at, .. } => self.sparing.operations().end(self.number, at),
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
            Passed::OneWay | Passed::ReplyPause => {}
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
        let sparing = Sparing::new("reconnect", false, false).expect("a kind");
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
        let refusal = sparing.finish().refusal();
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
        assert_eq!(sparing.finish().refusal(), None);
    }
}

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
    encrypted: AtomicU64,
    next: AtomicU64,
}

impl Sparing {
    /// `by_request` if a relay sees HTTP requests.
    ///
    /// # Errors
    /// If longwire cannot spare this alone.
    pub fn new(spared: &str, by_request: bool) -> Result<Arc<Self>> {
        Ok(Arc::new(Self {
            spared: Spared::parse(spared)?,
            known: KnownFingerprints::default(),
            operations: Mutex::new(Operations::new(by_request)),
            encrypted: AtomicU64::new(0),
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
        SparingOutcome {
            spared: self.spared.to_string(),
            encrypted: self.encrypted.load(Ordering::Relaxed),
            ..self.operations().finish()
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
            spares_connecting: is_connecting && self.sparing.operations().connects(number, at),
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
        let (passed, is_whole) = self.reading.pass(at, Direction::ClientToServer, bytes);
        let requests: Vec<Request> = passed
            .iter()
            .filter_map(|passed| match passed {
                Passed::Request(request) => Some(request.clone()),
                _ => None,
            })
            .collect();
        self.is_connecting &= requests.iter().all(|request| request.executes.is_empty());
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
        operations.asked(self.number, at, piece, spared)
    }

    fn reply(&mut self, at: Timestamp, bytes: &[u8]) {
        let was_encrypted = self.reading.is_encrypted();
        let (passed, _) = self.reading.pass(at, Direction::ServerToClient, bytes);
        if !was_encrypted && self.reading.is_encrypted() {
            self.sparing.encrypted.fetch_add(1, Ordering::Relaxed);
        }
        for passed in passed {
            if let Passed::Reply(state) = passed {
                self.sparing.operations().replied(self.number, at, state);
            }
        }
    }

    fn closed(&mut self, _at: Timestamp) {
        self.sparing.operations().closed(self.number);
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
            ConnectionEvent::Closed { at, .. } => self.sparing.operations().http_reply(self.number, at),
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
            Passed::OneWay => {}
        }
    }
}

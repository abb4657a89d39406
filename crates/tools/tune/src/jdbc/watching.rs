//! Observes a job's driver through a relay.

use crate::Error;
use client::Watch;
use client::session::SessionError;
use model::{ConnectionEvent, ConnectionId, Observer, ObserverFactory, PerDirection, Timestamp};
use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use sys::target::Target;

/// Runs `job` with a relay in front of `server` and its traffic counters. Passes all events to
/// `watch` before it returns.
pub(super) fn through<T>(
    server: Target,
    watch: &Watch<'_>,
    job: impl FnOnce(SocketAddr, &dyn Fn() -> Passed) -> T,
) -> Result<T, Error> {
    let refused = |error| Error::Session(SessionError::Connect(error));
    let (sender, seen) = sync_channel(MAX_EVENTS);
    let factory = Arc::new(Forwarding {
        sender: Mutex::new(sender),
    });
    let relay = relay::start(relay::Options::new(server), watch.clock, factory).map_err(refused)?;
    // Relay threads must not borrow: they send events to this thread, which owns the observers.
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let mut observers: HashMap<ConnectionId, Box<dyn Observer + Send>> = HashMap::new();
            for (id, event, payload) in seen {
                let observer = observers.entry(id).or_insert_with(|| watch.factory.observe(id));
                observer.event(id, event.with_payload(&payload));
            }
        });
        let passed = || {
            // The relay counts bytes slightly after the driver receives them.
            std::thread::sleep(A_MOMENT);
            Passed {
                at: watch.clock.now(),
                payload_bytes: relay.counters().payload_bytes,
            }
        };
        let done = job(relay.local_addr(), &passed);
        relay.stop(GRACE);
        Ok(done)
    })
}

#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Passed {
    pub(super) at: Timestamp,
    payload_bytes: PerDirection<u64>,
}

impl Passed {
    /// Payload bytes of each direction.
    pub(super) fn bytes_since(self, earlier: Self) -> PerDirection<u64> {
        let both = self.payload_bytes.zip(earlier.payload_bytes);
        both.map(|(now, before)| now.saturating_sub(before))
    }
}

struct Forwarding {
    sender: Mutex<SyncSender<DetachedEvent>>,
}

impl ObserverFactory for Forwarding {
    fn observe(&self, _id: ConnectionId) -> Box<dyn Observer + Send> {
        let sender = self.sender.lock().unwrap_or_else(PoisonError::into_inner);
        Box::new(EventSender(sender.clone()))
    }
}

struct EventSender(SyncSender<DetachedEvent>);

type DetachedEvent = (ConnectionId, ConnectionEvent<'static>, Vec<u8>);

impl Observer for EventSender {
    fn event(&mut self, connection: ConnectionId, event: ConnectionEvent<'_>) {
        // The receiver is only gone if the run was abandoned.
        let (event, payload) = event.detach();
        self.0.send((connection, event, payload.to_vec())).ok();
    }
}

/// Queue of events of up to 64 KiB. When it is full, the relay blocks. An observed job is not
/// timed.
const MAX_EVENTS: usize = 256;

/// Wait for the driver to close its connection.
const GRACE: Duration = Duration::from_secs(2);
const A_MOMENT: Duration = Duration::from_millis(5);

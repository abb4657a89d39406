//! A relay in front of a job, so that what passes is the wire's: the driver's bytes as they are.

use crate::TuneError;
use client::Watch;
use client::session::SessionError;
use model::ObserverFactory;
use model::{ConnectionEvent, ConnectionId, Direction, Observer, Segment, Timestamp};
use relay::RelayOptions;
use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use sys::target::Target;

/// Runs `job` with the address of a relay, which also tells what passed so far, in front of `server` and shows `watch` all that passes before it returns.
pub(super) fn through<T>(
    server: Target,
    watch: &Watch<'_>,
    job: impl FnOnce(SocketAddr, &dyn Fn() -> Passed) -> T,
) -> Result<T, TuneError> {
    let refused = |error| TuneError::Session(SessionError::Connect(error));
    let (sender, seen) = channel();
    let factory = Arc::new(Forwarding {
        sender: Mutex::new(sender),
    });
    let relay = relay::start(RelayOptions::new(server), watch.clock, factory).map_err(refused)?;
    // The relay's threads outlive no borrow: they tell this one, which has the observers.
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let mut observers: HashMap<ConnectionId, Box<dyn Observer + Send>> = HashMap::new();
            for (id, event) in seen {
                let observer = observers.entry(id).or_insert_with(|| watch.factory.observe(id));
                observer.event(id, event.as_event());
            }
        });
        let passed = || {
            // What the driver has just been given the relay counts a moment later.
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

/// What passed by some time.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Passed {
    /// That time.
    pub(super) at: Timestamp,
    payload_bytes: [u64; 2],
}

impl Passed {
    /// Payload bytes each way from `earlier` on.
    pub(super) fn bytes_since(self, earlier: Self) -> [u64; 2] {
        let [up, down] = self.payload_bytes;
        let [up_before, down_before] = earlier.payload_bytes;
        [up.saturating_sub(up_before), down.saturating_sub(down_before)]
    }
}

struct Forwarding {
    sender: Mutex<Sender<(ConnectionId, Seen)>>,
}

impl ObserverFactory for Forwarding {
    fn observe(&self, _id: ConnectionId) -> Box<dyn Observer + Send> {
        let sender = self.sender.lock().unwrap_or_else(PoisonError::into_inner);
        Box::new(EventSender(sender.clone()))
    }
}

struct EventSender(Sender<(ConnectionId, Seen)>);

impl Observer for EventSender {
    fn event(&mut self, connection: ConnectionId, event: ConnectionEvent<'_>) {
        // Nobody listens any more only when the run was given up.
        self.0.send((connection, Seen::of(event))).ok();
    }
}

/// An event that may be kept.
enum Seen {
    Bytes {
        direction: Direction,
        at: Timestamp,
        payload: Vec<u8>,
        unseen: u64,
        sender_idle: Option<Duration>,
    },
    Other(ConnectionEvent<'static>),
}

impl Seen {
    fn of(event: ConnectionEvent<'_>) -> Self {
        match event {
            ConnectionEvent::Segment(segment) => Self::Bytes {
                direction: segment.direction,
                at: segment.at,
                payload: segment.payload.to_vec(),
                unseen: segment.unseen,
                sender_idle: segment.sender_idle,
            },
            ConnectionEvent::Opened {
                at,
                client,
                server,
                sides_certain,
            } => Self::Other(ConnectionEvent::Opened {
                at,
                client,
                server,
                sides_certain,
            }),
            ConnectionEvent::Handshake(handshake) => Self::Other(ConnectionEvent::Handshake(handshake)),
            ConnectionEvent::InStead(trip) => Self::Other(ConnectionEvent::InStead(trip)),
            ConnectionEvent::RoundTrip { at, side, rtt } => {
                Self::Other(ConnectionEvent::RoundTrip { at, side, rtt })
            }
            ConnectionEvent::AssumedRoundTrip {
                at,
                side,
                rtt,
                source,
            } => Self::Other(ConnectionEvent::AssumedRoundTrip {
                at,
                side,
                rtt,
                source,
            }),
            ConnectionEvent::Recovery { direction, from, to } => {
                Self::Other(ConnectionEvent::Recovery { direction, from, to })
            }
            ConnectionEvent::Ended { at, direction } => Self::Other(ConnectionEvent::Ended { at, direction }),
            ConnectionEvent::Closed { at, how, totals } => {
                Self::Other(ConnectionEvent::Closed { at, how, totals })
            }
        }
    }

    fn as_event(&self) -> ConnectionEvent<'_> {
        match self {
            Self::Bytes {
                direction,
                at,
                payload,
                unseen,
                sender_idle,
            } => ConnectionEvent::Segment(Segment {
                direction: *direction,
                at: *at,
                payload,
                unseen: *unseen,
                sender_idle: *sender_idle,
            }),
            Self::Other(event) => *event,
        }
    }
}

/// For the driver's connection to be closed, which it was asked for.
const GRACE: Duration = Duration::from_secs(2);
const A_MOMENT: Duration = Duration::from_millis(5);

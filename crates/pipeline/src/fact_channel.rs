//! Facts from the threads that forward bytes to the thread that sums them up: a channel, so that forwarding never waits.

use super::decode::ConnectionDecoders;
use analysis::fact::Fact;
use analysis::fingerprint::KnownFingerprints;
use analysis::pairing::OwedInAll;
use model::ObserverFactory;
use model::{ConnectionEvent, ConnectionId, Direction, Observer, Segment, Timestamp};
use std::hash::RandomState;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Facts of any number of connections, on their way to the code that sums them up.
#[derive(Debug)]
pub struct FactChannel {
    sender: Sender<Posted>,
    arrivals: Mutex<Arrivals>,
    keep_literals: bool,
    /// One key for the whole run.
    digests: RandomState,
    /// One set for the whole run.
    fingerprints: KnownFingerprints,
    owed: OwedInAll,
    /// Bytes of payload on their way, where it is kept.
    payload: Option<Arc<AtomicU64>>,
}

/// The receiving end.
#[derive(Debug)]
struct Arrivals {
    receiver: Receiver<Posted>,
    /// What arrived since the last time something was taken, in the order of time: what another thread saw before it may arrive after it.
    held: Vec<Posted>,
}

impl Arrivals {
    /// Adds what has arrived, and gives what has been held for a while, with all that was seen before it.
    fn take(&mut self, first: Option<Posted>) -> Vec<Posted> {
        let until = self.held.last().map(time_of);
        self.held
            .extend(first.into_iter().chain(self.receiver.try_iter()));
        self.held.sort_by_key(time_of);
        let ready = self.held.partition_point(|posted| Some(time_of(posted)) <= until);
        let later = self.held.split_off(ready);
        std::mem::replace(&mut self.held, later)
    }
}

/// What goes through the channel.
#[allow(
    clippy::large_enum_variant,
    reason = "facts are the rule: boxing each would cost more than the room of the few others"
)]
#[derive(Debug)]
pub enum Posted {
    /// A fact.
    Fact(Fact),
    /// Payload that passed, before the facts that follow from it.
    Payload(Payload),
}

/// Payload that passed.
#[derive(Debug)]
pub struct Payload {
    /// On which connection.
    pub connection: ConnectionId,
    direction: Direction,
    at: Timestamp,
    bytes: Vec<u8>,
    unseen: u64,
}

impl Payload {
    /// The segment, as it was seen.
    pub fn segment(&self) -> Segment<'_> {
        Segment {
            direction: self.direction,
            at: self.at,
            payload: &self.bytes,
            unseen: self.unseen,
            sender_idle: None,
        }
    }
}

impl FactChannel {
    /// Nothing on its way yet.
    pub fn new(keep_literals: bool) -> Self {
        let (sender, receiver) = mpsc::channel();
        Self {
            sender,
            arrivals: Mutex::new(Arrivals {
                receiver,
                held: Vec::new(),
            }),
            keep_literals,
            digests: RandomState::default(),
            fingerprints: KnownFingerprints::default(),
            owed: OwedInAll::default(),
            payload: None,
        }
    }

    /// The same, also with the payload: for [`FactChannel::take_all`] and [`FactChannel::wait`].
    #[must_use]
    pub fn with_payload(self) -> Self {
        Self {
            payload: Some(Arc::default()),
            ..self
        }
    }

    /// Takes the facts that have arrived, in the order of their end.
    pub fn facts(&self) -> impl Iterator<Item = Fact> {
        self.take_all().into_iter().filter_map(|posted| match posted {
            Posted::Fact(fact) => Some(fact),
            Posted::Payload(_) => None,
        })
    }

    /// Takes everything that has arrived, in the order of time.
    pub fn take_all(&self) -> Vec<Posted> {
        let mut arrivals = self.arrivals();
        let mut all = arrivals.take(None);
        all.append(&mut arrivals.held);
        self.taken(all)
    }

    /// Waits at most `patience` for something to arrive, then a little for what other threads are about to send. What arrived then is
    /// held until the next call: this one takes what the last one held and what was seen before that, in the order of time.
    pub fn wait(&self, patience: Duration) -> Vec<Posted> {
        let mut arrivals = self.arrivals();
        let first = arrivals.receiver.recv_timeout(patience).ok();
        if first.is_some() {
            std::thread::sleep(GATHER);
        }
        let ready = arrivals.take(first);
        self.taken(ready)
    }

    fn arrivals(&self) -> MutexGuard<'_, Arrivals> {
        self.arrivals.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Nothing of `all` is on its way any more.
    fn taken(&self, all: Vec<Posted>) -> Vec<Posted> {
        if let Some(payload) = &self.payload {
            let taken = all.iter().map(|posted| match posted {
                Posted::Fact(_) => 0,
                Posted::Payload(payload) => payload.bytes.len() as u64,
            });
            payload.fetch_sub(taken.sum(), Ordering::Relaxed);
        }
        all
    }
}

impl ObserverFactory for FactChannel {
    fn observe(&self, _id: ConnectionId) -> Box<dyn Observer + Send> {
        Box::new(Posting {
            connections: ConnectionDecoders::new(self.keep_literals)
                .with_digests(self.digests.clone())
                .with_fingerprints(self.fingerprints.clone())
                .with_owed(self.owed.clone()),
            sender: self.sender.clone(),
            payload: self.payload.clone(),
        })
    }
}

/// Decodes one connection on the thread that forwards it, and posts the facts.
struct Posting {
    connections: ConnectionDecoders,
    sender: Sender<Posted>,
    payload: Option<Arc<AtomicU64>>,
}

impl Posting {
    /// Keeps the payload of `segment`, unless much waits already: then only that it passed.
    fn keep(&self, connection: ConnectionId, segment: &Segment<'_>, waiting: &AtomicU64) {
        let length = segment.payload.len() as u64;
        let room = waiting.load(Ordering::Relaxed) + length <= MOST_WAITING;
        let (bytes, unseen) = match room {
            true => (segment.payload.to_vec(), 0),
            false => (Vec::new(), length),
        };
        waiting.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        post(
            &self.sender,
            Posted::Payload(Payload {
                connection,
                direction: segment.direction,
                at: segment.at,
                bytes,
                unseen: unseen + segment.unseen,
            }),
        );
    }
}

impl Observer for Posting {
    fn event(&mut self, connection: ConnectionId, event: ConnectionEvent<'_>) {
        if let (Some(waiting), ConnectionEvent::Segment(segment)) = (&self.payload, &event) {
            self.keep(connection, segment, waiting);
        }
        let sender = &self.sender;
        self.connections
            .event(connection, event, &mut |fact| post(sender, Posted::Fact(fact)));
    }
}

fn post(sender: &Sender<Posted>, posted: Posted) {
    // The receiver is gone only when the run is over.
    sender.send(posted).ok();
}

fn time_of(posted: &Posted) -> Timestamp {
    match posted {
        Posted::Payload(payload) => payload.at,
        Posted::Fact(fact) => fact.time(),
    }
}

/// How long facts are gathered at a time; the next ones are put in the order of time with them: several threads send them.
const GATHER: Duration = Duration::from_millis(50);

/// Maximum payload on its way, where it is kept.
const MOST_WAITING: u64 = 64 << 20;

#[cfg(test)]
mod tests {
    use super::*;
    use model::Endpoint;

    fn opened(channel: &FactChannel, number: u32, at: u64) {
        let connection = ConnectionId(number);
        let endpoint = Endpoint {
            address: std::net::IpAddr::from([127, 0, 0, 1]),
            port: 5432,
        };
        channel.observe(connection).event(
            connection,
            ConnectionEvent::Opened {
                at: Timestamp::from_nanos(at),
                client: endpoint,
                server: endpoint,
                sides_certain: true,
            },
        );
    }

    fn numbers(posted: &[Posted]) -> Vec<u32> {
        let facts = posted.iter().map(|posted| match posted {
            Posted::Fact(Fact::Opened { connection, .. }) => connection.0,
            other => panic!("{other:?} was not sent"),
        });
        facts.collect()
    }

    #[test]
    fn what_a_slower_thread_saw_before_comes_before() {
        let channel = FactChannel::new(false);
        opened(&channel, 2, 2_000);
        assert_eq!(numbers(&channel.wait(Duration::ZERO)), [0; 0]);
        opened(&channel, 3, 3_000);
        opened(&channel, 1, 1_000);
        assert_eq!(numbers(&channel.wait(Duration::ZERO)), [1, 2]);
        assert_eq!(numbers(&channel.wait(Duration::ZERO)), [3]);
        assert_eq!(numbers(&channel.wait(Duration::ZERO)), [0; 0]);
    }

    #[test]
    fn the_rest_is_taken_at_the_end() {
        let channel = FactChannel::new(false);
        opened(&channel, 2, 2_000);
        channel.wait(Duration::ZERO);
        opened(&channel, 1, 1_000);
        assert_eq!(numbers(&channel.take_all()), [1, 2]);
        assert_eq!(numbers(&channel.take_all()), [0; 0]);
    }
}

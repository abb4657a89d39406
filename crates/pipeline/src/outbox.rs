//! Facts from the threads that forward bytes to the thread that sums them up.
//!
//! Each connection has a box of its own. Its thread puts facts in, the summing thread empties all boxes several times a
//! second: nobody waits for anybody, and a lock is only ever met by the two.

use super::decode::ConnectionDecoders;
use analysis::fact::Fact;
use analysis::fingerprint::KnownFingerprints;
use analysis::pairing::OwedInAll;
use model::ObserverFactory;
use model::{ConnectionEvent, ConnectionId, Direction, Observer, Segment, Timestamp};
use std::hash::RandomState;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// All boxes.
#[derive(Debug, Default)]
pub struct Outboxes {
    boxes: Mutex<Vec<Arc<Outbox>>>,
    keep_literals: bool,
    /// One key for the whole run.
    digests: RandomState,
    /// One set for the whole run.
    fingerprints: KnownFingerprints,
    owed: OwedInAll,
    /// Bytes of payload in the boxes, where it is kept.
    payload: Option<Arc<AtomicU64>>,
}

#[derive(Debug, Default)]
struct Outbox {
    posted: Mutex<Vec<Posted>>,
}

/// What is put into a box.
#[allow(
    clippy::large_enum_variant,
    reason = "facts are the rule: boxing each would cost more than the room of the few others"
)]
#[derive(Debug)]
pub enum Posted {
    /// Something that was found out.
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
    /// It, as it was seen.
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

impl Outboxes {
    /// None yet.
    pub fn new(keep_literals: bool) -> Self {
        Self {
            keep_literals,
            ..Self::default()
        }
    }

    /// The same, with the payload put into the boxes too: for [`Outboxes::drain_all`].
    #[must_use]
    pub fn with_payload(self) -> Self {
        Self {
            payload: Some(Arc::default()),
            ..self
        }
    }

    /// Takes out all facts, in the order of their end.
    pub fn drain(&self) -> Vec<Fact> {
        let facts = self.drain_all().into_iter().filter_map(|posted| match posted {
            Posted::Fact(fact) => Some(fact),
            Posted::Payload(_) => None,
        });
        facts.collect()
    }

    /// Takes out everything, in the order of time.
    pub fn drain_all(&self) -> Vec<Posted> {
        let mut boxes = self.boxes.lock().unwrap_or_else(PoisonError::into_inner);
        let mut all = Vec::new();
        boxes.retain(|outbox| {
            // Asked before the box is emptied: a thread that is gone has put its last fact in.
            let in_use = Arc::strong_count(outbox) > 1;
            all.append(&mut outbox.posted.lock().unwrap_or_else(PoisonError::into_inner));
            in_use
        });
        all.sort_by_key(time_of);
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

impl ObserverFactory for Outboxes {
    fn observe(&self, _id: ConnectionId) -> Box<dyn Observer + Send> {
        let outbox = Arc::new(Outbox::default());
        self.boxes
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(outbox.clone());
        Box::new(Posting {
            connections: ConnectionDecoders::new(self.keep_literals)
                .with_digests(self.digests.clone())
                .with_fingerprints(self.fingerprints.clone())
                .with_owed(self.owed.clone()),
            outbox,
            payload: self.payload.clone(),
        })
    }
}

/// Decodes one connection on the thread that forwards it, and posts the facts.
struct Posting {
    connections: ConnectionDecoders,
    outbox: Arc<Outbox>,
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
            &self.outbox,
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
        let outbox = &self.outbox;
        self.connections
            .event(connection, event, &mut |fact| post(outbox, Posted::Fact(fact)));
    }
}

fn post(outbox: &Outbox, posted: Posted) {
    outbox
        .posted
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .push(posted);
}

fn time_of(posted: &Posted) -> Timestamp {
    match posted {
        Posted::Payload(payload) => payload.at,
        Posted::Fact(Fact::Opened { at, .. } | Fact::Started { at, .. } | Fact::Begun { at, .. }) => *at,
        Posted::Fact(Fact::Exchange { exchange, .. }) => exchange.ended(),
        Posted::Fact(Fact::Closed(outcome)) => outcome.at.after(outcome.duration),
    }
}

/// Payload that waits in all boxes at most, where it is kept.
const MOST_WAITING: u64 = 64 << 20;

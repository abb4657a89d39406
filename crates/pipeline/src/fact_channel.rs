//! Facts from the threads that forward bytes to the thread that sums them up: a channel, so that forwarding
//! never waits.
//!
//! It is bounded. When much waits, pipelined exchanges are summed up before they are posted; when it is full,
//! exchanges are dropped and counted ([`FactLosses`]), because an application must neither wait for its
//! observation nor be stopped by it. Only longwire's own clients wait for room ([`FactChannel::waiting`]):
//! everything they do must be seen, and their pace does not matter then.

mod posting;
mod room;
mod summing;
#[cfg(test)]
mod tests;

use super::decode::ConnectionDecoders;
use analysis::fact::Fact;
use analysis::fingerprint::KnownFingerprints;
use analysis::pairing::PendingReplyBudget;
use analysis::round_trip::Paths;
use model::ObserverFactory;
use model::{ConnectionId, Direction, Observer, Segment, Timestamp};
use posting::{FactSender, Posting};
pub use room::FactLosses;
use room::{GATHER, Room, WhenFull};
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
    room: Arc<Room>,
    keep_literals: bool,
    /// One key for the whole run.
    digests: RandomState,
    /// One set for the whole run.
    fingerprints: KnownFingerprints,
    owed: PendingReplyBudget,
    paths: Paths,
    /// Bytes of payload on their way, where it is kept.
    payload: Option<Arc<AtomicU64>>,
}

/// The receiving end.
#[derive(Debug)]
struct Arrivals {
    receiver: Receiver<Posted>,
    /// What arrived since the last time something was taken, in the order of time: what another thread saw
    /// before it may arrive after it.
    held: Vec<Posted>,
}

impl Arrivals {
    /// Adds what has arrived, and returns what has been held for a while, with all that was seen before it.
    fn take_posted(&mut self, first: Option<Posted>) -> Vec<Posted> {
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
        Self::with_room(keep_literals, WhenFull::Drop)
    }

    /// The same for longwire's own clients, which wait when it is full: another thread must take what
    /// arrives.
    pub fn waiting(keep_literals: bool) -> Self {
        Self::with_room(keep_literals, WhenFull::Wait)
    }

    fn with_room(keep_literals: bool, when_full: WhenFull) -> Self {
        let (sender, receiver) = mpsc::channel();
        Self {
            sender,
            room: Arc::new(Room::new(when_full)),
            arrivals: Mutex::new(Arrivals {
                receiver,
                held: Vec::new(),
            }),
            keep_literals,
            digests: RandomState::default(),
            fingerprints: KnownFingerprints::default(),
            owed: PendingReplyBudget::default(),
            paths: Paths::default(),
            payload: None,
        }
    }

    /// The same, also with the payload: for [`FactChannel::take_all`] and [`FactChannel::wait`].
    #[must_use]
    pub fn with_payload(mut self) -> Self {
        self.payload = Some(Arc::default());
        self
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
        let mut all = arrivals.take_posted(None);
        all.append(&mut arrivals.held);
        self.taken(all)
    }

    /// Waits at most `patience` for something to arrive, then a little for what other threads are about to
    /// send. What arrived then is held until the next call: this one takes what the last one held and what
    /// was seen before that, in the order of time.
    pub fn wait(&self, patience: Duration) -> Vec<Posted> {
        let mut arrivals = self.arrivals();
        let first = arrivals.receiver.recv_timeout(patience).ok();
        if first.is_some() {
            std::thread::sleep(GATHER);
        }
        let ready = arrivals.take_posted(first);
        self.taken(ready)
    }

    /// What was lost since the last call, because what arrived was not taken as fast.
    pub fn take_losses(&self) -> FactLosses {
        self.room.take_losses()
    }

    fn arrivals(&self) -> MutexGuard<'_, Arrivals> {
        self.arrivals.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Nothing of `all` is on its way any more.
    fn taken(&self, all: Vec<Posted>) -> Vec<Posted> {
        self.room.free(&all);
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
                .with_reply_budget(self.owed.clone())
                .with_paths(self.paths.clone()),
            non_blocking_writer: FactSender::new(
                self.sender.clone(),
                self.room.clone(),
                self.payload.is_none(),
            ),
            payload: self.payload.clone(),
            unseen: [0; 2],
        })
    }
}

impl Drop for FactChannel {
    fn drop(&mut self) {
        self.room.end();
    }
}

fn time_of(posted: &Posted) -> Timestamp {
    match posted {
        Posted::Payload(payload) => payload.at,
        Posted::Fact(fact) => fact.time(),
    }
}

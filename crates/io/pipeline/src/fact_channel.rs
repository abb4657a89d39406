//! A channel of facts from forwarding threads to the aggregating thread. Forwarding threads never
//! wait.
//!
//! The channel is bounded. When it fills, pipelined exchanges are merged before they are posted;
//! when it is full, exchanges are dropped and counted ([`FactLosses`]), because observation must
//! not delay an application. Only longwire's own clients wait for room ([`FactChannel::waiting`]):
//! all of their facts are needed.

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
use model::{ConnectionId, Direction, Observer, PerDirection, Segment, Timestamp, Watermark, Watermarks};
use posting::{FactSender, Posting};
pub use room::FactLosses;
use room::{GATHER, Room, WhenFull};
use std::hash::RandomState;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use sys::error::LiveError;
use sys::receiver::{StoppableReceiver, WaitLimit, WakingSender, stoppable};

#[derive(Debug)]
pub struct FactChannel {
    sender: WakingSender<Sender<Posted>>,
    arrivals: Mutex<Arrivals>,
    room: Arc<Room>,
    keep_literals: bool,
    digests: RandomState,
    fingerprints: KnownFingerprints,
    reply_budget: PendingReplyBudget,
    paths: Paths,
    payload: Option<Arc<AtomicU64>>,
    is_inside_tls: bool,
    watermarks: Watermarks,
}

#[derive(Debug)]
struct Arrivals {
    receiver: StoppableReceiver<Posted>,
    /// Facts received by the latest call, in order of time. Earlier facts of other threads may
    /// still arrive.
    held: Vec<Posted>,
}

impl Arrivals {
    /// Adds received facts, and returns those held long enough, with all earlier ones, of the time
    /// until which facts are complete.
    fn take_posted(&mut self, first: Option<Posted>, complete: Timestamp) -> Vec<Posted> {
        let until = self.held.last().map(|last| time_of(last).min(complete));
        self.held
            .extend(first.into_iter().chain(self.receiver.try_iter()));
        self.held.sort_by_key(time_of);
        let ready = self.held.partition_point(|posted| Some(time_of(posted)) <= until);
        let later = self.held.split_off(ready);
        std::mem::replace(&mut self.held, later)
    }
}

#[allow(
    clippy::large_enum_variant,
    reason = "facts are the rule: boxing each would cost more than the room of the few others"
)]
#[derive(Debug)]
pub enum Posted {
    Fact(Fact),
    /// Payload, posted before the facts that follow from it.
    Payload(Payload),
}

#[derive(Debug)]
pub struct Payload {
    pub connection: ConnectionId,
    direction: Direction,
    at: Timestamp,
    bytes: Vec<u8>,
    unseen: u64,
}

impl Payload {
    pub fn segment(&self) -> Segment<'_> {
        Segment {
            direction: self.direction,
            at: self.at,
            payload: &self.bytes,
            unseen: self.unseen,
            is_gap: false,
            sender_idle: None,
        }
    }
}

impl FactChannel {
    /// # Errors
    /// If the system refuses an eventfd.
    pub fn new(keep_literals: bool) -> Result<Self, LiveError> {
        Self::with_room(keep_literals, WhenFull::Drop)
    }

    /// For longwire's own clients, which wait when the channel is full: another thread must
    /// receive.
    ///
    /// # Errors
    /// If the system refuses an eventfd.
    pub fn waiting(keep_literals: bool) -> Result<Self, LiveError> {
        Self::with_room(keep_literals, WhenFull::Wait)
    }

    fn with_room(keep_literals: bool, when_full: WhenFull) -> Result<Self, LiveError> {
        let (sender, receiver) = stoppable(mpsc::channel())?;
        Ok(Self {
            sender,
            room: Arc::new(Room::new(when_full)),
            arrivals: Mutex::new(Arrivals {
                receiver,
                held: Vec::new(),
            }),
            keep_literals,
            digests: RandomState::default(),
            fingerprints: KnownFingerprints::default(),
            reply_budget: PendingReplyBudget::default(),
            paths: Paths::default(),
            payload: None,
            is_inside_tls: false,
            watermarks: Watermarks::default(),
        })
    }

    /// Also keeps the payload, for [`FactChannel::take_all`] and [`FactChannel::wait`].
    #[must_use]
    pub fn with_payload(mut self) -> Self {
        self.payload = Some(Arc::default());
        self
    }

    /// For connections that are observed by their own client: payload is that inside TLS. Round trips
    /// of its handshake are not seen.
    #[must_use]
    pub fn inside_tls(mut self) -> Self {
        self.is_inside_tls = true;
        self
    }

    pub fn facts(&self) -> impl Iterator<Item = Fact> {
        self.take_all().into_iter().filter_map(|posted| match posted {
            Posted::Fact(fact) => Some(fact),
            Posted::Payload(_) => None,
        })
    }

    pub fn take_all(&self) -> Vec<Posted> {
        let mut arrivals = self.arrivals();
        let mut all = arrivals.take_posted(None, Timestamp::from_nanos(u64::MAX));
        all.append(&mut arrivals.held);
        self.taken(all)
    }

    /// Waits for facts, then briefly for those of other threads. Holds the facts received until the
    /// next call, and longer if earlier ones are outstanding. Returns those held before and all
    /// earlier ones, in order of time.
    pub fn wait(&self, mut limit: WaitLimit<'_>) -> Vec<Posted> {
        let mut arrivals = self.arrivals();
        if !arrivals.held.is_empty() {
            limit.longest = limit.longest.min(GATHER);
        }
        let first = arrivals.receiver.receive(limit).ok();
        if first.is_some() {
            limit.stop.wait_timeout(GATHER);
        }
        let complete = self.watermarks.min();
        let ready = arrivals.take_posted(first, complete);
        self.taken(ready)
    }

    /// Losses since the last call, for lack of room.
    pub fn take_losses(&self) -> FactLosses {
        self.room.take_losses()
    }

    fn arrivals(&self) -> MutexGuard<'_, Arrivals> {
        self.arrivals.lock().unwrap_or_else(PoisonError::into_inner)
    }

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
        let connections = ConnectionDecoders::new(self.keep_literals)
            .with_digests(self.digests.clone())
            .with_fingerprints(self.fingerprints.clone())
            .with_reply_budget(self.reply_budget.clone())
            .with_paths(self.paths.clone());
        Box::new(Posting {
            connections: match self.is_inside_tls {
                true => connections.inside_tls(),
                false => connections,
            },
            non_blocking_writer: FactSender::new(
                self.sender.clone(),
                self.room.clone(),
                self.payload.is_none(),
            ),
            payload: self.payload.clone(),
            unseen: PerDirection::default(),
        })
    }

    fn watermark(&self) -> Watermark {
        self.watermarks.register()
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

//! Limits the facts queued between forwarding and aggregating threads, and counts losses.

use super::Posted;
use analysis::fact::Fact;
use model::{ConnectionOutcome, Exchange, Step};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

/// Bytes of queued facts. Facts being aggregated are not counted, and may be as many again.
pub(super) const MAX_WAITING: u64 = 32 << 20;

/// Above this, pipelined exchanges are merged before they are posted.
const CROWDED: u64 = MAX_WAITING / 2;

/// Limit for HTTP requests and payload: a request posted as started should also be posted as
/// answered.
const MAX_WAITING_OF_REQUESTS: u64 = 2 * MAX_WAITING;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FactLosses {
    pub exchanges: u64,
    pub turns: u64,
    /// HTTP requests with a dropped start.
    pub starts: u64,
    pub connections: u64,
    /// Pipelined exchanges merged into the one before.
    pub summed: u64,
}

impl FactLosses {
    pub fn add(&mut self, more: FactLosses) {
        self.exchanges += more.exchanges;
        self.turns += more.turns;
        self.starts += more.starts;
        self.connections += more.connections;
        self.summed += more.summed;
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum WhenFull {
    /// Drops and counts, because the thread forwards an application's bytes.
    #[default]
    Drop,
    /// Waits, because the thread is longwire's own client: all facts are needed, and its pace does
    /// not matter.
    Wait,
}

#[derive(Debug, Default)]
pub(super) struct Room {
    when_full: WhenFull,
    waiting: AtomicU64,
    losses: [AtomicU64; 5],
    is_over: AtomicBool,
    /// Locked while a thread decides to wait, and while it is woken.
    waiters: Mutex<()>,
    freed: Condvar,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Admission {
    Admitted,
    Refused,
}

impl Room {
    pub(super) fn new(when_full: WhenFull) -> Self {
        Self {
            when_full,
            ..Self::default()
        }
    }

    pub(super) fn is_crowded(&self) -> bool {
        self.when_full == WhenFull::Drop && self.waiting.load(Ordering::Relaxed) >= CROWDED
    }

    /// Reserves room for `posted`, or refuses it. The end of an admitted connection is always
    /// admitted.
    pub(super) fn admit(&self, posted: &Posted) -> Admission {
        let bytes = bytes_of(posted);
        if let Some(most) = most_for(posted) {
            match self.when_full {
                WhenFull::Wait => self.wait_until_below(most),
                WhenFull::Drop if self.waiting.load(Ordering::Relaxed) + bytes > most => {
                    return Admission::Refused;
                }
                WhenFull::Drop => {}
            }
        }
        self.waiting.fetch_add(bytes, Ordering::Relaxed);
        Admission::Admitted
    }

    /// Reserves room for the last fact of an admitted connection.
    pub(super) fn admit_last(&self, posted: &Posted) {
        self.waiting.fetch_add(bytes_of(posted), Ordering::Relaxed);
    }

    fn wait_until_below(&self, most: u64) {
        let is_full =
            || self.waiting.load(Ordering::Acquire) >= most && !self.is_over.load(Ordering::Acquire);
        if !is_full() {
            return;
        }
        let mut waiters = self.waiters.lock().unwrap_or_else(PoisonError::into_inner);
        while is_full() {
            waiters = self.freed.wait(waiters).unwrap_or_else(PoisonError::into_inner);
        }
    }

    pub(super) fn free(&self, posted: &[Posted]) {
        let bytes = posted.iter().map(bytes_of).sum();
        self.waiting.fetch_sub(bytes, Ordering::AcqRel);
        self.wake();
    }

    /// The receiver is gone: wakes all waiting threads.
    pub(super) fn end(&self) {
        self.is_over.store(true, Ordering::Release);
        self.wake();
    }

    fn wake(&self) {
        if self.when_full == WhenFull::Wait {
            let _waiters = self.waiters.lock().unwrap_or_else(PoisonError::into_inner);
            self.freed.notify_all();
        }
    }

    pub(super) fn lose(&self, losses: FactLosses) {
        for (sum, count) in self.losses.iter().zip(counts(losses)) {
            sum.fetch_add(count, Ordering::Relaxed);
        }
    }

    pub(super) fn take_losses(&self) -> FactLosses {
        let [exchanges, turns, starts, connections, summed] =
            std::array::from_fn(|place| self.losses[place].swap(0, Ordering::Relaxed));
        FactLosses {
            exchanges,
            turns,
            starts,
            connections,
            summed,
        }
    }

    #[cfg(test)]
    pub(super) fn waiting(&self) -> u64 {
        self.waiting.load(Ordering::Relaxed)
    }
}

fn counts(losses: FactLosses) -> [u64; 5] {
    let FactLosses {
        exchanges,
        turns,
        starts,
        connections,
        summed,
    } = losses;
    [exchanges, turns, starts, connections, summed]
}

/// `None` if it is always admitted.
fn most_for(posted: &Posted) -> Option<u64> {
    match posted {
        Posted::Fact(Fact::Closed(_)) => None,
        Posted::Payload(_) | Posted::Fact(Fact::Started { .. }) => Some(MAX_WAITING_OF_REQUESTS),
        Posted::Fact(Fact::Exchange { protocol, .. }) if protocol.carries_requests() => {
            Some(MAX_WAITING_OF_REQUESTS)
        }
        Posted::Fact(
            Fact::Opened { .. } | Fact::Begun { .. } | Fact::Left { .. } | Fact::Exchange { .. },
        ) => Some(MAX_WAITING),
    }
}

/// The memory of a fact without shared parts (fingerprints). Payload has a separate limit.
fn bytes_of(posted: &Posted) -> u64 {
    let further = match posted {
        Posted::Fact(Fact::Exchange { exchange, .. }) => {
            size_of::<Exchange>()
                + exchange.more.len() * size_of::<Step>()
                + exchange.literal.as_ref().map_or(0, |text| text.len())
        }
        Posted::Fact(Fact::Closed(_)) => size_of::<ConnectionOutcome>(),
        Posted::Payload(_) | Posted::Fact(_) => 0,
    };
    (size_of::<Posted>() + further) as u64
}

/// Time that facts are held, to sort those of several threads by time.
pub(super) const GATHER: Duration = Duration::from_millis(50);

//! How much may wait between the threads that forward bytes and the one that sums up, and what was lost for
//! lack of room.

use super::Posted;
use analysis::fact::Fact;
use model::{ConnectionOutcome, Exchange, Protocol, Step};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

/// Bytes of facts that may wait. What is being summed up is not counted any more: it may be as much again.
pub(super) const MAX_WAITING: u64 = 32 << 20;

/// From here on pipelined exchanges are summed up before they are posted.
const CROWDED: u64 = MAX_WAITING / 2;

/// Bytes up to which HTTP requests and payload are posted: a request that was posted as started should also
/// be posted as answered.
const MAX_WAITING_OF_REQUESTS: u64 = 2 * MAX_WAITING;

/// What was not posted, or not as it was seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FactLosses {
    /// Exchanges that were dropped.
    pub exchanges: u64,
    /// The round trips of these.
    pub turns: u64,
    /// HTTP requests whose beginning was dropped.
    pub starts: u64,
    /// Connections that were dropped, with all of their exchanges.
    pub connections: u64,
    /// Pipelined exchanges that were added to the one before them.
    pub summed: u64,
}

impl FactLosses {
    /// Adds what was lost in addition.
    pub fn add(&mut self, more: FactLosses) {
        self.exchanges += more.exchanges;
        self.turns += more.turns;
        self.starts += more.starts;
        self.connections += more.connections;
        self.summed += more.summed;
    }
}

/// What a thread does that finds no room.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum WhenFull {
    /// Drops and counts: it forwards the bytes of an application.
    #[default]
    Drop,
    /// Waits: it is longwire's own client, of which everything must be seen and whose pace does not matter.
    Wait,
}

/// The room of one channel.
#[derive(Debug, Default)]
pub(super) struct Room {
    when_full: WhenFull,
    waiting: AtomicU64,
    losses: [AtomicU64; 5],
    /// Nobody takes anything any more.
    is_over: AtomicBool,
    /// Held while a thread decides to wait, and while it is woken.
    waiters: Mutex<()>,
    freed: Condvar,
}

/// Whether something may be posted.
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

    /// Whether so much waits that exchanges are to be summed up first.
    pub(super) fn is_crowded(&self) -> bool {
        self.when_full == WhenFull::Drop && self.waiting.load(Ordering::Relaxed) >= CROWDED
    }

    /// Takes room for `posted`, or refuses it. The end of a connection is always admitted: each was admitted
    /// when it was opened.
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

    /// Takes room for what is posted once for a connection that was admitted.
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

    /// `posted` has been taken.
    pub(super) fn free(&self, posted: &[Posted]) {
        let bytes = posted.iter().map(bytes_of).sum();
        self.waiting.fetch_sub(bytes, Ordering::AcqRel);
        self.wake();
    }

    /// Nobody takes anything any more: nobody waits for it.
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

    /// Counts what was lost.
    pub(super) fn lose(&self, losses: FactLosses) {
        for (sum, count) in self.losses.iter().zip(counts(losses)) {
            sum.fetch_add(count, Ordering::Relaxed);
        }
    }

    /// What was lost since the last call.
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

/// The memory up to which this is admitted; `None` where it always is.
fn most_for(posted: &Posted) -> Option<u64> {
    match posted {
        Posted::Fact(Fact::Closed(_)) => None,
        Posted::Payload(_)
        | Posted::Fact(
            Fact::Started { .. }
            | Fact::Exchange {
                protocol: Protocol::Http | Protocol::Fastcgi,
                ..
            },
        ) => Some(MAX_WAITING_OF_REQUESTS),
        Posted::Fact(Fact::Opened { .. } | Fact::Begun { .. } | Fact::Exchange { .. }) => Some(MAX_WAITING),
    }
}

/// The memory it takes, without what it shares with others (fingerprints). Payload itself has a bound of its
/// own.
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

/// How long facts are gathered at a time; the next ones are put in the order of time with them: several
/// threads send them.
pub(super) const GATHER: Duration = Duration::from_millis(50);

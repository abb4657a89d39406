//! A thread's event loop over its clients: `turning` waits and handles due work, `operation` runs
//! operations, `replacing` follows failures.
//! - A ready client is read, and its next request is sent at once. An operation ends right after the read of
//!   its last byte; in a closed loop the next one begins then.
//! - A thread with a single client waits in the read itself.
//! - Sleeping clients, late joiners and the starts of an open loop are times in a heap, served by a timer.
//! - A thread with many persistent connections uses a kernel ring for receives and sends (`completing`).
//! - After a failure, a client's next connection is opened after a pause, outside the loop.

mod completing;
mod operation;
mod read_heuristic;
mod replacing;
mod turning;

use super::arrivals::Arrivals;
use super::machine::{Kind, Opened};
use super::processor;
use super::shared_run::SharedRun;
use super::slot::{Slot, State};
use super::sums::{ThreadSums, own_rate};
use crate::Error;
use read_heuristic::ReadHeuristic;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::Scope;
use std::time::{Duration, Instant};
use sys::StopToken;
use sys::completions::Completions;
use sys::poller::{Poller, Waker};
use sys::timer::Timer;

pub(super) struct Driver<'scope, 'env, K: Kind> {
    kind: &'env K,
    shared: &'env SharedRun<'env>,
    scope: &'scope Scope<'scope, 'env>,
    /// `None` for few clients, or without kernel support. Declared before the connections it uses,
    /// to be dropped first.
    completions: Option<Completions>,
    slots: Vec<Slot<K::Machine<'env>>>,
    alive: usize,
    poller: Poller,
    timer: Timer,
    timer_set_to: Option<Instant>,
    wakes: BinaryHeap<Reverse<(Instant, usize)>>,
    arrivals: Option<Arrivals>,
    /// In an open loop, free clients, longest wait first.
    idle: VecDeque<usize>,
    waker: Arc<Waker>,
    /// No further operation begins: connecting clients may stop.
    over: StopToken,
    replaced: (SyncSender<Replacement>, Receiver<Replacement>),
    read_heuristic: ReadHeuristic,
    buffer: Box<[u8]>,
    request: Vec<u8>,
    sums: ThreadSums,
    phase: Phase,
    /// Next check of deadlines.
    next_check: Instant,
    /// The time until then, at the last look at the clock.
    until_check: Duration,
    /// After this, no operation begins.
    end: Option<Instant>,
}

#[derive(Debug, Clone, PartialEq)]
enum Phase {
    /// Operations do not count; the first error ends the thread.
    WarmUp {
        failed: Option<Error>,
    },
    Counting,
}

struct Replacement {
    slot: usize,
    opened: Result<Option<Opened>, Error>,
}

pub(super) struct Start<'env, K: Kind> {
    pub kind: &'env K,
    pub shared: &'env SharedRun<'env>,
    pub clients: Vec<(u32, Option<Opened>)>,
}

impl<'scope, 'env, K: Kind> Driver<'scope, 'env, K> {
    /// Runs the thread's clients until the end of the run. Takes part in the common start exactly
    /// once.
    pub fn run(start: Start<'env, K>, scope: &'scope Scope<'scope, 'env>) -> Result<ThreadSums, Error> {
        let shared = start.shared;
        let mut driver = match Self::new(start, scope) {
            Ok(driver) => driver,
            Err(error) => {
                shared.start(false);
                return Err(error);
            }
        };
        let warm = driver.warm_up();
        let started = shared.start(warm.is_ok());
        let end = match (warm, started) {
            (Err(error), _) => Err(error),
            // The failing thread reports the error.
            (Ok(()), None) => Ok(()),
            (Ok(()), Some(started)) => {
                driver.count_from(started);
                Ok(())
            }
        };
        driver.over.stop();
        driver.leave();
        end.map(|()| driver.sums)
    }

    fn new(start: Start<'env, K>, scope: &'scope Scope<'scope, 'env>) -> Result<Self, Error> {
        let poller = Poller::new()?;
        let (timer, waker) = (Timer::new()?, Arc::new(Waker::new()?));
        poller.watch(timer.as_fd(), TIMER)?;
        poller.register_waker(&waker, BELL)?;
        start.shared.control().stop.wake_poller(&poller, STOP)?;
        let (slots, connections): (Vec<_>, Vec<_>) = start
            .clients
            .into_iter()
            .map(|(number, opened)| {
                let context = start.shared.context();
                let client_spec = context.birth(number, &context.control.stop);
                (Slot::new(number, start.kind.machine(&client_spec)), opened)
            })
            .unzip();
        let mut driver = Self {
            kind: start.kind,
            shared: start.shared,
            scope,
            completions: completing::completions(slots.len(), &poller),
            alive: slots.len(),
            replaced: sync_channel(slots.len()),
            slots,
            poller,
            timer,
            timer_set_to: None,
            wakes: BinaryHeap::new(),
            arrivals: None,
            idle: VecDeque::new(),
            waker,
            over: start.shared.control().stop.child()?,
            read_heuristic: ReadHeuristic::default(),
            buffer: vec![0; BUFFER].into_boxed_slice(),
            request: Vec::with_capacity(4096),
            sums: ThreadSums::new(start.shared.control(), start.kind.scripts()),
            phase: Phase::WarmUp { failed: None },
            next_check: Instant::now(),
            until_check: Duration::ZERO,
            end: None,
        };
        for (index, opened) in connections.into_iter().enumerate() {
            driver.adopt(index, opened)?;
        }
        Ok(driver)
    }

    /// Uncounted operations of each client.
    fn warm_up(&mut self) -> Result<(), Error> {
        if self.shared.plan().warm_up > 0 {
            for slot in &mut self.slots {
                slot.left = Some(self.shared.plan().warm_up);
            }
            let now = Instant::now();
            for index in 0..self.slots.len() {
                self.begin(index, now, Duration::ZERO);
            }
            self.turn_until_over();
        }
        self.shared.check_stopped()?;
        match std::mem::replace(&mut self.phase, Phase::Counting) {
            Phase::WarmUp { failed: Some(error) } => Err(error),
            Phase::WarmUp { failed: None } | Phase::Counting => Ok(()),
        }
    }

    fn count_from(&mut self, started: Instant) {
        let plan = self.shared.plan();
        let used = processor::of_this_thread();
        self.alive = self.slots.len();
        self.end = self.shared.end();
        if let Some(rate) = plan.rate {
            let (own, all) = (self.slots.len(), plan.clients as usize);
            let number = self.slots.first().map_or(0, |slot| slot.number);
            let seed = plan.seed ^ (u64::from(number) << 32);
            self.arrivals = Some(Arrivals::new(rate, own, all, started, seed));
        }
        for index in 0..self.slots.len() {
            let slot = &mut self.slots[index];
            slot.left = plan.operations_per_client;
            slot.joined = self.shared.joins(slot.number, started);
            slot.last = slot.joined;
            slot.state = State::Idle;
            if plan.ramp.is_zero() {
                self.free(index, started);
            } else {
                let joins = slot.joined;
                self.wake_at(index, joins);
            }
        }
        self.turn_until_over();
        if let (Some(arrivals), Some(end)) = (self.arrivals.take(), self.end) {
            self.sums.not_begun += arrivals.before(end);
        }
        if plan.rate.is_none() {
            let rates = self.slots.iter();
            self.sums.per_second = rates
                .map(|slot| own_rate(slot.count, slot.joined, slot.last))
                .sum();
        }
        self.sums.cpu = processor::of_this_thread().since(used);
    }
}

const TIMER: u64 = u64::MAX;
const BELL: u64 = u64::MAX - 1;
const STOP: u64 = u64::MAX - 2;

/// Avoids times beyond the clock's range.
const MAX_DURATION: Duration = Duration::from_secs(365 * 24 * 3600);
const BUFFER: usize = 64 * 1024;

//! A thread's event loop over its clients: `turning` waits and does what is due, `operation` has what a
//! client does, `replacing` what follows a failure.
//!
//! 1. A client that is ready is read, and whatever it then has to send is sent at once: one read and one send
//!    a round trip. The end of an operation is the moment right after the read that brought its last byte,
//!    and in a closed loop the begin of the next.
//! 2. A thread with one client that waits does so in the read itself: there is no other client to look after.
//! 3. Sleeping clients, those who join later and intended begins of an open loop are times in a heap, for
//!    which a timer interrupts waiting.
//! 4. Where a thread has many clients, a ring of the kernel's receives and sends for all whose connections
//!    last: `completing`.
//! 5. A client whose operation failed gets another connection after a pause, made outside the loop: the
//!    others go on.

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
use crate::LoadError;
use read_heuristic::ReadHeuristic;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::Scope;
use std::time::{Duration, Instant};
use sys::completions::Completions;
use sys::poller::{Poller, Waker};
use sys::timer::Timer;

/// A thread's part of a run.
pub(super) struct Driver<'scope, 'env, K: Kind> {
    kind: &'env K,
    shared: &'env SharedRun<'env>,
    scope: &'scope Scope<'scope, 'env>,
    /// `None` for few clients, and where the kernel has none. Before the connections that it uses: dropped
    /// first.
    completions: Option<Completions>,
    slots: Vec<Slot<K::Machine<'env>>>,
    /// Clients that are not over.
    alive: usize,
    poller: Poller,
    timer: Timer,
    timer_set_to: Option<Instant>,
    wakes: BinaryHeap<Reverse<(Instant, usize)>>,
    arrivals: Option<Arrivals>,
    /// Open loop: clients that wait for something to do, the one that waits longest first.
    idle: VecDeque<usize>,
    waker: Arc<Waker>,
    /// No operation begins any more: clients that still connect may stop doing so.
    over: Arc<AtomicBool>,
    replaced: (SyncSender<Replacement>, Receiver<Replacement>),
    read_heuristic: ReadHeuristic,
    buffer: Box<[u8]>,
    request: Vec<u8>,
    sums: ThreadSums,
    phase: Phase,
    /// When deadlines are inspected next.
    next_check: Instant,
    /// When no more operations begin.
    end: Option<Instant>,
}

/// What of a run is in progress.
#[derive(Debug, Clone, PartialEq)]
enum Phase {
    /// Nothing counts; the first error is the thread's.
    WarmUp {
        failed: Option<LoadError>,
    },
    Counting,
}

/// A client that gets another connection.
struct Replacement {
    slot: usize,
    opened: Result<Option<Opened>, LoadError>,
}

/// What a thread begins with.
pub(super) struct Start<'env, K: Kind> {
    pub kind: &'env K,
    pub shared: &'env SharedRun<'env>,
    /// Its clients: their numbers and connections.
    pub clients: Vec<(u32, Option<Opened>)>,
}

impl<'scope, 'env, K: Kind> Driver<'scope, 'env, K> {
    /// Runs the thread's clients until the end of the run. Takes part in the course's start exactly once.
    pub fn run(start: Start<'env, K>, scope: &'scope Scope<'scope, 'env>) -> Result<ThreadSums, LoadError> {
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
            // The error is reported by the thread that had it.
            (Ok(()), None) => Ok(()),
            (Ok(()), Some(started)) => {
                driver.count_from(started);
                Ok(())
            }
        };
        driver.over.store(true, Ordering::Relaxed);
        driver.leave();
        end.map(|()| driver.sums)
    }

    fn new(start: Start<'env, K>, scope: &'scope Scope<'scope, 'env>) -> Result<Self, LoadError> {
        let poller = Poller::new()?;
        let (timer, waker) = (Timer::new()?, Arc::new(Waker::new()?));
        poller.watch(timer.as_fd(), TIMER)?;
        poller.register_waker(&waker, BELL)?;
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
            // Each client is replaced once at a time.
            replaced: sync_channel(slots.len()),
            slots,
            poller,
            timer,
            timer_set_to: None,
            wakes: BinaryHeap::new(),
            arrivals: None,
            idle: VecDeque::new(),
            waker,
            over: Arc::default(),
            read_heuristic: ReadHeuristic::default(),
            buffer: vec![0; BUFFER].into_boxed_slice(),
            request: Vec::with_capacity(4096),
            sums: ThreadSums::new(start.shared.control(), start.kind.scripts()),
            phase: Phase::WarmUp { failed: None },
            next_check: Instant::now(),
            end: None,
        };
        for (index, opened) in connections.into_iter().enumerate() {
            driver.adopt(index, opened)?;
        }
        Ok(driver)
    }

    /// Operations that do not count, each client its own.
    fn warm_up(&mut self) -> Result<(), LoadError> {
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

    /// Operations that count.
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

/// A time beyond what the clock can represent.
const MAX_DURATION: Duration = Duration::from_secs(365 * 24 * 3600);
const BUFFER: usize = 64 * 1024;

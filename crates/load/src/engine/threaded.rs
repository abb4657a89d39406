//! Clients that block, each in a thread of its own.

use super::super::{ClientSpec, LoadError, LoadOutcome};
use super::arrivals::Arrivals;
use super::multiplexed::no_thread;
use super::shared_run::SharedRun;
use super::sums::{ThreadSums, outcome, own_rate};
use super::{PAUSE_AFTER_ERROR, POLL_INTERVAL, RunContext, processor};
use model::Direction;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::time::{Duration, Instant};

/// A client that blocks.
pub(crate) trait Client {
    /// One operation.
    ///
    /// # Errors
    /// When it failed.
    fn operate(&mut self) -> Result<Operated, LoadError>;
}

/// An operation that succeeded.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Operated {
    /// From before its first byte was sent (or its connection begun) until right after the read that brought
    /// its last byte.
    pub duration: Duration,
    pub turns: u64,
    pub payload_bytes: [u64; 2],
    /// Which script it ran, from 0.
    pub script: usize,
}

impl Operated {
    /// Payload passed.
    pub fn passed(&mut self, direction: Direction, count: usize) {
        self.payload_bytes[direction.index()] += count as u64;
    }
}

/// Runs clients as the plan says, each made by `make` in its thread, of `scripts` scripts.
pub(crate) fn run<'g, C: Client>(
    context: &'g RunContext<'g>,
    scripts: usize,
    make: impl Fn(ClientSpec<'g>) -> C + Sync,
) -> Result<LoadOutcome, LoadError> {
    let shared = SharedRun::new(context, context.clients() as usize);
    let ends = Mutex::new(Vec::new());
    let finish = |end| ends.lock().unwrap_or_else(PoisonError::into_inner).push(end);
    std::thread::scope(|scope| {
        for number in 0..context.clients() {
            let (shared, make, finish) = (&shared, &make, &finish);
            let thread = move || {
                let mut client = make(context.birth(number, &context.control.stop));
                finish(work(&mut client, number, scripts, shared));
            };
            let made = std::thread::Builder::new()
                .name(format!("client {number}"))
                .stack_size(CLIENT_STACK)
                .spawn_scoped(scope, thread);
            if let Err(error) = made {
                // It cannot take part in the start; no other client may wait for it.
                shared.leave_out();
                finish(Err(no_thread(&error)));
            }
        }
    });
    outcome(ends.into_inner().unwrap_or_else(PoisonError::into_inner), &shared)
}

fn work(
    client: &mut impl Client,
    number: u32,
    scripts: usize,
    shared: &SharedRun<'_>,
) -> Result<ThreadSums, LoadError> {
    let warm = (0..shared.plan().warm_up).try_for_each(|_| {
        shared.check_stopped()?;
        client.operate().map(|_| ())
    });
    let started = shared.start(warm.is_ok());
    warm?;
    shared.check_stopped()?;
    let mut sums = ThreadSums::new(shared.control(), scripts);
    // The error is reported by the client that had it.
    if let Some(started) = started {
        let used = processor::of_this_thread();
        count(client, number, started, shared, &mut sums);
        sums.cpu = processor::of_this_thread().since(used);
    }
    Ok(sums)
}

/// Operations that count.
fn count(
    client: &mut impl Client,
    number: u32,
    started: Instant,
    shared: &SharedRun<'_>,
    sums: &mut ThreadSums,
) {
    let plan = shared.plan();
    let joined = shared.joins(number, started);
    let mut arrivals = plan.rate.map(|rate| {
        let seed = plan.seed ^ (u64::from(number) << 32);
        Arrivals::new(rate, 1, plan.clients as usize, started, seed)
    });
    let mut left = plan.operations_per_client;
    let (mut done, mut last) = (0, joined);
    if !sleep_until(joined, shared) {
        return;
    }
    while left != Some(0) {
        let intended = arrivals.as_ref().map(Arrivals::next);
        if intended.is_some_and(|intended| !sleep_until(intended, shared)) || !shared.goes_on() {
            break;
        }
        if let Some(arrivals) = &mut arrivals {
            arrivals.advance();
        }
        left = left.map(|left| left - 1);
        let lag = intended.map(|intended| intended.elapsed());
        match client.operate() {
            Ok(operated) => {
                last = Instant::now();
                sums.done(last, operated.duration, lag, operated.script);
                sums.turns += operated.turns;
                sums.passed(Direction::ClientToServer, operated.payload_bytes[0]);
                sums.passed(Direction::ServerToClient, operated.payload_bytes[1]);
                done += 1;
            }
            Err(LoadError::Stopped) => break,
            Err(error) => {
                sums.failed(Instant::now(), &error);
                shared.control().end_on_fault(&error);
                std::thread::sleep(PAUSE_AFTER_ERROR);
            }
        }
    }
    sums.per_second = own_rate(done, joined, last);
    if let (Some(arrivals), Some(end)) = (arrivals, shared.end()) {
        sums.not_begun += arrivals.before(end);
    }
}

/// Sleeps; false when the run ends before.
fn sleep_until(at: Instant, shared: &SharedRun<'_>) -> bool {
    loop {
        let now = Instant::now();
        if shared.check_stopped().is_err() || shared.end().is_some_and(|end| now >= end) {
            return false;
        }
        let left = at.saturating_duration_since(now);
        if left.is_zero() {
            return true;
        }
        std::thread::sleep(left.min(POLL_INTERVAL));
    }
}

/// Address space of a client's thread: ten thousand must fit, and the deepest expression of a script.
const CLIENT_STACK: usize = 1024 * 1024;

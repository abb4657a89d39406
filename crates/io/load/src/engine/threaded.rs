//! Blocking clients with a thread each.

use super::super::{ClientSpec, Error, Outcome};
use super::arrivals::Arrivals;
use super::multiplexed::no_thread;
use super::shared_run::SharedRun;
use super::sums::{ThreadSums, outcome, own_rate};
use super::{PAUSE_AFTER_ERROR, RunContext, processor};
use model::{Direction, PerDirection};
use std::sync::Mutex;
use std::sync::PoisonError;
use std::time::{Duration, Instant};

pub(crate) trait Client {
    fn operate(&mut self) -> Result<Operated, Error>;
}

#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Operated {
    /// From before the first byte is sent (or connecting begins) until right after the read of the
    /// last byte.
    pub duration: Duration,
    pub turns: u64,
    pub payload_bytes: PerDirection<u64>,
    pub script: usize,
}

impl Operated {
    pub fn passed(&mut self, direction: Direction, count: usize) {
        self.payload_bytes[direction] += count as u64;
    }
}

/// Runs clients as planned; `make` creates each in its thread.
pub(crate) fn run<'g, C: Client>(
    context: &'g RunContext<'g>,
    scripts: usize,
    make: impl Fn(ClientSpec<'g>) -> C + Sync,
) -> Result<Outcome, Error> {
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
                // It cannot take part in the start, so the others must not wait for it.
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
) -> Result<ThreadSums, Error> {
    let warm = (0..shared.plan().warm_up).try_for_each(|_| {
        shared.check_stopped()?;
        client.operate().map(|_| ())
    });
    let started = shared.start(warm.is_ok());
    warm?;
    shared.check_stopped()?;
    let mut sums = ThreadSums::new(shared.control(), scripts);
    // The failing client reports the error.
    if let Some(started) = started {
        let used = processor::of_this_thread();
        count(client, number, started, shared, &mut sums);
        sums.cpu = processor::of_this_thread().since(used);
    }
    Ok(sums)
}

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
                for direction in Direction::ALL {
                    sums.passed(direction, operated.payload_bytes[direction]);
                }
                done += 1;
            }
            Err(Error::Stopped) => break,
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

/// Returns false if the run ends first.
fn sleep_until(at: Instant, shared: &SharedRun<'_>) -> bool {
    let until = shared.end().map_or(at, |end| end.min(at));
    !shared.control().stop.wait_until(until) && shared.end().is_none_or(|end| Instant::now() < end)
}

/// Address space per thread: enough for the deepest expression of a script, small enough for ten
/// thousand clients.
const CLIENT_STACK: usize = 1024 * 1024;

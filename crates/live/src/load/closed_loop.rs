//! The closed loop: clients as threads, samples, errors.

use super::control::{Control, Counters};
use super::{Birth, ErrorCount, LoadError, LoadOutcome, Plan, Workload};
use model::{DistributionBuilder, Measured};
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Barrier, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// Runs `workload` as `plan` says and returns when the last client has ended.
///
/// 1. Every client is made, which connects it where connections last.
/// 2. Each does its operations of the warm-up. When the last has, the clock starts for all.
/// 3. A client whose operation failed is replaced by a new one, after [`PAUSE_AFTER_ERROR`] so that a server that
///    refuses is not flooded.
///
/// # Errors
/// When a client cannot be made at first, or an operation of the warm-up fails: later failures are counted in the
/// outcome. [`LoadError::Stopped`] when `control` says so before the clock starts.
pub fn run(workload: &dyn Workload, plan: &Plan, control: &Control) -> Result<LoadOutcome, LoadError> {
    let shared = Shared {
        workload,
        plan,
        control,
        start: Barrier::new(plan.clients.max(1) as usize),
        started: OnceLock::new(),
        tickets: AtomicU64::new(0),
        failed: AtomicBool::new(false),
        ends: Mutex::new(Vec::new()),
    };
    std::thread::scope(|scope| {
        let clients: Vec<_> = (0..plan.clients.max(1))
            .map(|number| {
                let shared = &shared;
                std::thread::Builder::new()
                    .name(format!("client {number}"))
                    .stack_size(CLIENT_STACK)
                    .spawn_scoped(scope, move || shared.client(number))
            })
            .collect();
        // A thread that could not be made must not leave the others waiting for it.
        let made = clients.iter().filter(|client| client.is_ok()).count();
        if made < clients.len() {
            shared.failed.store(true, Ordering::Relaxed);
            for _ in made..clients.len() {
                shared.start.wait();
            }
            shared.finish(Err(LoadError::Connect(crate::LiveError::System {
                operation: "start a thread for each client",
                reason: crate::OsError(libc::EAGAIN),
            })));
        }
    });
    let deviation = control.progress().deviation();
    let ends = shared.ends.into_inner().unwrap_or_else(PoisonError::into_inner);
    Ok(LoadOutcome {
        deviation,
        threads: plan.clients,
        ..outcome(ends, shared.started.get())?
    })
}

struct Shared<'a> {
    workload: &'a dyn Workload,
    plan: &'a Plan,
    control: &'a Control,
    /// All clients are warm.
    start: Barrier,
    started: OnceLock<Instant>,
    /// Operations begun.
    tickets: AtomicU64,
    /// A client could not be made: nobody begins.
    failed: AtomicBool,
    ends: Mutex<Vec<Result<Tally, LoadError>>>,
}

/// What one client did.
#[derive(Default)]
struct Tally {
    durations: DistributionBuilder,
    errors: HashMap<String, u64>,
    /// From the common start to the end of its last operation.
    worked: Duration,
    counters: Arc<Counters>,
}

impl Shared<'_> {
    fn client(&self, number: u32) {
        let end = self.work(number);
        self.finish(end);
    }

    fn finish(&self, end: Result<Tally, LoadError>) {
        self.ends.lock().unwrap_or_else(PoisonError::into_inner).push(end);
    }

    fn work(&self, number: u32) -> Result<Tally, LoadError> {
        let birth = Birth {
            number,
            seed: self.plan.seed.wrapping_add(u64::from(number)),
            timeout: self.plan.timeout,
            control: self.control,
        };
        let warm = self.workload.client(&birth).and_then(|mut client| {
            for _ in 0..self.plan.warm_up {
                self.check_stopped()?;
                client.operate()?;
            }
            Ok(client)
        });
        if warm.is_err() {
            self.failed.store(true, Ordering::Relaxed);
        }
        self.start.wait();
        let mut client = warm?;
        self.check_stopped()?;
        if self.failed.load(Ordering::Relaxed) {
            // The error is told by the client that had it.
            return Ok(Tally::default());
        }
        let started = *self.started.get_or_init(Instant::now);
        let mut tally = Tally {
            counters: self.control.join(),
            ..Tally::default()
        };
        while self.goes_on(started) {
            let done = client.operate();
            if let Err(LoadError::Stopped) = done {
                break;
            }
            match done {
                Ok(duration) => {
                    tally.durations.add(duration);
                    tally.counters.done(duration, Duration::ZERO);
                }
                Err(error) => {
                    tally.counters.failed();
                    tally.count(&error);
                    match self.replace(&birth, &mut tally, started) {
                        Some(other) => client = other,
                        None => break,
                    }
                }
            }
            tally.worked = started.elapsed();
        }
        Ok(tally)
    }

    /// A new client instead of one that failed; absent when the run is over before one can be made. Each attempt that
    /// fails is an operation that failed.
    fn replace<'b>(
        &'b self,
        birth: &Birth<'b>,
        tally: &mut Tally,
        started: Instant,
    ) -> Option<Box<dyn super::Client + 'b>> {
        loop {
            std::thread::sleep(PAUSE_AFTER_ERROR);
            match self.workload.client(birth) {
                Ok(client) => return Some(client),
                Err(LoadError::Stopped) => return None,
                Err(error) if self.goes_on(started) => {
                    tally.counters.failed();
                    tally.count(&error);
                }
                Err(_) => return None,
            }
        }
    }

    fn check_stopped(&self) -> Result<(), LoadError> {
        if self.control.is_stopped() {
            Err(LoadError::Stopped)
        } else {
            Ok(())
        }
    }

    /// Whether there is one more operation to do; takes it.
    fn goes_on(&self, started: Instant) -> bool {
        let time_left = self
            .plan
            .duration
            .is_none_or(|longest| started.elapsed() < longest);
        let ticket = || {
            let most = self.plan.operations;
            most.is_none_or(|most| self.tickets.fetch_add(1, Ordering::Relaxed) < most)
        };
        self.check_stopped().is_ok() && time_left && ticket()
    }
}

impl Tally {
    fn count(&mut self, error: &LoadError) {
        let text = error.to_string();
        let known = self.errors.len() < LoadOutcome::MOST_ERRORS || self.errors.contains_key(&text);
        let text = if known {
            text
        } else {
            LoadOutcome::OTHER_ERRORS.to_owned()
        };
        *self.errors.entry(text).or_default() += 1;
    }
}

fn outcome(ends: Vec<Result<Tally, LoadError>>, started: Option<&Instant>) -> Result<LoadOutcome, LoadError> {
    let elapsed = started.map(Instant::elapsed).unwrap_or_default();
    let mut durations = DistributionBuilder::new();
    let mut errors: HashMap<String, u64> = HashMap::new();
    let mut per_second = 0.0;
    for end in ends {
        let tally = end?;
        if !tally.worked.is_zero() {
            per_second += tally.durations.count() as f64 / tally.worked.as_secs_f64();
        }
        durations.merge(tally.durations);
        for (text, count) in tally.errors {
            *errors.entry(text).or_default() += count;
        }
    }
    let failed = errors.values().sum();
    let measured = durations.percentile(50).map(|duration| Measured {
        operations: durations.count(),
        duration,
        spread: durations.distribution(),
        per_second,
        errors: failed,
    });
    Ok(LoadOutcome {
        measured,
        errors: by_frequency(errors),
        elapsed,
        ..LoadOutcome::default()
    })
}

/// The most frequent first, the same texts in the same order always; the rest under one text.
fn by_frequency(errors: HashMap<String, u64>) -> Vec<ErrorCount> {
    let mut counts: Vec<ErrorCount> = errors
        .into_iter()
        .map(|(text, count)| ErrorCount { text, count })
        .collect();
    counts.sort_by(|one, other| other.count.cmp(&one.count).then(one.text.cmp(&other.text)));
    if counts.len() > LoadOutcome::MOST_ERRORS {
        let others = counts.split_off(LoadOutcome::MOST_ERRORS);
        counts.push(ErrorCount {
            text: LoadOutcome::OTHER_ERRORS.to_owned(),
            count: others.iter().map(|error| error.count).sum(),
        });
    }
    counts
}

/// Between a failed operation and the next connection of that client.
pub(super) const PAUSE_AFTER_ERROR: Duration = Duration::from_millis(10);

/// Address space of a client's thread: ten thousand must fit.
const CLIENT_STACK: usize = 256 * 1024;

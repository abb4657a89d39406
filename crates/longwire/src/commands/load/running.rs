//! Runs a load and reports its progress.

use super::observed::ObservedLoad;
use super::work::ClientWork;
use anyhow::{Context, Result};
use load::RunControl;
use report::outcome::LoadInterval;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::{Duration, Instant};
use sys::Clock;

pub struct Ran {
    pub outcome: load::Outcome,
    pub interrupted: bool,
}

/// Runs `work` until `plan` ends or `stop` is set. Calls `tell` with the figures since the last
/// call every `progress`.
pub fn run(
    work: &ClientWork,
    plan: &load::Plan,
    progress: Option<Duration>,
    stop: &AtomicBool,
    observed: &mut Option<ObservedLoad>,
    tell: &mut dyn FnMut(&LoadInterval) -> Result<()>,
) -> Result<Ran> {
    let control = RunControl::default();
    let facts = observed.as_ref().map(ObservedLoad::channel);
    let watch = facts.as_deref().map(|factory| client::Watch {
        clock: Clock::anchored_now(),
        factory,
        began: None,
    });
    let (ended, end) = sync_channel(1);
    let (outcome, told) = std::thread::scope(|scope| {
        let (workload, control, watch) = (&*work.workload, &control, watch.as_ref());
        let running = std::thread::Builder::new()
            .name("load".to_owned())
            .spawn_scoped(scope, move || {
                let outcome = load::run(workload, plan, control, watch);
                // The receiver only waits for this.
                ended.send(()).ok();
                outcome
            })
            .context("could not start a thread for the load")?;
        let told = wait(control, &end, progress, stop, observed, tell);
        let outcome = running
            .join()
            .map_err(|_| anyhow::anyhow!("the load broke down"))?;
        anyhow::Ok((outcome, told))
    })?;
    told?;
    let interrupted = stop.load(Ordering::Relaxed);
    match outcome {
        Ok(outcome) => Ok(Ran { outcome, interrupted }),
        // Stopped before the first measurement.
        Err(load::Error::Stopped) if interrupted => Ok(Ran {
            outcome: load::Outcome::default(),
            interrupted,
        }),
        Err(error) => Err(error.into()),
    }
}

/// Waits for the end of the run; a failing `tell` ends it.
fn wait(
    control: &RunControl,
    end: &Receiver<()>,
    progress: Option<Duration>,
    stop: &AtomicBool,
    observed: &mut Option<ObservedLoad>,
    tell: &mut dyn FnMut(&LoadInterval) -> Result<()>,
) -> Result<()> {
    let mut began = None;
    let mut before = (Instant::now(), load::Progress::default());
    let mut told = Ok(());
    while let Err(RecvTimeoutError::Timeout) = end.recv_timeout(POLL_INTERVAL) {
        if stop.load(Ordering::Relaxed) || told.is_err() {
            control.stop.store(true, Ordering::Relaxed);
        }
        if let Some(observed) = observed {
            observed.collect();
        }
        let (now, done) = (Instant::now(), control.progress());
        // Connecting is excluded.
        if began.is_none() && done == load::Progress::default() {
            before = (now, done);
            continue;
        }
        let began = *began.get_or_insert(before.0);
        if progress.is_some_and(|every| now.duration_since(before.0) + POLL_INTERVAL / 2 >= every)
            && told.is_ok()
        {
            told = tell(&interval(began, before, (now, done)));
            before = (now, done);
        }
    }
    told
}

fn interval(
    began: Instant,
    before: (Instant, load::Progress),
    now: (Instant, load::Progress),
) -> LoadInterval {
    let since = now.1.since(&before.1);
    LoadInterval {
        elapsed: now.0.duration_since(began),
        interval: now.0.duration_since(before.0),
        succeeded: since.done,
        failed: since.failed,
        mean: since.mean(),
        deviation: since.deviation(),
        lag: (now.1.lag > Duration::ZERO).then(|| since.mean_lag()).flatten(),
    }
}

/// Interval of checks whether the run must end.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

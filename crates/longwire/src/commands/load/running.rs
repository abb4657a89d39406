//! Runs a load and reports its progress.

use super::observed::ObservedLoad;
use super::work::ClientWork;
use anyhow::Result;
use report::outcome::LoadInterval;
use std::time::{Duration, Instant};
use sys::Clock;
use sys::StopToken;

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
    stop: &StopToken,
    observed: &mut Option<ObservedLoad>,
    tell: &mut dyn FnMut(&LoadInterval) -> Result<()>,
) -> Result<Ran> {
    let facts = observed.as_ref().map(ObservedLoad::channel);
    let watch = facts.as_deref().map(|factory| client::Watch {
        clock: Clock::anchored_now(),
        factory,
        began: None,
    });
    let mut began = None;
    let mut before = (Instant::now(), load::Progress::default());
    let outcome = load::run_beside(
        &*work.workload,
        plan,
        watch.as_ref(),
        (stop, POLL_INTERVAL),
        &mut |done| {
            if let Some(observed) = observed {
                observed.collect();
            }
            let now = (Instant::now(), done);
            // Connecting is excluded.
            if began.is_none() && done == load::Progress::default() {
                before = now;
                return Ok(());
            }
            let began = *began.get_or_insert(before.0);
            if progress.is_some_and(|every| now.0.duration_since(before.0) + POLL_INTERVAL / 2 >= every) {
                tell(&interval(began, before, now))?;
                before = now;
            }
            anyhow::Ok(())
        },
    )?;
    let interrupted = stop.is_stopped();
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

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
/// call every `progress`; connecting is excluded.
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
    let mut before = None;
    let outcome = load::run_on_thread(&*work.workload, plan, watch.as_ref(), stop, &mut |control| {
        let now = Instant::now();
        let mut next = now + A_DAY;
        if let Some(observed) = observed {
            observed.collect();
            next = now + COLLECT_INTERVAL;
        }
        let Some(every) = progress else {
            return anyhow::Ok(next);
        };
        let Some(began) = control.started() else {
            return Ok(next.min(now + every));
        };
        let (since, _) = *before.get_or_insert((began, load::Progress::default()));
        if now >= since + every {
            let at = (now, control.progress());
            tell(&interval(began, before.replace(at).unwrap_or(at), at))?;
        }
        Ok(next.min(before.map_or(now, |(since, _)| since) + every))
    })?;
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

/// Facts of the load's own connections wait for this long.
const COLLECT_INTERVAL: Duration = Duration::from_millis(50);
const A_DAY: Duration = Duration::from_secs(24 * 3600);

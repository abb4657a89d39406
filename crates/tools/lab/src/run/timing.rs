//! Runs a lab's workload once: timed by its own clock, or by a capture.

use super::{LabRun, LabSetup};
use crate::config::{Amount, Lab, WorkloadKind};
use crate::observed::ObservedOperations;
use crate::store::Captured;
use crate::{own_directory, workload};
use anyhow::Result;
use load::{ErrorCount, RunControl};
use model::{MeasuredDurations, Timestamp};
use pipeline::interruption::Interrupted;
use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime};
use sys::StopToken;

impl LabRun<'_> {
    /// Times operations by the workload's own clock, or from a capture if it has none.
    pub(super) fn timed(
        &self,
        setup: &mut LabSetup,
        lab: &Lab,
        amount: Amount,
        what: &str,
    ) -> Result<load::Outcome> {
        if !is_timed_by_capture(lab) {
            return self.load(setup, lab, amount, what);
        }
        let scratch = self.store.scratch()?;
        let files: Vec<PathBuf> = (0..lab.links.len())
            .map(|link| scratch.join(format!("link-{}.pcap", link + 1)))
            .collect();
        let (ran, windows) = self.captured(setup, lab, amount, &files)?;
        let captured = Captured {
            addresses: setup.wiring.addresses().clone(),
            windows,
        };
        let ran = by_capture(ran, lab, &files, &captured)?;
        own_directory::remove(&scratch)?;
        Ok(ran)
    }

    /// Runs with all links captured. For a single client with runs as operations, also returns
    /// start and end of each run.
    #[allow(clippy::type_complexity, reason = "the outcome, and times of runs")]
    pub(super) fn captured(
        &self,
        setup: &mut LabSetup,
        lab: &Lab,
        amount: Amount,
        files: &[PathBuf],
    ) -> Result<(load::Outcome, Vec<(Timestamp, Timestamp)>)> {
        setup.wiring.start_captures(files)?;
        let ran = if lab.workload.operation.is_none() && lab.workload.clients == 1 {
            self.one_by_one(setup, lab, amount)
        } else {
            self.load(setup, lab, amount, "").map(|ran| (ran, Vec::new()))
        };
        let stopped = setup.wiring.stop_captures();
        let ran = ran?;
        stopped?;
        Ok(ran)
    }

    /// Runs the command repeatedly and records times.
    #[allow(clippy::type_complexity, reason = "the outcome, and times of runs")]
    fn one_by_one(
        &self,
        setup: &mut LabSetup,
        lab: &Lab,
        amount: Amount,
    ) -> Result<(load::Outcome, Vec<(Timestamp, Timestamp)>)> {
        let begun = Instant::now();
        let mut windows = Vec::new();
        let mut all = Sum::default();
        let over = |done: u64| {
            amount
                .operations
                .is_some_and(|most| done >= most.min(MAX_WINDOWS))
                || amount.duration.is_some_and(|most| begun.elapsed() >= most)
        };
        let mut done = 0;
        while !over(done) {
            let begin = now();
            let one = Amount {
                operations: Some(1),
                duration: None,
            };
            let ran = self.load(setup, lab, one, "")?;
            if let Some(measured) = &ran.measured {
                windows.push((begin, begin.after(measured.duration)));
            }
            all.add(ran);
            done += 1;
        }
        Ok((all.outcome(begun.elapsed()), windows))
    }

    /// Returns early on interrupt.
    pub(super) fn load(
        &self,
        setup: &mut LabSetup,
        lab: &Lab,
        amount: Amount,
        what: &str,
    ) -> Result<load::Outcome> {
        let (control, over) = (RunControl::new(&self.interrupted)?, StopToken::new()?);
        let ran = std::thread::scope(|scope| {
            if !what.is_empty() {
                scope.spawn(|| {
                    while !over.wait_timeout(REFRESH) {
                        self.progress.refresh(what);
                    }
                });
            }
            let ran = workload::run(lab, amount, &setup.wiring, &control);
            over.stop();
            ran
        });
        Interrupted::check(&self.interrupted)?;
        setup.services.check()?;
        ran.or_else(as_outcome)
    }
}

/// Clients that cannot connect count as failed operations; other errors end the lab.
fn as_outcome(error: anyhow::Error) -> Result<load::Outcome> {
    match error.downcast::<load::Error>() {
        Ok(error) => Ok(load::Outcome {
            measured: None,
            errors: vec![ErrorCount {
                text: error.to_string(),
                count: 1,
            }],
            ..load::Outcome::default()
        }),
        Err(error) => Err(error),
    }
}

/// The workload runs operations outside of longwire's view.
fn is_timed_by_capture(lab: &Lab) -> bool {
    matches!(lab.workload.kind, WorkloadKind::Command { .. }) && lab.workload.operation.is_some()
}

/// Replaces missing times with those from the captures.
pub(super) fn by_capture(
    ran: load::Outcome,
    lab: &Lab,
    files: &[PathBuf],
    captured: &Captured,
) -> Result<load::Outcome> {
    if !is_timed_by_capture(lab) {
        return Ok(ran);
    }
    let observed = ObservedOperations::read_captures(files, lab, captured)?;
    Ok(load::Outcome {
        measured: ran
            .measured
            .as_ref()
            .and_then(|measured| observed.measured(&lab.workload, measured.errors)),
        ..ran
    })
}

/// Totals over runs with one operation each.
#[derive(Default)]
struct Sum {
    durations: model::DistributionBuilder,
    errors: u64,
    texts: Vec<ErrorCount>,
}

impl Sum {
    fn add(&mut self, ran: load::Outcome) {
        if let Some(measured) = ran.measured {
            self.durations.add(measured.duration);
        }
        for error in ran.errors {
            self.errors += error.count;
            match self.texts.iter_mut().find(|known| known.text == error.text) {
                Some(known) => known.count += error.count,
                None => self.texts.push(error),
            }
        }
    }

    fn outcome(mut self, elapsed: Duration) -> load::Outcome {
        let per_second = self.durations.count() as f64 / self.durations.sum().as_secs_f64().max(1e-9);
        let measured = MeasuredDurations::from_durations(&mut self.durations, per_second, self.errors);
        load::Outcome {
            measured,
            durations: self.durations,
            errors: self.texts,
            elapsed,
            ..load::Outcome::default()
        }
    }
}

fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    Timestamp::from_nanos(u64::try_from(since.unwrap_or_default().as_nanos()).unwrap_or(u64::MAX))
}

/// Interval of the shown time.
const REFRESH: Duration = Duration::from_millis(200);

/// Separately captured runs of a command.
const MAX_WINDOWS: u64 = 10_000;

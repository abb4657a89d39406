//! Verifies predictions by replaying operations over an emulated link.
//!
//! This verifies TCP and the arithmetic of waiting: bytes are filler and servers wait as long as
//! measured. A server's behaviour elsewhere is not verified (docs/predict.md).

mod choice;
mod schedule;

use crate::backend::Backend;
use choice::ReplayChoice;
use model::{
    DistributionBuilder, LinkOutcome, MeasuredDurations, Prediction, Warning, WarningKind, format_duration,
};
use pipeline::moved::MovedConnections;
use pipeline::page::Samples;
use pipeline::progress::ProgressSink;
use predict::PredictionTarget;
use relay::replay::{ReplayError, ReplayMeasurements, ReplayPlan, ReplayScript, replay};
use report::ReadOutcome;
use schedule::Schedule;
use std::time::{Duration, Instant};
use sys::StopToken;

pub struct Claim<'a> {
    pub targets: &'a [PredictionTarget],
    pub samples: &'a Samples,
    pub moved: &'a MovedConnections,
}

#[derive(Debug, Default)]
struct Proof {
    /// As requested and as realised; one for each target.
    links: Vec<LinkOutcome>,
    /// About operations that were not replayed.
    warnings: Vec<Warning>,
}

/// Replays one operation of each of the most important names on every target and records the
/// durations in the predictions, and the links. Returns early, with partial results, when `stop` is
/// set.
pub fn verify(
    outcome: &mut ReadOutcome,
    claim: &Claim<'_>,
    backend: &Backend,
    progress: &dyn ProgressSink,
    stop: &StopToken,
) {
    let mut proof = Proof::default();
    let choices = choice::choose(outcome, claim, &mut proof.warnings);
    let mut schedule = Schedule::new(&choices);
    for text in schedule.left_out() {
        proof.warn(WarningKind::LeftOut, text);
    }
    let total = schedule.rest();
    if !choices.is_empty() {
        progress.show_note(&format!(
            "{} on emulated links, {}; about {} s, Ctrl-C ends it",
            match choices.len() {
                1 => "replaying an operation".to_owned(),
                count => format!("replaying {count} operations"),
            },
            backend.level().words(),
            total.as_secs() + 1
        ));
    }
    let began = Instant::now();
    while let Some((choice, plan)) = schedule.next() {
        if stop.is_stopped() {
            proof.warn(
                WarningKind::EndedEarly,
                "the replays were ended before all were through",
            );
            break;
        }
        progress.status(&how_far(began, total, schedule.rest(), choice));
        match prove(choice, &plan, backend, stop) {
            Ok((replayed, link)) => {
                proof.record_replay(choice, &replayed, &mut outcome.predictions[choice.prediction]);
                proof.link(link);
            }
            Err(fault) => {
                let text = format!("{} was not replayed: {fault}", choice.words());
                proof.warn(WarningKind::NotPredicted, text);
            }
        }
    }
    progress.status("");
    outcome
        .warnings
        .extend(proof.links.iter().flat_map(report::text::link_warnings));
    outcome.links = proof.links;
    outcome.warnings.extend(proof.warnings);
}

fn prove(
    choice: &ReplayChoice,
    plan: &ReplayPlan,
    backend: &Backend,
    stop: &StopToken,
) -> Result<(ReplayMeasurements, LinkOutcome), ReplayError> {
    backend.with_link(&choice.target.link, |ends| {
        let script: &ReplayScript = &choice.script;
        replay(script, ends, plan, stop)
    })
}

impl Proof {
    fn warn(&mut self, kind: WarningKind, text: impl Into<String>) {
        self.warnings.push(Warning::new(kind, text));
    }

    fn record_replay(
        &mut self,
        choice: &ReplayChoice,
        replayed: &ReplayMeasurements,
        prediction: &mut Prediction,
    ) {
        if replayed.lateness > LATE {
            let text = format!(
                "while {} was replayed this machine was up to {} late: it was busy with other things",
                choice.words(),
                format_duration(replayed.lateness)
            );
            self.warn(WarningKind::MachineBusy, text);
        }
        let span = replayed.span.as_secs_f64().max(1e-9);
        let all_clients = (choice.target.clients > 1).then(|| replayed.durations.len() as f64 / span);
        prediction.measured = measured(&replayed.durations, all_clients);
    }

    /// Keeps the outcome of each link with the largest error of the round-trip time.
    fn link(&mut self, link: LinkOutcome) {
        let off = |link: &LinkOutcome| link.rtt_error_p50_ns.map(i64::unsigned_abs);
        match self.links.iter_mut().find(|known| known.asked == link.asked) {
            Some(known) if off(known) < off(&link) => *known = link,
            Some(_) => {}
            None => self.links.push(link),
        }
    }
}

/// Summarises durations measured one after another. `per_second` is that of concurrent clients.
pub fn measured(durations: &[Duration], per_second: Option<f64>) -> Option<MeasuredDurations> {
    let mut all = DistributionBuilder::new();
    for duration in durations {
        all.add(*duration);
    }
    let mean = all.mean()?.as_secs_f64();
    let per_second = per_second.unwrap_or(1.0 / mean.max(1e-9));
    MeasuredDurations::from_durations(&mut all, per_second, 0)
}

fn how_far(began: Instant, total: Duration, rest: Duration, choice: &ReplayChoice) -> String {
    let done = 100 * total.saturating_sub(rest).as_millis() / total.as_millis().max(1);
    let text = format!(
        "{done:>3} % after {} s, about {} s left: {}",
        began.elapsed().as_secs(),
        rest.as_secs() + 1,
        choice.words()
    );
    text.chars().take(78).collect()
}

const LATE: Duration = Duration::from_millis(20);

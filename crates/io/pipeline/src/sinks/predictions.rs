//! Predictions of a run, and the savings of its findings by replays.

mod prices;
mod thread;
mod unexplained;

use super::{AggregatorConfig, InspectedOperation, LongestOperation, Samples};
use crate::moved::{MovedConnections, by_whether_they_move};
use crate::senders;
use model::{ConnectionId, Warning, WarningKind};
use predict::{PredictionTarget, Predictor, Senders};
use report::ReadOutcome;
use thread::PredictionThread;

/// Consumes operations, unlike other sinks: its thread would need a copy of each.
pub(super) struct Predictions {
    thread: PredictionThread,
    targets: Vec<PredictionTarget>,
    senders: Senders,
    moved: MovedConnections,
    samples: Option<Samples>,
    longest: Option<LongestOperation>,
}

impl Predictions {
    pub fn requested(config: &AggregatorConfig, moved: &MovedConnections) -> Option<Self> {
        if config.targets.is_empty() {
            return None;
        }
        let choice = moved.clone();
        let predictor = Predictor::new(config.targets.clone(), Box::new(move |step| choice.moves(step)))
            .with_computing(config.computing)
            .with_wake_up(config.wake_up)
            .with_workers(config.workers)
            .with_senders(config.senders);
        Some(Self {
            thread: PredictionThread::start(predictor),
            targets: config.targets.clone(),
            senders: config.senders,
            moved: moved.clone(),
            samples: config.samples.clone(),
            longest: config.longest.clone(),
        })
    }

    pub fn process_operation(&mut self, inspected: InspectedOperation) {
        let InspectedOperation { operation, found } = inspected;
        self.thread.process_operation(operation, found.left_out);
    }

    pub fn close_connection(&mut self, connection: ConnectionId) {
        self.thread.close_connection(connection);
    }

    pub fn conclude(self, outcome: &mut ReadOutcome) {
        let mut predicted = self.thread.finish();
        outcome
            .warnings
            .extend(senders::warning(self.senders, &predicted));
        if !self.moved.moves_any() && outcome.summary.operations > 0 {
            outcome
                .warnings
                .push(Warning::new(WarningKind::NothingMoved, NOTHING_MOVED));
        }
        outcome.findings = prices::priced_by_replays(
            std::mem::take(&mut outcome.findings),
            &predicted.remedies,
            &self.targets,
            &predicted.predictions,
        );
        prices::forget_unreported(&predicted.remedies, &outcome.findings, &mut predicted.predictions);
        (outcome.predictions, outcome.unmoved) = by_whether_they_move(predicted.predictions);
        outcome.held_predictions = predicted.held;
        outcome
            .warnings
            .extend(unexplained::warning(&outcome.predictions));
        if let Some(longest) = &self.longest {
            longest.set_concurrency(&predicted.concurrency);
        }
        if let Some(samples) = &self.samples {
            samples.set_concurrency(predicted.concurrency);
        }
    }
}

const NOTHING_MOVED: &str = "no connection was moved to the other link, so the predictions repeat the measurement; name the \
                             connections that move with --on";

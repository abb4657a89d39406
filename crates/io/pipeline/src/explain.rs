//! The replay of one operation, for `--explain`.

use crate::aggregator::AggregatorConfig;
use crate::moved::MovedConnections;
use model::{Operation, OperationStep, PerDirection, Prediction};
use predict::{Assumption, PredictionTarget, WakeUp};
use report::outcome::{ExplainOutcome, ExplainedExchange};

/// One operation on one link, in the form of the report.
pub fn explain(
    operation: &Operation,
    target: &PredictionTarget,
    wanted: &AggregatorConfig,
    moved: &MovedConnections,
    predictions: &[Prediction],
) -> ExplainOutcome {
    let moves = |step: &OperationStep| moved.moves(step);
    let explanation = predict::explain(operation, target, wanted.computing, wanted.wake_up, &moves);
    let steps = explanation.steps.iter().map(|step| ExplainedExchange {
        name: match &step.fingerprint {
            Some(fingerprint) => fingerprint.to_string(),
            None => step.phase.name().to_owned(),
        },
        connection: step.connection,
        moved: step.moved,
        turns: step.turns,
        bytes: PerDirection::new(step.request_bytes, step.reply_bytes),
        assigned: step.assigned,
        probability: step.probability,
        started: step.times.started,
        completed: step.times.completed,
    });
    let assumption = |assumption: &Assumption| (assumption.text.to_string(), assumption.source.to_owned());
    ExplainOutcome {
        operation_name: operation.name.to_string(),
        measured: operation.duration,
        unexplained_ns: explanation.unexplained_ns,
        predicted: explanation.replayed.duration,
        link: match target.clients {
            1 => target.link.to_string(),
            _ => format!("{}, by one client alone", target.link),
        },
        assumptions: explanation.assumptions.iter().map(assumption).collect(),
        is_calibrated: matches!(wanted.wake_up, WakeUp::Calibrated(_)),
        prediction: predictions
            .iter()
            .rev()
            .find(|prediction| prediction.operation_name == operation.name)
            .cloned(),
        steps: steps.collect(),
    }
}

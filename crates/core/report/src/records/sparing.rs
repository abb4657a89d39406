//! The `spared` record.

use model::{SavedTime, SparedOperation, SparingOutcome};
use std::time::Duration;

record! {
    SparedRecord(outcome: &'a SparingOutcome, operation: &'a SparedOperation) {
        spared: &outcome.spared,
        operation_name: &operation.name,
        executions: outcome.executions.all,
        removable_executions: outcome.executions.removable,
        spared_executions: outcome.executions.spared,
        refusal: refusal(outcome, operation),
        operations: operation.with.count(),
        operations_spared: operation.without.count(),
        operations_mixed: operation.mixed,
        p50_ns: median(operation, 0),
        p50_spared_ns: median(operation, 1),
        saves_ns: saved(outcome, operation).map(|saved| saved.saves_ns),
        saves_low_ns: saved(outcome, operation).map(|saved| saved.bounds_ns[0]),
        saves_high_ns: saved(outcome, operation).map(|saved| saved.bounds_ns[1]),
        round_trips_spared: Some(operation.max_removed).filter(|most| *most > 0),
        exceeds_delay: saved(outcome, operation).map(|saved| outcome.exceeds_delay(operation, saved)).filter(|exceeds| *exceeds),
        finding: outcome.finding.as_ref().map(|finding| finding.kind.name()),
        promised_ns: outcome.promised,
    }
}

fn refusal(outcome: &SparingOutcome, operation: &SparedOperation) -> Option<String> {
    outcome
        .refusal()
        .or_else(|| operation.refusal().map(str::to_owned))
}

fn median(operation: &SparedOperation, arm: usize) -> Option<Duration> {
    operation.medians()[arm]
}

fn saved(outcome: &SparingOutcome, operation: &SparedOperation) -> Option<SavedTime> {
    operation.saved().filter(|_| outcome.refusal().is_none())
}

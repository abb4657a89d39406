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
        refusal: outcome.refusal(),
        operations: operation.with.count(),
        operations_spared: operation.without.count(),
        operations_mixed: operation.mixed,
        p50_ns: median(operation, 0),
        p50_spared_ns: median(operation, 1),
        saves_ns: saved(outcome, operation).map(|saved| saved.saves_ns),
        saves_low_ns: saved(outcome, operation).map(|saved| saved.bounds_ns[0]),
        saves_high_ns: saved(outcome, operation).map(|saved| saved.bounds_ns[1]),
    }
}

fn median(operation: &SparedOperation, arm: usize) -> Option<Duration> {
    operation.medians()[arm]
}

fn saved(outcome: &SparingOutcome, operation: &SparedOperation) -> Option<SavedTime> {
    operation.saved().filter(|_| outcome.refusal().is_none())
}

//! Keeps the last operations of a run for predictions before its end.

use super::{InspectedOperation, RunSink};
use crate::moved::MovedConnections;
use link::LinkDescription;
use model::{Operation, OperationStep, Phase, Prediction};
use predict::predictor::{LEARNED_OPERATIONS, LEARNED_STEPS};
use predict::{Predicted, PredictionTarget, Predictor, WakeUp};
use std::collections::VecDeque;
use std::io;

/// Operations in order of their end, up to the number that a prediction learns from. The
/// predictions of a shorter run are therefore those of `predict`.
#[derive(Debug, Default)]
pub struct RecentOperations {
    operations: VecDeque<Operation>,
    steps: usize,
}

impl RecentOperations {
    fn process_operation(&mut self, operation: &Operation) {
        self.steps += operation.steps.len();
        self.operations.push_back(operation.clone());
        while self.operations.len() > 1
            && (self.steps > LEARNED_STEPS || self.operations.len() > LEARNED_OPERATIONS)
        {
            self.forget_first();
        }
    }

    fn forget_first(&mut self) {
        let Some(first) = self.operations.pop_front() else {
            return;
        };
        self.steps -= first.steps.len();
        if first.continues {
            let steps = &mut self.steps;
            self.operations.retain(|operation| {
                let stays = operation.id != first.id;
                *steps -= if stays { 0 } else { operation.steps.len() };
                stays
            });
        }
    }

    pub fn len(&self) -> usize {
        self.operations.len()
    }

    pub fn is_empty(&self) -> bool {
        self.operations.is_empty()
    }

    pub fn iter(&self) -> impl Iterator<Item = &Operation> + Clone {
        self.operations.iter()
    }

    /// Durations of the operations and transactions on each of `links`, for a single client.
    pub fn predict(&self, links: &[LinkDescription], moved: &MovedConnections) -> Predicted {
        let mut predictor = predictor(links, moved);
        self.operations
            .iter()
            .for_each(|operation| predictor.add(operation));
        predictor.finish_all()
    }

    /// Durations of statements on moving connections, each as a separate operation named by its
    /// fingerprint.
    pub fn predict_statements(&self, link: LinkDescription, moved: &MovedConnections) -> Vec<Prediction> {
        let mut steps: Vec<&OperationStep> = self
            .operations
            .iter()
            .flat_map(|operation| &operation.steps)
            .filter(|step| step.exchange.phase == Phase::Work && moved.moves(step))
            .collect();
        steps.sort_by_key(|step| step.exchange.at);
        let mut predictor = predictor(&[link], moved);
        for (id, step) in (0..).zip(steps) {
            if let Some(operation) = alone(id, step) {
                predictor.add(&operation);
            }
        }
        predictor.finish()
    }
}

impl RunSink for RecentOperations {
    fn operation(&mut self, inspected: &mut InspectedOperation) -> io::Result<()> {
        self.process_operation(&inspected.operation);
        Ok(())
    }
}

fn predictor(links: &[LinkDescription], moved: &MovedConnections) -> Predictor {
    let targets = links.iter().map(|&link| PredictionTarget { link, clients: 1 });
    let moved = moved.clone();
    Predictor::new(targets.collect(), Box::new(move |step| moved.moves(step))).with_wake_up(WakeUp::default())
}

/// A statement as an operation without other waits.
fn alone(id: u64, step: &OperationStep) -> Option<Operation> {
    let exchange = step.exchange.clone();
    let name = exchange.fingerprint.clone()?;
    let alone = OperationStep::first(exchange, step.protocol);
    Some(Operation::of_steps(id, name, vec![alone]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Timestamp;
    use std::time::Duration;

    fn operation(id: u64, continues: bool) -> Operation {
        Operation {
            at: Timestamp::from_nanos(id),
            duration: Duration::from_millis(1),
            continues,
            ..Operation::of_steps(id, "page".into(), Vec::new())
        }
    }

    #[test]
    fn the_last_stay() {
        let mut recent = RecentOperations::default();
        let all = LEARNED_OPERATIONS as u64 + 5;
        (0..all).for_each(|id| recent.process_operation(&operation(id, false)));
        assert_eq!(recent.len(), LEARNED_OPERATIONS);
        assert_eq!(recent.iter().next().map(|first| first.id), Some(5));
    }

    #[test]
    fn an_operation_goes_with_all_its_parts() {
        let mut recent = RecentOperations::default();
        recent.process_operation(&operation(0, true));
        recent.process_operation(&operation(1, false));
        recent.process_operation(&operation(0, false));
        (2..LEARNED_OPERATIONS as u64).for_each(|id| recent.process_operation(&operation(id, false)));
        assert!(recent.iter().all(|operation| operation.id != 0));
        assert_eq!(recent.iter().next().map(|first| first.id), Some(1));
    }
}

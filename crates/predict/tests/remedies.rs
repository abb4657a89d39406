//! What remedies save: the operation replayed without what they leave out.

mod made;

use made::{Made, in_sequence};
use model::{FindingKey, FindingKind, LeftOut, Operation};
use predict::{PredictionTarget, Predictor};
use std::time::Duration;

const MS: Duration = Duration::from_millis(1);

fn key() -> FindingKey {
    FindingKey {
        kind: FindingKind::NPlusOne,
        fingerprint: Some("select ?".into()),
        operation_name: "made".into(),
    }
}

/// What is saved at 40 ms without these steps; and what the operation takes with and without them.
fn saved(operation: Operation, steps: &[u32]) -> (Duration, Duration, Option<Duration>) {
    let target = PredictionTarget {
        link: "rtt=40ms".parse().expect("a link"),
        clients: 1,
    };
    let mut predictor = Predictor::new(vec![target], Box::new(|_| true));
    let left_out = LeftOut {
        finding: key(),
        steps: steps.to_vec(),
        held_back: Vec::new(),
    };
    predictor.take_with(operation, vec![left_out]);
    let predicted = predictor.finish_all();
    let sum = predicted.remedies.of(&key(), 0).expect("it was replayed without");
    assert_eq!(sum.operations, 1);
    let typical = predicted.predictions[0].examples.expect("an example").typical;
    (sum.saved, typical.predicted, typical.without)
}

#[test]
fn round_trips_one_after_another_are_saved_each() {
    let queries = [Made::query(10, 10).server(MS); 5];
    let (saved, takes, without) = saved(in_sequence(MS, &queries), &[1, 2, 3, 4]);
    assert_eq!(saved, 160 * MS);
    assert_eq!(takes, 205 * MS);
    assert_eq!(without, Some(45 * MS), "the server works as before");
}

#[test]
fn what_ran_at_the_same_time_as_something_longer_saves_nothing() {
    // Both connections are asked at once; one has three queries, the other two.
    let mut operation = in_sequence(MS, &[Made::query(10, 10); 5]);
    for (index, after) in [None, Some(0), Some(1), None, Some(3)].into_iter().enumerate() {
        let step = &mut operation.steps[index];
        step.after = after;
        step.exchange.connection = model::ConnectionId(u32::from(index >= 3));
    }
    operation.connections = 2;
    operation.duration = 3 * MS;
    let (saved, takes, _) = saved(operation, &[3, 4]);
    assert_eq!(takes, 120 * MS);
    assert_eq!(saved, Duration::ZERO);
}

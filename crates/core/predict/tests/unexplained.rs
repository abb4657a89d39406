//! Measured time beyond the replay over the measured paths.

mod made;

use link::LinkDescription;
use made::{Made, in_sequence};
use model::{BoundBy, Operation, PerDirection, Prediction};
use predict::{PredictionTarget, Predictor};
use std::time::Duration;

const HERE: Duration = Duration::from_millis(1);
const STALL: Duration = Duration::from_millis(400);

fn predicted(operation: &Operation, link: LinkDescription) -> Prediction {
    let target = PredictionTarget { link, clients: 1 };
    let mut predictor = Predictor::new(vec![target], Box::new(|_| true));
    predictor.add(operation);
    predictor.finish().remove(0)
}

fn at(operation: &Operation, rtt: Duration) -> Prediction {
    predicted(operation, LinkDescription::with_rtt(rtt))
}

/// Ten queries, and a stall in none of their exchanges.
fn stalled(reply_bytes: u64) -> Operation {
    let query = Made::query(100, reply_bytes).server(Duration::from_micros(500));
    let mut operation = in_sequence(HERE, &[query; 10]);
    operation.duration += STALL;
    operation
}

#[test]
fn a_wait_that_nothing_explains_is_kept_at_every_distance_and_said() {
    let operation = stalled(1_000);
    let calm = in_sequence(
        HERE,
        &[Made::query(100, 1_000).server(Duration::from_micros(500)); 10],
    );
    for rtt in [HERE, Duration::from_millis(10), Duration::from_millis(40)] {
        let (with, without) = (at(&operation, rtt), at(&calm, rtt));
        assert_eq!(with.duration, without.duration + STALL);
        assert_eq!(with.attribution.unknown, STALL);
        assert_eq!(with.attribution.total(), with.duration);
        let unexplained = with.unexplained.expect("replayed alone");
        let off = unexplained.median_ns.abs_diff(STALL.as_nanos() as i64);
        assert!(off < 1_000_000, "{unexplained:?}");
        assert!(unexplained.share > 0.9, "{unexplained:?}");
    }
    assert_eq!(at(&operation, HERE).duration, operation.duration);
    assert_eq!(at(&operation, HERE).bound_by, BoundBy::Unexplained);
}

#[test]
fn a_replay_that_takes_too_long_is_said_and_stays() {
    let calm = in_sequence(HERE, &[Made::query(100, 1_000); 10]);
    let mut shorter = calm.clone();
    shorter.duration -= Duration::from_millis(5);
    let prediction = at(&shorter, HERE);
    assert_eq!(prediction.duration, at(&calm, HERE).duration);
    let unexplained = prediction.unexplained.expect("replayed alone");
    assert!(unexplained.median_ns <= -5_000_000, "{unexplained:?}");
}

#[test]
fn longer_transfers_take_the_place_of_the_wait() {
    let slow = LinkDescription {
        rate: PerDirection::splat(model::BitRate::parse("1Mbit/s").ok()),
        ..LinkDescription::with_rtt(HERE)
    };
    let calm = in_sequence(
        HERE,
        &[Made::query(100, 14_000).server(Duration::from_micros(500)); 10],
    );
    let (with, without) = (predicted(&stalled(14_000), slow), predicted(&calm, slow));
    assert!(without.duration > Duration::from_secs(1), "{without:?}");
    assert_eq!(with.duration, without.duration);
}

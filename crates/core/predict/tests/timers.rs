//! A timer hides distance.

mod made;

use made::{Made, operation, operation_step, step};
use model::{Operation, OperationKind, Protocol, Timestamp};
use predict::{PredictionTarget, Predictor};
use std::time::Duration;

const MS: Duration = Duration::from_millis(1);
const DATABASE: Duration = MS;

/// A sign-in that is answered `replied` after its request.
fn sign_in(number: u32, checking: Duration, replied: Duration) -> Operation {
    let arrived = Timestamp::from_nanos(1_000_000_000_000 + u64::from(number) * 1_000_000_000);
    let mut now = arrived;
    let mut steps = Vec::new();
    for (place, before) in [MS, checking].into_iter().enumerate() {
        now = now.after(before);
        let query = Made::query(50, 50).on(1).server(DATABASE).client_before(before);
        let mut asked = operation_step(&query, step(now, Duration::ZERO, &query));
        asked.after = Some(place as u32);
        asked.after_start = place == 0;
        steps.push(asked);
        now = now.after(DATABASE);
    }
    let request = Made::query(200, 200).on(0).server(replied);
    let mut outer = operation_step(&request, step(arrived, Duration::ZERO, &request));
    outer.protocol = Protocol::Http;
    outer.exchange.first.server = replied.saturating_sub(now.since(arrived));
    outer.reply_after = Some(2);
    steps.insert(0, outer);
    Operation {
        name: "POST /sign-in".into(),
        kind: OperationKind::Http,
        ..operation(arrived, replied, steps)
    }
}

/// Milliseconds with the database behind `link`.
fn predicted(link: &str, replied: impl Fn(Duration) -> Duration) -> f64 {
    let target = PredictionTarget {
        link: link.parse().expect("a link"),
        clients: 1,
    };
    let to_database = Box::new(|step: &model::OperationStep| step.protocol == Protocol::Postgres);
    let mut predictor = Predictor::new(vec![target], to_database);
    for (number, checking) in [101, 113, 96, 104, 99, 108, 93, 105].into_iter().enumerate() {
        let checking = checking * MS;
        predictor.add(&sign_in(number as u32, checking, replied(checking)));
    }
    predictor.finish()[0].duration.as_secs_f64() * 1e3
}

#[test]
fn round_trips_before_the_end_of_a_timer_add_nothing() {
    let timer = |_| 500 * MS;
    assert!((predicted("rtt=40ms", timer) - 500.0).abs() < 0.1);
    // Two round trips, and the median check.
    assert!((predicted("rtt=300ms", timer) - 707.0).abs() < 3.0);
}

#[test]
fn a_fixed_wait_after_the_calls_is_no_timer() {
    let after_calls = |checking: Duration| checking + 400 * MS;
    assert!((predicted("rtt=40ms", after_calls) - 584.0).abs() < 4.0);
}

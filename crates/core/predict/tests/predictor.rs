//! Many operations become one prediction per name and target.

mod made;

use made::{Made, in_sequence};
use model::{BoundBy, Operation, Phase, Timestamp};
use predict::{PredictionTarget, Predictor};
use std::time::Duration;

const MS: Duration = Duration::from_millis(1);

fn predictor(links: &[&str]) -> Predictor {
    let targets = links.iter().map(|link| PredictionTarget {
        link: link.parse().expect("a link"),
        clients: 1,
    });
    Predictor::new(targets.collect(), Box::new(|_| true))
}

fn named(name: &str, exchanges: &[Made]) -> Operation {
    Operation {
        name: name.into(),
        ..in_sequence(Duration::ZERO, exchanges)
    }
}

fn later(before: &Operation, pause: Duration, operation: &Operation) -> Operation {
    Operation {
        at: before.at.after(before.duration + pause),
        ..operation.clone()
    }
}

#[test]
fn names_come_by_their_cost_and_targets_in_their_order() {
    let mut predictor = predictor(&["rtt=10ms", "rtt=40ms rate=10mbit"]);
    for name in ["b", "a", "b"] {
        predictor.add(&named(name, &[Made::query(10, 10), Made::query(10, 10)]));
    }
    let predictions = predictor.finish();
    let shown: Vec<_> = predictions
        .iter()
        .map(|one| {
            (
                one.operation_name.as_ref(),
                one.operations,
                one.rtt.as_millis(),
                one.turns,
            )
        })
        .collect();
    assert_eq!(
        shown,
        [
            ("b", 2, 10, 2.0),
            ("b", 2, 40, 2.0),
            ("a", 1, 10, 2.0),
            ("a", 1, 40, 2.0)
        ]
    );
    assert_eq!(predictions[0].duration, 20 * MS);
    assert_eq!(predictions[0].per_second, 50.0);
    assert!(
        predictions
            .iter()
            .all(|one| one.low <= one.duration && one.duration <= one.high)
    );
    assert!(predictions.iter().all(|one| one.attribution.total() == one.spread.mean.unwrap_or_default() * one.operations as u32));
}

#[test]
fn what_takes_most_of_the_time_is_named() {
    let bound_by = |link: &str, query: Made| {
        let mut predictor = predictor(&[link]);
        predictor.add(&named("one", &[query]));
        predictor.finish()[0].bound_by
    };
    assert_eq!(bound_by("rtt=40ms", Made::query(10, 10)), BoundBy::RoundTrips);
    assert_eq!(
        bound_by("rtt=1ms", Made::query(10, 10).server(9 * MS)),
        BoundBy::Server
    );
    assert_eq!(
        bound_by("rtt=1ms", Made::query(10, 10).client_before(9 * MS)),
        BoundBy::Client
    );
    assert_eq!(
        bound_by("rtt=1ms rate=1mbit", Made::query(10, 100_000)),
        BoundBy::Rate
    );
}

#[test]
fn a_window_grown_by_one_operation_serves_the_next_until_it_is_idle() {
    let large = named("large", &[Made::query(100, 100_000)]);
    let durations = |pause: Duration| {
        let mut predictor = predictor(&["rtt=40ms"]);
        predictor.add(&large);
        let second = later(
            &large,
            pause,
            &Operation {
                name: "again".into(),
                ..large.clone()
            },
        );
        predictor.add(&second);
        predictor
            .finish()
            .iter()
            .map(|one| one.duration)
            .collect::<Vec<_>>()
    };
    assert_eq!(durations(MS), [120 * MS, 40 * MS]);
    assert_eq!(durations(Duration::from_secs(10)), [120 * MS, 120 * MS]);
}

#[test]
fn a_closed_connection_leaves_nothing() {
    let mut predictor = predictor(&["rtt=40ms"]);
    let close = Made {
        phase: Phase::Close,
        ..Made::query(5, 5)
    };
    let first = named("first", &[Made::query(100, 100_000), close]);
    predictor.add(&first);
    predictor.add(&later(&first, MS, &named("second", &[Made::query(100, 100_000)])));
    assert_eq!(predictor.finish()[1].duration, 120 * MS);
}

#[test]
fn parts_of_a_long_operation_are_one() {
    let mut predictor = predictor(&["rtt=10ms"]);
    let part = named("long", &[Made::query(10, 10).server(MS); 3]);
    predictor.add(&Operation {
        id: 7,
        continues: true,
        ..part.clone()
    });
    predictor.add(&Operation {
        id: 8,
        name: "short".into(),
        ..part.clone()
    });
    predictor.add(&Operation {
        id: 7,
        ..later(&part, Duration::ZERO, &part)
    });
    predictor.add(&Operation {
        id: 9,
        name: "never finished".into(),
        continues: true,
        ..part
    });
    let predictions = predictor.finish();
    let shown: Vec<_> = predictions
        .iter()
        .map(|one| (one.operation_name.as_ref(), one.operations, one.duration))
        .collect();
    assert_eq!(shown, [("long", 1, 66 * MS), ("short", 1, 33 * MS)]);
}

#[test]
fn an_operation_without_exchanges_is_the_clients() {
    let mut predictor = predictor(&["rtt=10ms"]);
    let idle = Operation {
        client_after: 5 * MS,
        at: Timestamp::from_nanos(5),
        ..named("idle", &[])
    };
    predictor.add(&idle);
    let prediction = &predictor.finish()[0];
    assert_eq!(
        (prediction.duration, prediction.bound_by),
        (5 * MS, BoundBy::Client)
    );
}

#[test]
fn connections_move_to_several_links_at_once() {
    let target = |near: &str, far: &str| {
        let own = PredictionTarget {
            link: near.parse().expect("a link"),
            clients: 1,
        };
        (own, vec![far.parse().expect("a link")])
    };
    let targets = vec![
        target("rtt=10ms", "rtt=30ms"),
        target("rtt=0ms", "rtt=30ms"),
        target("rtt=10ms", "rtt=10ms rate=1mbit"),
    ];
    // Connection 0 moves to the first link, 1 to the second; 2 stays and takes 4 ms.
    let moved = |step: &model::OperationStep| Some(step.exchange.connection.0).filter(|link| *link < 2);
    let mut predictor = Predictor::over_links(targets, Box::new(moved));
    let exchanges = [
        Made::query(100, 100).on(0),
        Made::query(100, 1_000).on(1),
        Made::query(100, 100).on(2),
        Made::query(100, 100).on(0),
    ];
    let staying = 4 * MS;
    predictor.add(&in_sequence(staying, &exchanges));
    let durations: Vec<Duration> = predictor.finish().iter().map(|one| one.duration).collect();
    // 1000 bytes and 52 of headers at 1 Mbit/s; 100 bytes the other way.
    let serialised = Duration::from_nanos((1_052 + 152) * 8 * 1_000);
    assert_eq!(durations[0], 50 * MS + staying);
    assert_eq!(durations[1], 30 * MS + staying);
    assert_eq!(durations[2], 30 * MS + serialised + staying);
}

#[test]
fn messages_that_nobody_answers_do_not_pull_a_median_to_nothing_beside_turns() {
    let mut predictor = predictor(&["rtt=10ms"]);
    let farewell = Operation {
        steps: Vec::new(),
        ..named("one", &[])
    };
    predictor.add(&named("one", &[Made::query(10, 10)]));
    for _ in 0..3 {
        predictor.add(&farewell);
    }
    let prediction = &predictor.finish()[0];
    assert_eq!((prediction.duration, prediction.turns), (10 * MS, 1.0));
    assert_eq!(prediction.operations, 4);
}

#[test]
fn the_name_that_costs_most_comes_first_however_late_it_was_seen() {
    let small = named("small", &[Made::query(10, 10)]);
    let dear = named("dear", &[Made::query(10, 10); 30]);
    let mut predictor = predictor(&["rtt=1ms", "rtt=10ms"]);
    for operation in [&small, &small, &dear] {
        predictor.add(operation);
    }
    let names: Vec<_> = predictor
        .finish()
        .iter()
        .map(|prediction| prediction.operation_name.to_string())
        .collect();
    assert_eq!(names, ["dear", "dear", "small", "small"]);
}

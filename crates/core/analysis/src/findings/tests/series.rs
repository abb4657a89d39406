//! Loops across operations of autocommitted statements.

use super::*;

fn alone(made: &Made) -> Vec<(FindingKind, u64, u64, String)> {
    let mut findings = engine();
    let mut whole = made.operation(OperationKind::Transaction);
    let steps = std::mem::take(&mut whole.steps);
    for (id, step) in (0..).zip(&steps) {
        let name = step.exchange.fingerprint.clone().expect("a statement");
        findings.operation(&Operation {
            id,
            name,
            at: step.exchange.at,
            duration: TURN,
            turns: 1,
            steps: vec![OperationStep::first(step.exchange.clone(), step.protocol)],
            ..whole.clone()
        });
    }
    let found = findings.finish().findings.into_iter();
    found
        .map(|finding| {
            (
                finding.kind,
                finding.count,
                finding.saves_turns,
                finding.operation_name.to_string(),
            )
        })
        .collect()
}

#[test]
fn a_loop_of_autocommitted_reads_is_n_plus_one() {
    let mut made = Made::new(Protocol::Postgres);
    made.asks("select id from u", HASTE, 600);
    for _ in 0..600 {
        made.asks(LOOKUP, Duration::from_millis(2), 1);
    }
    assert_eq!(alone(&made), [(Kind::NPlusOne, 600, 599, LOOKUP.to_owned())]);
}

#[test]
fn a_long_loop_of_a_client_that_hardly_computes_is_found_in_parts() {
    let mut made = Made::new(Protocol::Postgres);
    for _ in 0..20_000 {
        made.asks(INSERT, HASTE, 1);
    }
    assert_eq!(
        alone(&made),
        [(Kind::RowByRow, 20_000, 19_997, INSERT.to_owned())]
    );
}

#[test]
fn statements_of_pages_are_no_loop() {
    let mut made = Made::new(Protocol::Postgres);
    for _ in 0..100 {
        made.asks(LOOKUP, THINKING, 1);
    }
    assert_eq!(alone(&made), []);
}

#[test]
fn a_loop_whose_rounds_are_bursts_is_found_across_them() {
    let mut findings = engine();
    let mut made = Made::new(Protocol::Postgres);
    made.asks("select id from u", HASTE, 100);
    for _ in 0..100 {
        made.asks(LOOKUP, Duration::from_millis(15), 1);
        made.asks("select name from a where id = ?", HASTE, 1);
    }
    let whole = made.operation(OperationKind::Burst);
    for (id, round) in (0..).zip(whole.steps.chunks(2)) {
        findings.operation(&Operation::of_steps(id, "round".into(), round.to_vec()));
    }
    let found = findings.finish().findings;
    let turns: u64 = found.iter().map(|finding| finding.turns).sum();
    assert!(
        found.iter().all(|finding| finding.kind == Kind::NPlusOne),
        "{found:#?}"
    );
    assert!(turns >= 198, "{found:#?}");
}

#[test]
fn what_recurs_under_another_name_recurs() {
    let mut findings = engine();
    for (id, name) in [(0, "connect, page"), (1, "page"), (2, "page")] {
        let mut made = Made::new(Protocol::Postgres);
        for _ in 0..2 {
            made.asks("", HASTE, 0).asks("select a from b", HASTE, 1);
        }
        findings.operation(&Operation {
            id,
            name: name.into(),
            ..made.operation(OperationKind::Transaction)
        });
    }
    let found = findings.finish().findings.into_iter();
    let mut counts: Vec<(String, u64)> = found
        .filter(|finding| finding.kind == Kind::ControlTurns)
        .map(|finding| (finding.operation_name.to_string(), finding.count))
        .collect();
    counts.sort();
    assert_eq!(counts, [("connect, page".to_owned(), 2), ("page".to_owned(), 4)]);
}

/// Pauses of Python clients of DynamoDB and Elasticsearch, with some of a busy machine.
#[test]
fn a_loop_of_a_client_that_steadily_computes_a_little_is_n_plus_one() {
    let rounds = |count: u64, protocol| {
        let mut made = Made::new(protocol);
        for round in 0..count {
            let pause = match round % 10 {
                9 => 2_900,
                rest => 610 + rest * 20,
            };
            made.asks("GetItem Orders", Duration::from_micros(pause), 1);
        }
        made
    };
    for protocol in [Protocol::Dynamodb, Protocol::Postgres] {
        let made = rounds(30, protocol);
        let found = made.kinds_and_counts(OperationKind::Connection);
        assert_eq!(found, [(Kind::NPlusOne, 30, 29)]);
        let few = rounds(9, protocol).kinds_and_counts(OperationKind::Connection);
        assert_eq!(few, [], "too few to tell");
    }
    // Two clients of a pool, at the same time.
    let mut findings = engine();
    for id in 0..2 {
        findings.operation(&Operation {
            id,
            ..rounds(30, Protocol::Dynamodb).operation(OperationKind::Connection)
        });
    }
    assert_eq!(findings.finish().findings, []);
}

/// Random numbers above 0, to 1.
fn uniform(state: &mut u64) -> f64 {
    *state = state
        .wrapping_mul(6_364_136_223_846_793_005)
        .wrapping_add(1_442_695_040_888_963_407);
    (f64::from(u32::try_from(*state >> 33).expect("31 bits")) + 1.0) / 2.0_f64.powi(31)
}

/// Requests of independent users on a pool's only connection, after `least` and a random pause.
fn random_users(seed: u64, count: u64, least: Duration, mean: Duration) -> Made {
    let mut made = Made::new(Protocol::Dynamodb);
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    for _ in 0..count {
        let pause = least + mean.mul_f64(-uniform(&mut state).ln());
        made.asks("GetItem Orders", pause, 1);
    }
    made
}

#[test]
fn requests_of_independent_users_are_no_loop() {
    let (least, mean) = (Duration::from_micros(600), Duration::from_millis(2));
    let found = random_users(7, 300, least, mean).kinds_and_counts(OperationKind::Connection);
    assert_eq!(found, []);
    for pause in [Duration::from_millis(6), Duration::from_millis(2), THINKING] {
        let mut made = Made::new(Protocol::Dynamodb);
        for _ in 0..100 {
            made.asks("GetItem Orders", pause, 1);
        }
        assert_eq!(made.kinds_and_counts(OperationKind::Connection), [], "{pause:?}");
    }
}

/// Of 300 runs, one in twenty may look like a loop. Before, 80 to 300 of those with a mean of a
/// millisecond did.
#[test]
fn dense_requests_of_independent_users_are_hardly_ever_a_loop() {
    for (mean, counts) in [
        (2_000, &[10, 20, 50, 100, 300][..]),
        (1_000, &[20, 50, 100, 300]),
        (500, &[50, 100, 300]),
    ] {
        for &count in counts {
            let is_found = |seed: &u64| {
                let made = random_users(*seed, count, Duration::ZERO, Duration::from_micros(mean));
                !made.kinds_and_counts(OperationKind::Connection).is_empty()
            };
            let found = (0..300).filter(is_found).count();
            assert!(found <= 15, "{count} requests, {mean} us: {found} of 300");
        }
    }
}

/// Pauses of recorded programs, in microseconds: JDBC drivers that warm up, Python's clients of MongoDB
/// and Redis.
#[test]
fn uneven_loops_of_programs_are_n_plus_one() {
    for pauses in [
        &[376, 351, 8_306, 337, 329, 154, 119, 101, 90][..],
        &[516, 8_555, 311, 127, 119, 106, 101, 87, 77],
        &[671, 63_023, 3_585, 511, 499, 444, 280, 249, 233],
        &[609, 199, 689, 404, 232],
        &[502, 718, 173, 224, 219, 424, 238, 285],
        &[161, 1_410, 163, 455],
    ] {
        let mut made = Made::new(Protocol::Postgres);
        made.asks(LOOKUP, THINKING, 1);
        for pause in pauses {
            made.asks(LOOKUP, Duration::from_micros(*pause), 1);
        }
        let found = made.kinds_and_counts(OperationKind::Connection);
        let count = pauses.len() as u64 + 1;
        assert_eq!(found, [(Kind::NPlusOne, count, count - 1)], "{pauses:?}");
    }
}

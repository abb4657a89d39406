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

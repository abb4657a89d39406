//! Loops across operations: statements that are autocommitted are operations of their own.

use super::*;

/// Each step of `made` as a transaction of its own, of one engine; what is found.
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

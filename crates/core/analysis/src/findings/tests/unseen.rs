use super::*;

fn run(made: &mut Made, name: &str, returns: bool, rows: u64) {
    made.exchange(HASTE, |exchange| {
        exchange.fingerprint = Some(name.into());
        exchange.asked.prepared_executions = 1;
        exchange.asked.returns_rows = returns;
        exchange.rows = Some(rows);
    });
}

#[test]
fn a_loop_that_returns_rows_is_n_plus_one_and_one_that_reports_them_writes() {
    for (returns, kind) in [(true, Kind::NPlusOne), (false, Kind::RowByRow)] {
        let mut made = Made::new(Protocol::Postgres);
        for _ in 0..12 {
            run(&mut made, "(prepared S_1)", returns, 1);
        }
        let findings = made.found(Http, None);
        let [finding] = &findings[..] else {
            panic!("one: {findings:#?}")
        };
        assert_eq!((finding.kind, finding.count, finding.saves_turns), (kind, 12, 11));
        assert_eq!(finding.fingerprint.as_deref(), Some("(prepared S_1)"));
        assert!(
            finding.remedy.contains("before the pool opens its connections"),
            "{}",
            finding.remedy
        );
    }
}

#[test]
fn what_never_had_a_row_is_not_judged() {
    let mut made = Made::new(Protocol::Postgres);
    for _ in 0..12 {
        run(&mut made, "(prepared S_2)", false, 0);
    }
    assert_eq!(made.kinds_and_counts(Http), []);
}

#[test]
fn what_a_statement_does_shows_in_all_replies_to_it() {
    let mut made = Made::new(Protocol::Postgres);
    for round in 0..12 {
        let found = u64::from(round % 3 == 0);
        run(&mut made, "(prepared S_1)", found == 1, found);
    }
    assert_eq!(made.kinds_and_counts(Http), [(Kind::NPlusOne, 12, 11)]);
}

/// On a kept connection, without five equal rounds: repeatedly three reads and a write.
#[test]
fn reads_among_other_turns_without_a_pause_are_a_loop() {
    let mut made = Made::new(Protocol::Postgres);
    for _ in 0..4 {
        for _ in 0..3 {
            run(&mut made, "(prepared S_1)", true, 1);
        }
        run(&mut made, "(prepared S_2)", false, 1);
    }
    assert_eq!(made.kinds_and_counts(Connection), [(Kind::NPlusOne, 12, 11)]);
}

//! Rule `auto` on traffic outside requests.

use super::*;

const IDLE: Option<TransactionState> = Some(TransactionState::Idle);
const OPEN: Option<TransactionState> = Some(TransactionState::Open);

/// Text, start in us, transaction state afterwards. Each takes 160 us.
type Said<'s> = (&'s str, u64, Option<TransactionState>);

fn said(run: &mut Run, (text, from, state): Said<'_>) {
    let mut exchange = exchange(0, Phase::Work, from, 50, 10);
    exchange.fingerprint = Some(Arc::from(text));
    exchange.transaction = state;
    run.exchange(exchange, Protocol::Postgres);
}

fn grouped(logs_in: bool, all: &[Said<'_>]) -> Vec<(String, &'static str, usize)> {
    let mut run = Run::new(Rule::Auto);
    run.opened(0, host(1, 40_000), host(2, 5432));
    if logs_in {
        run.exchange(exchange(0, Phase::Login, 0, 50, 10), Protocol::Postgres);
    }
    all.iter().for_each(|one| said(&mut run, *one));
    run.closed(0);
    let (operations, _) = run.finish();
    let described = |operation: &Operation| {
        (
            operation.name.to_string(),
            operation.kind.name(),
            operation.steps.len(),
        )
    };
    operations.iter().map(described).collect()
}

fn owned<'a>(
    expected: impl IntoIterator<Item = (&'a str, &'static str, usize)>,
) -> Vec<(String, &'static str, usize)> {
    let all = expected.into_iter();
    all.map(|(name, kind, steps)| (name.to_owned(), kind, steps))
        .collect()
}

#[test]
fn statements_without_a_pause_are_a_burst_named_by_what_it_asks() {
    let page = |from| {
        [
            ("select a from s", from, IDLE),
            ("select b from u where id = ?", from + 1_000, IDLE),
            ("select b from u where id = ?", from + 2_000, IDLE),
        ]
    };
    let alone = [("select c from v", 100_000, IDLE)];
    let repeated = [("GET ?", 200_000, None), ("GET ?", 200_400, None)];
    assert_eq!(
        grouped(
            false,
            &[&page(1_000)[..], &page(50_000), &alone, &repeated].concat()
        ),
        owned([
            (
                "select a from s ... select b from u where id = ? (2 statements)",
                "burst",
                3
            ),
            (
                "select a from s ... select b from u where id = ? (2 statements)",
                "burst",
                3
            ),
            ("select c from v", "transaction", 1),
            ("GET ?, repeated", "burst", 2),
        ])
    );
}

#[test]
fn how_long_a_pause_may_be_depends_on_those_before_it() {
    // 5 ms each: 40 ms is within ten times that, 70 ms is not.
    let slow: Vec<Said<'_>> = (0..5)
        .map(|round| ("select a from s", 5_160 * round, IDLE))
        .collect();
    let last = 4 * 5_160 + 160;
    let count = |pause: u64| {
        let next = [("select a from s", last + pause, IDLE)];
        let all = grouped(false, &[&slow[..], &next].concat());
        all.iter().map(|(_, _, steps)| *steps).collect::<Vec<_>>()
    };
    assert_eq!(count(40_000), [6]);
    assert_eq!(count(70_000), [5, 1]);
    // However slow the client, a second ends it.
    let ever_slower = [0, 9_000, 89_000, 489_000, 1_700_000];
    let all: Vec<Said<'_>> = ever_slower
        .iter()
        .map(|from| ("select a from s", *from, IDLE))
        .collect();
    let sizes: Vec<usize> = grouped(false, &all).iter().map(|(_, _, steps)| *steps).collect();
    assert_eq!(sizes, [4, 1]);
}

#[test]
fn a_transaction_is_no_part_of_a_burst() {
    let all = [
        ("select a from s", 1_000, IDLE),
        ("begin", 2_000, OPEN),
        ("update s set a = ?", 3_000, OPEN),
        ("commit", 4_000, IDLE),
        ("select c from v", 5_000, IDLE),
    ];
    assert_eq!(
        grouped(false, &all),
        owned([
            ("select a from s", "transaction", 1),
            ("update s set a = ?", "transaction", 3),
            ("select c from v", "transaction", 1),
        ])
    );
}

#[test]
fn connecting_belongs_to_what_follows_it_at_once() {
    let read = [("select a from s", 1_000, IDLE)];
    let work = [
        ("begin", 1_000, OPEN),
        ("update s set a = ?", 2_000, OPEN),
        ("commit", 3_000, IDLE),
    ];
    let late = [("select a from s", 500_000, IDLE)];
    assert_eq!(
        grouped(true, &read),
        owned([("connect, select a from s", "burst", 2)])
    );
    assert_eq!(
        grouped(true, &work),
        owned([("connect, update s set a = ?", "transaction", 4)])
    );
    assert_eq!(
        grouped(true, &late),
        owned([
            ("connecting to 10.0.0.2:5432", "connection", 1),
            ("select a from s", "transaction", 1),
        ])
    );
}

#[test]
fn a_program_that_has_just_begun_may_rest_between_connecting_and_its_first_statement() {
    let kinds = |first: u64| -> Vec<_> {
        let all = [("set a = ?", first, IDLE), ("select b from u", first + 300, IDLE)];
        let of = grouped(true, &all).into_iter();
        of.map(|(_, kind, steps)| (kind, steps)).collect()
    };
    assert_eq!(kinds(60_000), [("burst", 3)]);
    assert_eq!(kinds(160_000), [("connection", 1), ("burst", 2)]);
}

#[test]
fn waiting_for_work_is_a_pause() {
    let all = [
        ("GET ?", 1_000, None),
        ("BRPOP ?", 2_000, None),
        ("SET ? ?", 3_000, None),
    ];
    let names: Vec<String> = grouped(false, &all).into_iter().map(|(name, ..)| name).collect();
    assert_eq!(names, ["GET ?", "BRPOP ?", "SET ? ?"]);
}

#[test]
fn another_route_is_another_burst() {
    let mut run = Run::new(Rule::Auto);
    run.opened(0, host(1, 40_000), host(2, 5432));
    for (from, route) in [(1_000, "/a"), (2_000, "/a"), (3_000, "/b")] {
        let exchange = in_state(exchange(0, Phase::Work, from, 50, 10), TransactionState::Idle);
        run.exchange(tagged(exchange, None, Some(route)), Protocol::Postgres);
    }
    let (operations, _) = run.finish();
    let names: Vec<&str> = operations.iter().map(|operation| &*operation.name).collect();
    assert_eq!(names, ["/a", "/b"]);
}

#[test]
fn a_burst_that_rests_is_handed_out_while_its_connection_is_open() {
    let mut run = Run::new(Rule::Auto);
    run.opened(0, host(1, 40_000), host(2, 5432));
    said(&mut run, ("select a from s", 1_000, IDLE));
    let mut handed = 0;
    run.operations.close_resting(&mut |_| handed += 1);
    said(&mut run, ("select c from v", 2_000, IDLE));
    run.operations.close_resting(&mut |_| handed += 1);
    assert_eq!(handed, 0, "something came between");
    run.operations.close_resting(&mut |_| handed += 1);
    assert_eq!(handed, 1);
}

#[test]
fn the_parts_of_a_very_long_burst_have_one_name() {
    let mut run = Run::new(Rule::Auto);
    run.opened(0, host(1, 40_000), host(2, 5432));
    let count = MAXIMUM_STEPS as u64 + 5;
    for number in 0..count {
        said(&mut run, ("select a from s", 1_000 * number, IDLE));
    }
    said(&mut run, ("select c from v", 1_000 * count, IDLE));
    let (operations, _) = run.finish();
    let names: Vec<&str> = operations.iter().map(|operation| &*operation.name).collect();
    assert_eq!(names, ["select a from s, repeated"; 2]);
    assert_eq!(operations[0].id, operations[1].id);
}

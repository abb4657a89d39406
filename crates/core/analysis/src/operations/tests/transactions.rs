use super::*;
use model::{HeldTime, OperationTransaction};

const OPEN: Option<TransactionState> = Some(TransactionState::Open);
const IDLE: Option<TransactionState> = Some(TransactionState::Idle);

/// With a round trip of 100 us, and `server` us.
fn statement(text: &str, from: u64, server: u64, state: Option<TransactionState>) -> Exchange {
    let mut exchange = exchange(0, Phase::Work, from, server, 0);
    exchange.fingerprint = Some(Arc::from(text));
    exchange.transaction = state;
    exchange
}

impl Run {
    fn say(&mut self, text: &str, from: u64, server: u64, state: Option<TransactionState>) {
        self.exchange(statement(text, from, server, state), Protocol::Postgres);
    }

    /// A connection with a seen opening.
    fn connected(rule: Rule) -> Self {
        let mut run = Self::new(rule);
        run.opened(0, host(1, 40_000), host(2, 5432));
        run.exchange(exchange(0, Phase::Login, 0, 50, 10), Protocol::Postgres);
        run
    }

    /// Reads, writes, reads and commits from `from` on; ends at `from` + 3,200.
    fn order(&mut self, from: u64) {
        self.say("begin", from, 0, OPEN);
        self.say("select n from stock where i = ?", from + 200, 400, OPEN);
        self.say("update stock set n = ? where i = ?", from + 1_000, 700, OPEN);
        self.say("select n from stock where i = ?", from + 2_000, 100, OPEN);
        self.say("commit", from + 3_000, 100, IDLE);
    }
}

fn names(operations: &[Operation]) -> Vec<&str> {
    operations.iter().map(|operation| &*operation.name).collect()
}

fn all(operations: &[Operation]) -> Vec<&OperationTransaction> {
    let all = operations.iter();
    all.flat_map(|operation| &operation.transactions).collect()
}

#[test]
fn a_transaction_is_named_by_its_first_statement_that_works() {
    let named = |texts: &[(&str, u32)]| {
        let mut run = Run::connected(Rule::Transaction);
        for (number, (text, executions)) in (1..).zip(texts) {
            let state = if number < texts.len() as u64 { OPEN } else { IDLE };
            let mut exchange = statement(text, 1_000 * number, 10, state);
            exchange.executions = *executions;
            run.exchange(exchange, Protocol::Postgres);
        }
        let (operations, _) = run.finish();
        operations[1].name.to_string()
    };
    let update = "update stock set n = ?";
    for (texts, name) in [
        (
            &[("begin", 1), ("set local a = ?", 1), (update, 1), ("commit", 1)][..],
            update,
        ),
        (
            &[
                ("start transaction", 1),
                ("select ?", 1),
                (update, 1),
                ("commit", 1),
            ],
            update,
        ),
        (
            &[
                ("begin", 1),
                ("savepoint a", 1),
                ("SHOW x", 1),
                (update, 0),
                ("commit", 1),
            ],
            update,
        ),
        (
            &[
                ("begin", 1),
                ("insert into t values(?)", 0),
                (update, 1),
                ("commit", 1),
            ],
            update,
        ),
        (&[("begin", 1), ("select ?", 1), ("rollback", 1)], "select ?"),
        (&[("begin", 1), ("commit", 1)], "begin"),
        (&[("", 1)], "connection check"),
        (&[(update, 1)], update),
    ] {
        assert_eq!(named(texts), name, "{texts:?}");
    }
}

#[test]
fn a_transaction_is_open_from_the_arrival_of_begin_until_the_reply_to_commit_leaves() {
    let mut run = Run::connected(Rule::Transaction);
    run.order(1_000);
    let (operations, _) = run.finish();
    let transactions = all(&operations);
    let [order] = transactions[..] else {
        panic!("one: {transactions:?}")
    };
    assert_eq!(&*order.name, "select n from stock where i = ?");
    assert_eq!(
        (order.opened_by, order.first_write, order.ended_by),
        (Some(0), Some(2), Some(4))
    );
    let held = order.held;
    // BEGIN arrives at 1,050, the reply to COMMIT leaves at 4,150.
    assert_eq!(held.total(), micros(3_100));
    assert_eq!((held.turns, held.turns_after_write, held.writes), (4, 2, 1));
    // The first write arrives at 2,050. Before: BEGIN's reply travels (50), the query's round trip
    // (100), the update travels (50).
    assert_eq!(held.before_write.total(), micros(1_000));
    assert_eq!(held.before_write.server, micros(400));
    assert_eq!(held.before_write.round_trip, micros(200));
    assert_eq!(held.before_write.client, micros(400));
    assert_eq!(held.after_write.total(), micros(2_100));
    assert_eq!(held.after_write.server, micros(900));
    assert_eq!(held.after_write.round_trip, micros(200));
    assert_eq!(held.after_write.client, micros(1_000));
}

#[test]
fn a_page_has_the_transactions_made_for_it_and_other_connections_are_the_client_s_time() {
    let mut run = Run::new(Rule::Auto);
    run.opened(9, host(7, 40_000), host(1, 80));
    run.opened(0, host(1, 40_001), host(2, 5432));
    run.opened(1, host(1, 40_002), host(3, 5432));
    run.exchange(exchange(0, Phase::Login, 0, 50, 10), Protocol::Postgres);
    run.fact(Fact::Started {
        connection: ConnectionId(9),
        at: at(500),
        fingerprint: None,
        request: None,
    });
    run.say("begin", 1_000, 0, OPEN);
    run.say("update stock set n = ?", 1_200, 100, OPEN);
    let elsewhere = exchange(1, Phase::Work, 2_000, 5_000, 0);
    run.exchange(elsewhere, Protocol::Postgres);
    run.say("commit", 8_000, 0, IDLE);
    run.say("begin", 8_200, 0, OPEN);
    run.say("delete from basket", 8_400, 0, OPEN);
    run.say("commit", 8_600, 0, IDLE);
    run.exchange(exchange(9, Phase::Work, 400, 9_000, 10), Protocol::Http);
    let (operations, _) = run.finish();
    let page = operations
        .iter()
        .find(|one| one.kind == OperationKind::Http)
        .expect("a page");
    let told: Vec<(&str, Duration, u32)> = page
        .ended_transactions()
        .map(|one| (&*one.name, one.held.total(), one.held.turns))
        .collect();
    assert_eq!(
        told,
        [
            ("update stock set n = ?", micros(7_000), 2),
            ("delete from basket", micros(400), 2)
        ]
    );
    let first = page
        .ended_transactions()
        .next()
        .expect("the update")
        .held
        .attribution();
    assert_eq!((first.client, first.server), (micros(6_700), micros(100)));
}

#[test]
fn what_begins_unseen_or_ends_with_its_connection_is_not_reported() {
    let mut run = Run::new(Rule::Connection);
    run.opened(0, host(1, 40_000), host(2, 5432));
    // Joined in the middle: this may have been open for hours.
    run.say("update stock set n = ?", 0, 10, OPEN);
    run.say("commit", 1_000, 10, IDLE);
    run.order(2_000);
    run.say("begin", 10_000, 10, OPEN);
    run.say("update stock set n = ?", 11_000, 10, OPEN);
    run.closed(0);
    let (operations, _) = run.finish();
    let over: Vec<&OperationTransaction> = operations[0].ended_transactions().collect();
    assert_eq!(over.len(), 1);
    assert_eq!(over[0].opened_by, Some(2));
    assert_eq!(operations[0].transactions.len(), 2, "and one is open still");
}

#[test]
fn a_pooled_connection_joined_in_the_middle_tells_its_first_begin() {
    let mut run = Run::new(Rule::Connection);
    run.opened(0, host(1, 40_000), host(2, 5432));
    run.order(1_000);
    let (operations, _) = run.finish();
    assert_eq!(operations[0].ended_transactions().count(), 1);
}

#[test]
fn a_transaction_of_several_operations_is_one() {
    let mut run = Run::connected(Rule::Gap(micros(300)));
    run.order(1_000);
    let (operations, _) = run.finish();
    assert!(operations.len() > 2, "pauses cut it: {:?}", names(&operations));
    let transactions = all(&operations);
    let over: Vec<_> = transactions.iter().filter(|one| one.is_over()).collect();
    assert_eq!(over.len(), 1);
    assert_eq!(over[0].held.total(), micros(3_100));
    assert_eq!(over[0].held.turns, 4);
    assert_eq!(over[0].opened_by, None);
    assert!(transactions.len() > 1, "the first operation has it too");
}

#[test]
fn a_transaction_that_is_cut_and_never_ends_takes_none_of_the_next() {
    let mut run = Run::connected(Rule::Whole);
    run.order(1_000);
    let (mut operations, _) = run.finish();
    let whole = operations.remove(0);
    let part = |steps: &[OperationStep]| Operation {
        steps: steps.to_vec(),
        transactions: Vec::new(),
        after_reply: Vec::new(),
        ..whole.clone()
    };
    let (login, order) = whole.steps.split_at(1);
    let mut found = crate::operations::Transactions::default();
    let mut over = |steps: &[OperationStep]| {
        let mut operation = part(steps);
        found.operation(&mut operation, &|_| true);
        let ended = operation.ended_transactions();
        ended.map(|one| one.held.total()).collect::<Vec<_>>()
    };
    assert_eq!(over(login), []);
    assert_eq!(over(&order[..3]), []);
    assert_eq!(over(order), [micros(3_100)]);
}

#[test]
fn statements_sent_without_waiting_lose_no_time() {
    let mut run = Run::connected(Rule::Transaction);
    let mut sent = statement("update stock set n = ?", 1_010, 900, OPEN);
    sent.first.turn = false;
    sent.turns = 0;
    run.say("begin", 1_000, 500, OPEN);
    run.exchange(sent, Protocol::Postgres);
    run.say("commit", 3_000, 0, IDLE);
    let (operations, _) = run.finish();
    let held = all(&operations)[0].held;
    assert_eq!(held.total(), micros(2_000));
    assert_eq!(held.turns, 1);
    assert!(held.attribution().server >= micros(900), "{held:?}");
}

#[test]
fn a_named_server_s_connections_are_named() {
    let mut run = Run::new(Rule::Connection);
    run.operations = Operations::new(Rule::Connection).with_names([(host(2, 5432), Arc::from("shop"))]);
    run.opened(0, host(1, 40_000), host(2, 5432));
    (0..4).for_each(|number| run.order(1_000 + 50_000 * number));
    let (operations, _) = run.finish();
    assert_eq!(names(&operations), ["shop"]);
}

#[test]
fn transactions_are_handed_out_as_they_end() {
    let mut run = Run::connected(Rule::Auto);
    let count = MAXIMUM_STEPS as u64 / 5 + 10;
    for number in 0..count {
        run.order(1_000 + 50_000 * number);
    }
    let early = run.grouped.len() as u64;
    assert_eq!(early, count);
    run.closed(0);
    let (operations, _) = run.finish();
    assert_eq!(operations.len() as u64, count);
    assert!(operations.iter().all(|operation| !operation.continues));
    assert!(
        all(&operations)
            .iter()
            .all(|one| one.held.total() == micros(3_100))
    );
}

#[test]
fn the_parts_of_a_very_long_transaction_are_one() {
    let mut run = Run::connected(Rule::Transaction);
    run.say("begin", 1_000, 0, OPEN);
    let count = MAXIMUM_STEPS as u64 + 5;
    for number in 0..count {
        run.say("insert into t values(?)", 2_000 + 1_000 * number, 300, OPEN);
    }
    run.say("commit", 2_000 + 1_000 * count, 0, IDLE);
    let (operations, _) = run.finish();
    let transactions = all(&operations);
    let told: Vec<(bool, Duration)> = transactions
        .iter()
        .map(|one| (one.is_over(), one.held.total()))
        .collect();
    assert_eq!(told.len(), 2);
    assert!(!told[0].0 && told[1].0);
    assert_eq!(told[1].1, micros(1_000 + 1_000 * count));
    let HeldTime { turns, writes, .. } = transactions[1].held;
    assert_eq!((u64::from(turns), u64::from(writes)), (count + 1, count));
}

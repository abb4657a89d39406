//! Statements with identifiers of requests, or with a framework's style.

use super::*;
use model::{Assigned, RequestId, Tags};

fn request(number: u128) -> Option<Arc<Tags>> {
    Some(Arc::new(Tags {
        request: Some(RequestId(number)),
        ..Tags::default()
    }))
}

fn prepared_and_run(made: &mut Made, number: u128) {
    made.exchange(THINKING, |exchange| {
        exchange.fingerprint = Some(LOOKUP.into());
        exchange.executions = 0;
        exchange.asked.prepares = 1;
        exchange.tags = request(number);
    });
    run(made);
}

fn run(made: &mut Made) {
    made.exchange(HASTE, |exchange| {
        exchange.fingerprint = Some(LOOKUP.into());
        exchange.asked.prepared_executions = 1;
    });
}

fn batch(made: &mut Made, number: u128) {
    made.exchange(THINKING, |exchange| {
        exchange.fingerprint = Some("select w from u where id = ?".into());
        exchange.asked.prepares = 1;
        exchange.asked.prepared_executions = 1;
        exchange.tags = request(number);
    });
}

#[test]
fn an_identifier_in_the_comment_makes_each_preparation_a_new_one() {
    let mut made = Made::new(Protocol::Postgres);
    for number in 0..10 {
        prepared_and_run(&mut made, number + 1);
    }
    // The first two may be of a client that keeps none.
    assert_eq!(
        made.kinds_and_counts(Connection),
        [(Kind::CommentDefeatsCache, 8, 8)]
    );
    let findings = made.found(Connection, None);
    assert_eq!(findings[0].savings[1].saves, Duration::from_millis(8 * 40));
    assert!(findings[0].remedy.contains("comments"), "{}", findings[0].remedy);
}

#[test]
fn pages_of_their_own_operations_add_up() {
    let mut findings = engine();
    for id in 0..10 {
        let mut made = Made::new(Protocol::Postgres);
        prepared_and_run(&mut made, u128::from(id) + 1);
        findings.operation(&Operation {
            id,
            ..made.operation(Http)
        });
    }
    let findings = findings.finish().findings;
    assert_eq!(findings.len(), 1, "{findings:?}");
    assert_eq!((findings[0].count, findings[0].operations), (8, 8));
}

/// asyncpg waits for the statement's description and runs it in the same exchange.
#[test]
fn preparing_may_be_the_first_turn_of_an_exchange() {
    let mut made = Made::new(Protocol::Postgres);
    for number in 0..10 {
        batch(&mut made, number + 1);
    }
    for step in &mut made.steps {
        step.exchange.turns = 2;
    }
    assert_eq!(
        made.kinds_and_counts(Connection),
        [(Kind::CommentDefeatsCache, 8, 8)]
    );
}

#[test]
fn the_same_identifier_and_a_client_that_keeps_nothing_are_no_such_waste() {
    let mut made = Made::new(Protocol::Postgres);
    for _ in 0..10 {
        prepared_and_run(&mut made, 7);
    }
    let told = made.kinds_and_counts(Connection);
    assert!(
        !told.iter().any(|(kind, ..)| *kind == Kind::CommentDefeatsCache),
        "{told:?}"
    );
    let mut made = Made::new(Protocol::Mysql);
    for number in 0..10 {
        prepared_and_run(&mut made, number + 1);
        made.exchange(HASTE, |exchange| {
            exchange.turns = 0;
            exchange.executions = 0;
            exchange.asked.closes = 1;
        });
    }
    assert_eq!(
        made.kinds_and_counts(Connection),
        [(Kind::OneShotPrepare, 10, 10)]
    );
}

#[test]
fn two_repetitions_are_too_few() {
    let mut made = Made::new(Protocol::Postgres);
    for number in 0..4 {
        prepared_and_run(&mut made, number + 1);
    }
    assert_eq!(made.kinds_and_counts(Connection), []);
}

#[test]
fn preparing_along_with_running_costs_no_turn() {
    let mut made = Made::new(Protocol::Postgres);
    for number in 0..10 {
        batch(&mut made, number + 1);
    }
    // Unnamed statements of a client without a cache look the same.
    assert_eq!(made.kinds_and_counts(Connection), []);
    prepared_and_run(&mut made, 1);
    run(&mut made);
    for number in 0..10 {
        batch(&mut made, number + 100);
    }
    let findings = made.found(Connection, Some("PostgreSQL JDBC Driver"));
    assert_eq!(findings.len(), 1, "{findings:?}");
    let found = &findings[0];
    assert_eq!(
        (found.kind, found.count, found.turns, found.saves_turns),
        (Kind::CommentDefeatsCache, 10, 0, 0)
    );
    assert!(
        found.remedy.contains("no round trip is saved"),
        "{}",
        found.remedy
    );
    assert_eq!(found.most(), Duration::ZERO);
}

fn send_request(made: &mut Made, gap: Duration, tags: Option<Arc<Tags>>) {
    made.exchange(gap, |exchange| {
        exchange.fingerprint = Some(LOOKUP.into());
        exchange.asked.request_digest = Some(7);
        exchange.tags = tags;
    });
}

#[test]
fn reads_of_different_requests_repeat_nothing() {
    for kind in [Http, Connection, OperationKind::Whole] {
        let mut made = Made::new(Protocol::Postgres);
        for number in 0..8 {
            send_request(&mut made, HASTE, request(number + 1));
        }
        assert_eq!(made.kinds_and_counts(kind), [], "{kind:?}");
        let mut made = Made::new(Protocol::Postgres);
        for _ in 0..8 {
            send_request(&mut made, HASTE, request(1));
        }
        assert_eq!(
            made.kinds_and_counts(kind),
            [(Kind::RepeatedRead, 7, 7)],
            "{kind:?}"
        );
    }
}

#[test]
fn reads_of_different_transactions_on_a_kept_connection_repeat_nothing() {
    let mut made = Made::new(Protocol::Postgres);
    for _ in 0..8 {
        made.statement("begin");
        send_request(&mut made, HASTE, None);
        for table in ["a", "b", "c", "d", "e", "f", "g"] {
            made.statement(&format!("update {table} set v = ? where id = ?"));
        }
        made.statement("commit");
    }
    assert_eq!(made.kinds_and_counts(Connection), []);
    // BEGIN may come with the first statement, and COMMIT with the last.
    let mut made = Made::new(Protocol::Postgres);
    for _ in 0..8 {
        made.open = true;
        send_request(&mut made, HASTE, None);
        made.open = false;
        made.asks("insert into a values (?)", THINKING, 1);
    }
    assert_eq!(made.kinds_and_counts(Connection), []);
}

#[test]
fn a_read_again_in_one_transaction_is_one_too_many() {
    let mut made = Made::new(Protocol::Postgres);
    for _ in 0..4 {
        made.statement("begin");
        send_request(&mut made, THINKING, None);
        send_request(&mut made, THINKING, None);
        for table in ["a", "b", "c", "d", "e", "f", "g"] {
            made.statement(&format!("update {table} set v = ? where id = ?"));
        }
        made.statement("commit");
    }
    assert_eq!(made.kinds_and_counts(Connection), [(Kind::RepeatedRead, 4, 4)]);
}

#[test]
fn a_pause_anywhere_between_two_reads_ends_the_page() {
    let mut made = Made::new(Protocol::Postgres);
    for _ in 0..8 {
        send_request(&mut made, HASTE, None);
        made.asks("update t set v = ? where id = ?", THINKING, 1);
    }
    assert_eq!(made.kinds_and_counts(Connection), []);
}

#[test]
fn guesses_of_requests_side_by_side_are_no_evidence() {
    let mut findings = engine();
    for id in 0..2 {
        let mut made = Made::new(Protocol::Postgres);
        for _ in 0..4 {
            send_request(&mut made, HASTE, None);
        }
        for step in &mut made.steps {
            step.assigned = Some(Assigned::Order);
        }
        findings.operation(&Operation {
            id,
            ..made.operation(Http)
        });
    }
    assert_eq!(findings.finish().findings, []);
}

#[test]
fn a_sequence_asked_again_and_again_is_waste_though_it_asks_the_same() {
    let mut made = Made::new(Protocol::Postgres);
    made.open = true;
    for _ in 0..20 {
        made.exchange(HASTE, |exchange| {
            exchange.fingerprint = Some("select nextval(?)".into());
            exchange.asked.request_digest = Some(7);
        });
    }
    assert_eq!(made.kinds_and_counts(Connection), [(Kind::NPlusOne, 20, 19)]);
    assert!(made.found(Connection, None)[0].remedy.contains("INCREMENT BY"));
}

const AUTHORS: &str = "select a1_0.id, a1_0.name from author a1_0";
const BOOKS: &str = "select b1_0.id, b1_0.title from book b1_0 where b1_0.author_id=?";

#[test]
fn a_remedy_is_in_the_words_of_the_framework() {
    let mut made = Made::new(Protocol::Postgres);
    made.asks(AUTHORS, HASTE, 20);
    for _ in 0..20 {
        made.statement(BOOKS);
    }
    made.statement("begin");
    for _ in 0..20 {
        made.statement("insert into book (author_id, title, id) values (?, ?, ?)");
    }
    made.statement("commit");
    let findings = made.found(Connection, Some("PostgreSQL JDBC Driver"));
    let words = |kind: Kind| {
        let found = findings.iter().find(|finding| finding.kind == kind);
        found.map_or("", |finding| &finding.remedy)
    };
    assert!(words(Kind::NPlusOne).contains("@BatchSize"), "{findings:?}");
    assert!(
        words(Kind::RowByRow).contains("hibernate.jdbc.batch_size"),
        "{findings:?}"
    );
    assert!(
        words(Kind::RowByRow).contains("reWriteBatchedInserts"),
        "{findings:?}"
    );
}

#[test]
fn a_framework_that_names_itself_in_comments_is_believed() {
    let mut made = Made::new(Protocol::Postgres);
    for _ in 0..20 {
        made.exchange(HASTE, |exchange| {
            exchange.fingerprint = Some(r#"select "t"."v" from "t" where "t"."id" = ?"#.into());
            exchange.tags = Some(Arc::new(Tags {
                framework: Some("django:5.2".into()),
                ..Tags::default()
            }));
        });
    }
    let findings = made.found(Http, None);
    assert!(
        findings[0].remedy.starts_with("Django: select_related"),
        "{findings:?}"
    );
}

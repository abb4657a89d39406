use super::*;
use model::{HeldTime, OperationTransaction};

fn transaction(id: u64, queries: &[&str], thinking: Duration) -> Operation {
    let mut made = Made::new(Protocol::Postgres);
    made.statement("begin")
        .statement("update stock set n = ? where i = ?");
    for query in queries {
        made.statement(query);
    }
    made.statement("commit");
    let mut operation = made.operation(OperationKind::Transaction);
    let last = operation.steps.len() as u32 - 1;
    operation.id = id;
    operation.transactions.push(OperationTransaction {
        name: Arc::from("update stock set n = ? where i = ?"),
        connection: ConnectionId(0),
        opened_by: Some(0),
        ended_by: Some(last),
        first_write: Some(1),
        held: HeldTime {
            after_write: Attribution {
                client: thinking,
                ..Attribution::default()
            },
            turns: last,
            turns_after_write: last - 1,
            writes: 1,
            ..HeldTime::default()
        },
    });
    operation
}

fn found(count: u64, queries: &[&str], thinking: Duration) -> Vec<Finding> {
    let mut findings = engine();
    findings.fact(&Fact::Closed(outcome(0, Protocol::Postgres, None).into()));
    for id in 0..count {
        findings.operation(&transaction(id, queries, thinking));
    }
    let held = findings.finish().findings.into_iter();
    held.filter(|finding| finding.kind == Kind::HeldTransaction)
        .collect()
}

const QUERIES: [&str; 8] = [
    "select a from t where i = ?",
    "select b from u where i = ?",
    "select c from v where i = ?",
    "select d from w where i = ?",
    "select e from x where i = ?",
    "select f from y where i = ?",
    "select g from z where i = ?",
    "select h from q where i = ?",
];

#[test]
fn many_turns_after_the_first_write_hold_its_rows() {
    let findings = found(5, &QUERIES, Duration::ZERO);
    let [finding] = &findings[..] else {
        panic!("one: {findings:?}")
    };
    assert_eq!(
        finding.fingerprint.as_deref(),
        Some("update stock set n = ? where i = ?")
    );
    // Eight queries and the commit, which is the price.
    assert_eq!((finding.count, finding.turns, finding.saves_turns), (5, 45, 0));
    assert_eq!(finding.savings[0].saves, Duration::from_millis(5 * 8 * 10));
    assert_eq!(finding.savings[1].saves, Duration::from_millis(5 * 8 * 40));
    assert!(
        finding.remedy.contains("before the first write"),
        "{}",
        finding.remedy
    );
}

#[test]
fn a_client_that_thinks_holds_them_whatever_the_distance() {
    let findings = found(5, &[], Duration::from_millis(50));
    let [finding] = &findings[..] else {
        panic!("one: {findings:?}")
    };
    assert_eq!(finding.savings[0].saves, Duration::from_millis(250));
    assert_eq!(finding.savings[1].saves, Duration::from_millis(250));
}

#[test]
fn short_transactions_and_what_others_report_are_none() {
    // As many round trips as pgbench's.
    assert_eq!(found(100, &QUERIES[..4], Duration::from_millis(49)), []);
    assert_eq!(found(4, &QUERIES, Duration::ZERO), [], "too few to be a habit");
    let loop_of_reads = [LOOKUP; 20];
    assert_eq!(
        found(5, &loop_of_reads, Duration::ZERO),
        [],
        "it is a finding of its own: n+1"
    );
}

use super::*;
use model::{FindingKey, FindingKind, SparedExecutions, SparingOutcome};
use std::time::Duration;

const PARENT: &str = "select id from orders limit ?";
const CHILD: &str = "select name from customers where id = ?";

/// Connections with a clock, that ask as told.
struct Play {
    operations: Operations,
    now: Timestamp,
}

const fn ms(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

fn request(texts: &[&str]) -> Request {
    Request {
        executes: texts.iter().map(|text| Arc::from(*text)).collect(),
        others: Vec::new(),
    }
}

impl Play {
    fn new(spared: &str, by_request: bool) -> Self {
        let spared = Spared::parse(spared, false).expect("spared");
        Self::new_of(Operations::new(spared, by_request, ms(20)))
    }

    fn new_of(operations: Operations) -> Self {
        Self {
            operations,
            now: Timestamp::from_nanos(1_000_000_000),
        }
    }

    fn finish(&mut self) -> SparingOutcome {
        self.operations.finish().remove(0)
    }

    fn pass(&mut self, span: Duration) {
        self.now = self.now.after(span);
    }

    fn send(&mut self, connection: Number, texts: &[&str], at_rest: bool) -> bool {
        let piece = Piece {
            requests: &[request(texts)],
            one_way: false,
            is_whole: true,
            at_rest,
            sets_up: false,
        };
        self.operations.process_piece(connection, self.now, piece)
    }

    /// Takes 20 ms, or 1 ms if it is spared.
    fn turn(&mut self, connection: Number, text: &str, state: TransactionState) -> bool {
        let is_spared = self.send(connection, &[text], true);
        self.pass(ms(if is_spared { 1 } else { 20 }));
        self.operations.process_reply(connection, self.now, Some(state));
        is_spared
    }

    fn loops(&mut self, connection: Number, rounds: usize) -> usize {
        self.turn(connection, PARENT, TransactionState::Idle);
        (0..rounds)
            .filter(|_| self.turn(connection, CHILD, TransactionState::Idle))
            .count()
    }

    fn page(&mut self, web: Number, connection: Number, rounds: usize) -> usize {
        self.operations.http_request(web, self.now, &Arc::from("GET /"));
        let spared = self.loops(connection, rounds);
        self.operations.http_reply(web, self.now);
        spared
    }
}

#[test]
fn of_each_second_request_all_executions_but_the_first_are_spared() {
    let mut play = Play::new("select ... where id = ?", true);
    let spared: Vec<usize> = (0..12).map(|_| play.page(0, 1, 5)).collect();
    assert_eq!(spared, [0, 4, 4, 0, 4, 0, 0, 4, 4, 0, 0, 4]);
    let outcome = play.finish();
    let executions = SparedExecutions {
        all: 30,
        removable: 24,
        spared: 24,
        not_at_rest: 0,
    };
    assert_eq!(outcome.executions, executions);
    let page = &outcome.operations[0];
    assert_eq!(page.medians(), [Some(ms(6 * 20)), Some(ms(2 * 20 + 4))]);
    let saved = page.saved().expect("six each");
    assert_eq!((saved.saves_ns, saved.bounds_ns), (76_000_000, [76_000_000; 2]));
}

#[test]
fn without_requests_a_pause_and_a_transaction_end_an_operation() {
    let mut play = Play::new(CHILD, false);
    let bursts: Vec<usize> = (0..4)
        .map(|_| {
            play.pass(ms(50));
            play.loops(1, 5)
        })
        .collect();
    assert_eq!(bursts, [0, 4, 4, 0]);
    let mut play = Play::new(CHILD, false);
    let transactions: Vec<usize> = (0..4)
        .map(|_| {
            play.turn(1, "begin", TransactionState::Open);
            let spared = (0..5)
                .filter(|_| play.turn(1, CHILD, TransactionState::Open))
                .count();
            play.turn(1, "commit", TransactionState::Idle);
            spared
        })
        .collect();
    assert_eq!(transactions, [0, 4, 4, 0]);
    let outcome = play.finish();
    assert_eq!(outcome.operations.len(), 1);
    assert_eq!(outcome.operations[0].medians(), [Some(ms(140)), Some(ms(64))]);
}

#[test]
fn what_is_not_at_rest_or_not_alone_is_not_spared() {
    let mut play = Play::new(CHILD, true);
    play.page(0, 1, 3);
    play.operations.http_request(0, play.now, &Arc::from("GET /"));
    let mut ask = |texts: &[&str], at_rest| {
        let is_spared = play.send(1, texts, at_rest);
        play.operations.process_reply(1, play.now, None);
        is_spared
    };
    assert!(!ask(&[CHILD], true), "the first");
    assert!(!ask(&[CHILD], false), "beside others on their way");
    assert!(!ask(&[PARENT, CHILD], true), "together with another");
    assert!(ask(&[CHILD], true));
    assert!(!play.send(1, &[PARENT], true), "not removable");
    assert!(!play.send(1, &[CHILD], true), "before the reply to another");
    play.operations.process_reply(1, play.now, None);
    assert!(!play.send(1, &[CHILD], true), "before the second reply");
    let executions = play.finish().executions;
    assert_eq!(
        (executions.removable, executions.spared, executions.not_at_rest),
        (5, 1, 3)
    );
}

#[test]
fn a_loop_is_known_once_an_operation_has_repeated_it() {
    let mut play = Play::new("n+1", true);
    let spared: Vec<usize> = (0..40).map(|_| play.page(0, 1, 5)).collect();
    assert_eq!(
        spared.iter().filter(|count| **count == 4).count(),
        20,
        "{spared:?}"
    );
    assert!(spared.iter().all(|count| [0, 4].contains(count)), "{spared:?}");
}

#[test]
fn of_requests_at_once_each_connection_keeps_its_first() {
    let mut play = Play::new(CHILD, true);
    let mut spared = Vec::new();
    play.operations.http_request(9, play.now, &Arc::from("GET /long"));
    for _ in 0..120 {
        spared.push(play.page(0, 1, 5));
    }
    assert!(spared.contains(&4), "{spared:?}");
    assert!(spared.iter().all(|count| [0, 4].contains(count)), "{spared:?}");
}

#[test]
fn a_control_alternates_and_spares_nothing() {
    let mut play = Play::new("control", true);
    for _ in 0..12 {
        assert_eq!(play.page(0, 1, 5), 0);
    }
    let saved = play.finish().operations[0].saved();
    assert_eq!(saved.map(|saved| saved.saves_ns), Some(0));
}

/// Clients that never rest: each asks for its next page as soon as it has one.
#[test]
fn of_clients_at_once_whole_phases_are_with_or_without() {
    let mut play = Play::new(CHILD, true);
    for web in 0..4 {
        play.operations.http_request(web, play.now, &Arc::from("GET /"));
        play.pass(ms(3));
    }
    for _ in 0..150 {
        for web in 0..4 {
            play.turn(10 + web, PARENT, TransactionState::Idle);
            for _ in 0..5 {
                play.turn(10 + web, CHILD, TransactionState::Idle);
            }
            play.operations.http_reply(web, play.now);
            play.operations.http_request(web, play.now, &Arc::from("GET /"));
        }
    }
    let outcome = play.finish();
    let page = &outcome.operations[0];
    let counts = [page.with.count(), page.without.count()];
    assert!(counts.iter().all(|count| *count >= 60), "{counts:?}");
    assert!(page.saved().is_some(), "{counts:?} and {} mixed", page.mixed);
    assert_eq!(outcome.executions.removable, outcome.executions.spared);
}

#[test]
fn a_request_without_a_reply_of_its_own_gives_no_duration() {
    let name: Fingerprint = Arc::from("GET /");
    let mut play = Play::new("control", true);
    play.operations.http_request(0, play.now, &name);
    play.pass(ms(20));
    play.operations.end(0, play.now);
    play.operations.http_request(1, play.now, &name);
    play.operations.http_request(1, play.now, &name);
    play.operations.http_reply(1, play.now);
    play.operations.http_reply(1, play.now);
    let page = &play.finish().operations[0];
    assert_eq!((page.with.count(), page.without.count(), page.mixed), (0, 0, 3));
}

#[test]
fn a_failed_connection_is_no_operation() {
    let mut play = Play::new("reconnect", false);
    play.operations.open_connection(1, play.now);
    play.operations.close_connection(1);
    play.operations.open_connection(2, play.now);
    assert_eq!(play.finish().operations, []);
}

/// The first statement of a piece belongs to the phase that its operation begins.
#[test]
fn never_more_executions_are_removable_than_there_are() {
    let mut play = Play::new("...", false);
    for _ in 0..4 {
        play.pass(ms(50));
        play.send(1, &["set a", CHILD, "set a", "set a"], true);
        play.operations.process_reply(1, play.now, None);
    }
    let executions = play.finish().executions;
    assert_eq!((executions.all, executions.removable), (8, 4));
}

#[test]
fn a_pause_of_a_reply_is_no_second_reply() {
    let mut play = Play::new(CHILD, true);
    play.operations.http_request(0, play.now, &Arc::from("GET /"));
    play.send(1, &["copy t from stdin"], true);
    play.operations.pause_reply(1);
    play.send(1, &[], true);
    play.operations.process_reply(1, play.now, None);
    assert_eq!(play.operations.visits[&1].pending_replies, 0);
}

fn of_loop(statement: &str, page: &str) -> Stage {
    Stage {
        spared: Spared::parse(statement, false).expect("spared"),
        finding: Some(FindingKey {
            kind: FindingKind::NPlusOne,
            fingerprint: Some(Arc::from(statement)),
            operation_name: Arc::from(page),
        }),
    }
}

#[test]
fn findings_are_spared_one_after_another_once_they_were_observed() {
    let mut play = Play::new_of(Operations::observing(true, ms(20)));
    let observed: usize = (0..20).map(|_| play.page(0, 1, 5)).sum();
    assert_eq!((observed, play.operations.observed()), (0, Some(20)));
    assert_eq!(play.operations.observed_until(), None);
    let other = of_loop("select 1", "GET /other");
    let stages = vec![of_loop(CHILD, "GET /"), other.clone(), other];
    play.operations.prove(stages);
    let began = play.now;
    let spared = (0..30)
        .map(|_| play.page(0, 1, 5))
        .filter(|count| *count == 4)
        .count();
    assert_eq!((spared, play.operations.observed_until()), (8, Some(began)));
    let [control, proved, unseen, untried] = play.operations.finish().try_into().expect("four");
    assert_eq!(control.operations[0].saved().map(|saved| saved.saves_ns), Some(0));
    let [page] = &proved.operations[..] else {
        panic!("{proved:?}");
    };
    assert_eq!(
        (page.with.count(), page.without.count(), page.max_removed),
        (8, 8, 4)
    );
    assert_eq!(page.saved().map(|saved| saved.saves_ns), Some(76_000_000));
    assert_eq!(unseen.operations[0].with.count(), 0);
    assert!(unseen.unspared.is_none() && untried.unspared.is_some());
}

#[test]
fn an_operation_across_a_change_of_the_finding_counts_for_none() {
    let mut play = Play::new_of(Operations::observing(true, ms(20)));
    play.operations.http_request(0, play.now, &Arc::from("GET /"));
    play.operations.prove(vec![of_loop(CHILD, "GET /")]);
    assert_eq!(play.loops(1, 5), 0);
    play.operations.http_reply(0, play.now);
    let all = play.operations.finish();
    assert!(
        all.iter()
            .flat_map(|outcome| &outcome.operations)
            .all(|page| page.with.count() + page.mixed == 0)
    );
}

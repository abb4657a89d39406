//! Each kind on synthetic operations: findings, claims, and cases left alone.

mod requests;
mod series;

use super::*;
use model::{
    AtLevel, Attribution, ConnectionId, ConnectionOutcome, ConnectionTotals, Decoding, Endpoint, Exchange,
    FindingKind, OperationKind, OperationStep, PerDirection, PerSide, Phase, Protocol, RequestTraits, Step,
    Timestamp, TransactionState,
};
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

mod control;
mod held_transaction;
mod kinds;
mod unseen;

struct Made {
    steps: Vec<OperationStep>,
    now: Timestamp,
    connection: u32,
    protocol: Protocol,
    open: bool,
}

const TURN: Duration = Duration::from_millis(1);
const HASTE: Duration = Duration::from_micros(50);

impl Made {
    fn new(protocol: Protocol) -> Self {
        Self {
            steps: Vec::new(),
            now: Timestamp::from_nanos(1_000_000_000),
            connection: 0,
            protocol,
            open: false,
        }
    }

    fn exchange(&mut self, gap: Duration, change: impl FnOnce(&mut Exchange)) -> &mut Self {
        let at = self.now.after(gap);
        let first = Step {
            request_started: at,
            request_ended: at,
            reply_started: Some(at.after(TURN)),
            reply_ended: Some(at.after(TURN)),
            request_bytes: 60,
            reply_bytes: 100,
            turn: true,
            client_inside_request: Duration::ZERO,
            server: Duration::ZERO,
            server_margin: model::Margin::default(),
            server_inside_reply: Duration::ZERO,
            client_side_rtt: Some(Duration::ZERO),
            server_side_rtt: Some(TURN),
            recovery: Duration::ZERO,
        };
        let mut exchange = Exchange {
            connection: ConnectionId(self.connection),
            phase: Phase::Work,
            at,
            turns: 1,
            request_bytes: 60,
            reply_bytes: 100,
            request_messages: 1,
            reply_messages: 1,
            rows: Some(1),
            executions: 1,
            first,
            more: Vec::new(),
            fingerprint: None,
            asked: RequestTraits::default(),
            transaction: Some(match self.open {
                true => TransactionState::Open,
                false => TransactionState::Idle,
            }),
            error: None,
            literal: None,
            tags: None,
            levels: None,
            pooler: None,
            not_seen: None,
            lost: None,
        };
        change(&mut exchange);
        self.now = at.after(TURN);
        self.steps.push(OperationStep {
            client_before: gap,
            ..OperationStep::first(exchange, self.protocol)
        });
        self
    }

    fn statement(&mut self, text: &str) -> &mut Self {
        self.asks(text, HASTE, 1)
    }

    fn asks(&mut self, text: &str, gap: Duration, rows: u64) -> &mut Self {
        match text {
            "begin" => self.open = true,
            "commit" => self.open = false,
            _ => {}
        }
        self.exchange(gap, |exchange| {
            exchange.fingerprint = Some(text.into());
            exchange.rows = Some(rows);
        })
    }

    fn operation(&self, kind: OperationKind) -> Operation {
        Operation {
            id: 0,
            kind,
            name: Arc::from("page"),
            at: Timestamp::from_nanos(1_000_000_000),
            duration: self.now.since(Timestamp::from_nanos(1_000_000_000)),
            turns: self.steps.iter().map(|step| step.exchange.turns).sum(),
            connections: 1,
            attribution: Attribution::default(),
            setup: Duration::ZERO,
            client_after: Duration::ZERO,
            transactions: Vec::new(),
            after_reply: Vec::new(),
            continues: false,
            steps: self.steps.clone(),
        }
    }

    fn found(&self, kind: OperationKind, driver: Option<&str>) -> Vec<Finding> {
        let mut findings = engine();
        findings.fact(&Fact::Closed(outcome(0, self.protocol, driver).into()));
        findings.operation(&self.operation(kind));
        findings.finish().findings
    }

    fn kinds_and_counts(&self, kind: OperationKind) -> Vec<(FindingKind, u64, u64)> {
        self.found(kind, None)
            .into_iter()
            .map(|finding| (finding.kind, finding.count, finding.saves_turns))
            .collect()
    }
}

fn engine() -> Findings {
    Findings::new(Distances {
        rtts: vec![Duration::from_millis(10), Duration::from_millis(40)],
        rate: None,
    })
}

fn endpoint(port: u16) -> Endpoint {
    Endpoint {
        address: IpAddr::V4(Ipv4Addr::LOCALHOST),
        port,
    }
}

fn outcome(id: u32, protocol: Protocol, driver: Option<&str>) -> ConnectionOutcome {
    ConnectionOutcome {
        id: ConnectionId(id),
        client: endpoint(40_000),
        server: endpoint(5432),
        processes: PerSide::default(),
        at: Timestamp::default(),
        duration: TURN,
        decoding: Decoding {
            protocol,
            encrypted: false,
            opaque: None,
        },
        server_version: None,
        driver: driver.map(Arc::from),
        settings: Vec::new(),
        turns: 0,
        exchanges: 0,
        statements: 0,
        rtt: None,
        client_side_rtt: None,
        server_side_rtt: None,
        rtt_source: None,
        ended_by: None,
        totals: ConnectionTotals::default(),
    }
}

const LOOKUP: &str = "select v from t where id = ?";
const INSERT: &str = "insert into t values(?)";
const THINKING: Duration = Duration::from_millis(80);

use FindingKind as Kind;
use OperationKind::{Connection, Http};

#[test]
fn a_loop_over_the_rows_of_the_read_before_is_n_plus_one() {
    let mut made = Made::new(Protocol::Postgres);
    made.asks("select id from t", HASTE, 20);
    for _ in 0..20 {
        made.asks(LOOKUP, Duration::from_millis(3), 1);
    }
    let findings = made.found(Connection, Some("PostgreSQL JDBC Driver"));
    assert_eq!(findings.len(), 1, "{findings:?}");
    let finding = &findings[0];
    assert_eq!((finding.kind, finding.dependent), (Kind::NPlusOne, Some(false)));
    assert_eq!((finding.count, finding.turns, finding.saves_turns), (20, 20, 19));
    assert_eq!(finding.savings[1].saves, Duration::from_millis(40 * 19));
    assert_eq!(finding.driver.as_deref(), Some("PostgreSQL JDBC Driver"));
    assert!(finding.remedy.contains("ANY (?)"), "{}", finding.remedy);
}

#[test]
fn two_reads_in_turn_are_dependent_and_each_is_told_apart() {
    let mut made = Made::new(Protocol::Postgres);
    for _ in 0..10 {
        made.statement("select * from a where id = ?")
            .statement("select * from b where a = ?");
    }
    let findings = made.found(Http, None);
    let kinds: Vec<_> = findings
        .iter()
        .map(|finding| (finding.kind, finding.dependent, finding.saves_turns))
        .collect();
    assert_eq!(kinds, [(Kind::NPlusOne, Some(true), 9); 2]);
}

#[test]
fn pages_on_a_kept_connection_are_no_loop() {
    let mut made = Made::new(Protocol::Postgres);
    for page in 0..200 {
        made.asks(LOOKUP, Duration::from_millis(1 + page % 7), 1);
    }
    assert_eq!(made.kinds_and_counts(Connection), []);
    let mut made = Made::new(Protocol::Postgres);
    made.asks(LOOKUP, THINKING, 1);
    assert_eq!(made.kinds_and_counts(Http), []);
}

#[test]
fn pages_that_prepare_and_ask_and_then_pause_are_no_loop() {
    let mut made = Made::new(Protocol::Mysql);
    for _ in 0..40 {
        made.asks(LOOKUP, THINKING, 1)
            .asks("select w from u where id = ?", HASTE, 1);
    }
    assert_eq!(made.kinds_and_counts(Connection), []);
}

#[test]
fn reads_of_many_rows_are_no_n_plus_one() {
    let mut made = Made::new(Protocol::Postgres);
    for _ in 0..20 {
        made.asks("select * from t where id > ? limit ?", HASTE, 1000);
    }
    assert_eq!(made.kinds_and_counts(Http), []);
}

#[test]
fn haste_alone_is_no_evidence_where_a_load_generator_asks_or_many_clients_do() {
    let mut made = Made::new(Protocol::Postgres);
    for _ in 0..50 {
        made.statement(LOOKUP);
    }
    assert_eq!(made.kinds_and_counts(Connection), [(Kind::NPlusOne, 50, 49)]);
    assert_eq!(made.found(Connection, Some("pgbench")), []);
    let mut findings = engine();
    findings.operation(&made.operation(Connection));
    findings.operation(&Operation {
        id: 1,
        ..made.operation(Connection)
    });
    assert_eq!(findings.finish().findings, []);
}

#[test]
fn rows_written_one_by_one_are_a_batch_where_the_driver_makes_such_batches() {
    let mut made = Made::new(Protocol::Mysql);
    made.statement("begin");
    for _ in 0..200 {
        made.statement(INSERT);
    }
    made.statement("commit");
    let kind = |driver| {
        let findings = made.found(Connection, driver);
        assert_eq!(findings.len(), 1, "{findings:?}");
        assert_eq!((findings[0].count, findings[0].saves_turns), (200, 199));
        findings[0].kind
    };
    assert_eq!(kind(None), Kind::RowByRow);
    assert_eq!(kind(Some("MySQL Connector/J 9.1.0")), Kind::UnrewrittenBatch);
    assert_eq!(kind(Some("MariaDB Connector/J 3.4.1")), Kind::RowByRow);
}

#[test]
fn a_batch_of_more_bytes_than_go_at_once_keeps_more_turns() {
    let mut made = Made::new(Protocol::Mysql);
    made.open = true;
    for _ in 0..20 {
        made.exchange(HASTE, |exchange| {
            exchange.fingerprint = Some(INSERT.into());
            exchange.request_bytes = 2 << 20;
        });
    }
    assert_eq!(made.kinds_and_counts(Connection), [(Kind::RowByRow, 20, 17)]);
}

#[test]
fn pipelined_statements_and_bulk_executions_are_no_waste() {
    let mut made = Made::new(Protocol::Postgres);
    made.open = true;
    for _ in 0..50 {
        made.statement(INSERT);
        made.exchange(Duration::ZERO, |exchange| {
            exchange.fingerprint = Some(INSERT.into());
            exchange.turns = 0;
        });
    }
    assert_eq!(made.kinds_and_counts(Connection), []);
    let mut made = Made::new(Protocol::Postgres);
    for _ in 0..50 {
        made.exchange(HASTE, |exchange| {
            exchange.fingerprint = Some(INSERT.into());
            exchange.executions = 100;
        });
    }
    made.statement("copy t from stdin");
    assert_eq!(made.kinds_and_counts(Http), []);
}

#[test]
fn a_result_in_small_pieces_could_come_in_one() {
    let mut made = Made::new(Protocol::Postgres);
    made.exchange(HASTE, |exchange| {
        exchange.fingerprint = Some("select * from t".into());
        exchange.asked.fetch_rows = Some(10);
    });
    for _ in 0..10 {
        made.exchange(THINKING, |exchange| {
            exchange.fingerprint = Some("select * from t".into());
            exchange.executions = 0;
            exchange.asked.fetches = 1;
            exchange.asked.fetch_rows = Some(10);
        });
    }
    assert_eq!(made.kinds_and_counts(Connection), [(Kind::SmallFetch, 11, 10)]);
}

#[test]
fn a_large_result_keeps_a_turn_for_each_mebibyte() {
    let mut made = Made::new(Protocol::Postgres);
    for _ in 0..10 {
        made.exchange(HASTE, |exchange| {
            exchange.fingerprint = Some("fetch ? from c".into());
            exchange.reply_bytes = 1 << 19;
        });
    }
    assert_eq!(made.kinds_and_counts(Connection), [(Kind::SmallFetch, 10, 5)]);
}

fn prepare(made: &mut Made) {
    made.exchange(HASTE, |exchange| {
        exchange.fingerprint = Some(LOOKUP.into());
        exchange.executions = 0;
        exchange.asked.prepares = 1;
    });
}

#[test]
fn what_is_prepared_to_run_once_costs_a_turn_more() {
    let mut made = Made::new(Protocol::Mysql);
    for _ in 0..4 {
        prepare(&mut made);
        made.asks(LOOKUP, THINKING, 1);
        made.exchange(HASTE, |exchange| {
            exchange.turns = 0;
            exchange.executions = 0;
            exchange.asked.closes = 1;
        });
    }
    assert_eq!(made.kinds_and_counts(Connection), [(Kind::OneShotPrepare, 4, 4)]);
    let mut made = Made::new(Protocol::Mysql);
    prepare(&mut made);
    for _ in 0..4 {
        made.asks(LOOKUP, THINKING, 1);
    }
    assert_eq!(made.kinds_and_counts(Connection), []);
}

#[test]
fn a_transaction_around_one_statement_is_two_turns_too_many() {
    let mut made = Made::new(Protocol::Postgres);
    for _ in 0..10 {
        made.statement("begin")
            .statement("update t set v = ? where id = ?")
            .statement("commit");
    }
    assert_eq!(made.kinds_and_counts(Connection), [(Kind::ControlTurns, 20, 20)]);
}

#[test]
fn a_transaction_of_several_statements_has_its_price_and_one_around_a_copy_too() {
    let mut made = Made::new(Protocol::Postgres);
    for _ in 0..50 {
        made.statement("begin");
        for table in ["a", "b", "c", "d", "e"] {
            made.statement(&format!("update {table} set v = ? where id = ?"));
        }
        made.statement("commit");
    }
    assert_eq!(made.kinds_and_counts(Connection), []);
    let mut made = Made::new(Protocol::Postgres);
    made.statement("begin")
        .statement("copy t from stdin")
        .statement("commit");
    assert_eq!(made.kinds_and_counts(Connection), []);
}

#[test]
fn trials_of_connections_and_settings_made_again_are_turns_of_their_own() {
    let mut made = Made::new(Protocol::Mysql);
    for table in 0..6 {
        made.asks("select ?", THINKING, 1)
            .asks(&format!("select a from t{table} where b = ?"), HASTE, 1);
        made.asks("set autocommit=?", HASTE, 0);
    }
    let told = made.kinds_and_counts(Connection);
    assert_eq!(told, [(Kind::ControlTurns, 6, 6), (Kind::ControlTurns, 5, 5)]);
}

#[test]
fn a_ping_before_each_statement_is_told_as_a_ping() {
    let mut made = Made::new(Protocol::Mysql);
    for table in 0..6 {
        made.exchange(THINKING, |exchange| {
            exchange.executions = 0;
            exchange.request_bytes = 5;
        });
        made.asks(&format!("select a from t{table} where b = ?"), HASTE, 1);
    }
    let findings = made.found(Connection, None);
    assert_eq!(findings.len(), 1, "{findings:?}");
    assert_eq!((findings[0].kind, findings[0].count), (Kind::ControlTurns, 6));
    assert_eq!(findings[0].fingerprint.as_deref(), Some("(ping)"));
    assert!(!findings[0].remedy.contains("BEGIN"), "{}", findings[0].remedy);
}

#[test]
fn a_block_of_statements_is_no_begin_without_an_end() {
    let mut made = Made::new(Protocol::Oracle);
    for _ in 0..12 {
        made.statement("begin pack.run(?); end").statement("commit");
    }
    let told = made.kinds_and_counts(Connection);
    assert!(
        !told.iter().any(|(kind, ..)| *kind == Kind::ControlTurns),
        "{told:?}"
    );
}

#[test]
fn a_poll_with_pauses_is_no_repeated_read() {
    for pause in [Duration::from_secs(1), Duration::from_secs(30)] {
        let mut made = Made::new(Protocol::Postgres);
        for _ in 0..8 {
            for (digest, gap) in [(7, pause), (8, Duration::ZERO)] {
                made.exchange(gap, |exchange| {
                    exchange.fingerprint = Some(format!("select v from t{digest}").into());
                    exchange.asked.request_digest = Some(digest);
                });
            }
        }
        for kind in [Http, Connection] {
            let told = made.kinds_and_counts(kind);
            assert!(
                !told.iter().any(|(kind, ..)| *kind == Kind::RepeatedRead),
                "{told:?}"
            );
        }
    }
}

#[test]
fn the_same_question_with_the_same_answer_is_asked_once_too_often() {
    let mut made = Made::new(Protocol::Postgres);
    for number in 0..8 {
        made.exchange(HASTE, |exchange| {
            exchange.fingerprint = Some(LOOKUP.into());
            exchange.asked.request_digest = Some(7);
            exchange.reply_bytes = 100 + number / 7;
        });
    }
    assert_eq!(made.kinds_and_counts(Http), [(Kind::RepeatedRead, 6, 6)]);
}

#[test]
fn different_constant_queries_without_a_pause_could_go_together() {
    let mut made = Made::new(Protocol::Postgres);
    for table in 0..6 {
        made.statement(&format!("select count(*) from t{table}"));
    }
    assert_eq!(made.kinds_and_counts(Connection), [(Kind::Sequential, 6, 5)]);
    let mut made = Made::new(Protocol::Postgres);
    for table in 0..6 {
        made.statement(&format!("select v from t{table} where id = ?"));
    }
    assert_eq!(made.kinds_and_counts(Http), []);
}

#[test]
fn a_long_row_of_different_statements_is_counted_and_promises_nothing() {
    let row = |tables: u32, again: u32| {
        let mut made = Made::new(Protocol::Postgres);
        for table in 0..tables {
            made.statement(&format!("select v from t{table} where id = ?"));
        }
        for _ in 0..again {
            made.statement("select v from t0 where id = ?");
        }
        made
    };
    assert_eq!(row(34, 0).kinds_and_counts(Http), [(Kind::Sequential, 34, 0)]);
    assert_eq!(row(34, 2).kinds_and_counts(Http), [(Kind::Sequential, 34, 0)]);
    assert_eq!(row(34, 0).kinds_and_counts(Connection), [], "it is not one page");
    assert_eq!(row(19, 0).kinds_and_counts(Http), []);
    let mut made = row(12, 0);
    made.statement("update t set v = ? where id = ?");
    for table in 12..24 {
        made.statement(&format!("select v from t{table} where id = ?"));
    }
    assert_eq!(made.kinds_and_counts(Http), [], "it waits for the write");
    let found = row(34, 0).found(Http, None);
    assert_eq!(found[0].dependent, Some(true));
    assert!(
        found[0].remedy.contains("no saving is claimed"),
        "{}",
        found[0].remedy
    );
}

/// asyncpg sets the session before and after reading types.
#[test]
fn what_a_driver_asks_to_open_a_connection_is_saved_by_a_pool_and_left_out_of_replays() {
    let mut findings = engine();
    let mut steps = Vec::new();
    for id in 0..7 {
        let at = Timestamp::from_nanos(u64::from(id) * 1_000_000_000);
        let (client, server) = (endpoint(40_000), endpoint(5432));
        let connection = ConnectionId(id);
        findings.fact(&Fact::Opened {
            connection,
            at,
            client,
            server,
        });
        let mut made = Made::new(Protocol::Postgres);
        made.connection = id;
        for phase in [Phase::Connect, Phase::Login, Phase::Login] {
            made.exchange(HASTE, |exchange| exchange.phase = phase);
        }
        for text in [
            "select current_setting(?) as cur, set_config(?, ?, false) as new",
            "with RECURSIVE typeinfo_tree(oid) as (select t.oid from pg_catalog.pg_type as t) select oid from typeinfo_tree",
            "select set_config(?, ?, false)",
            LOOKUP,
        ] {
            made.statement(text);
        }
        let mut closed = outcome(id, Protocol::Postgres, Some("asyncpg"));
        closed.at = at;
        findings.fact(&Fact::Closed(closed.into()));
        let found = findings.operation(&Operation {
            id: u64::from(id),
            ..made.operation(Connection)
        });
        let reconnects = found
            .left_out
            .into_iter()
            .filter(|left| left.finding.kind == Kind::Reconnect);
        steps.extend(reconnects.map(|left| left.steps));
    }
    let findings = findings.finish().findings;
    let found: Vec<_> = findings
        .iter()
        .map(|finding| (finding.kind, finding.count, finding.saves_turns))
        .collect();
    assert_eq!(found, [(Kind::Reconnect, 6, 36)]);
    assert_eq!(steps, vec![vec![0, 1, 2, 3, 4, 5]; 6]);
}

/// Seven connections, each with three round trips of login and one of work.
fn connected_anew(protocol: Protocol, driver: Option<&str>) -> Vec<Finding> {
    set_up_anew(protocol, driver, &[])
}

fn set_up_anew(protocol: Protocol, driver: Option<&str>, setup: &[&str]) -> Vec<Finding> {
    let mut findings = engine();
    for id in 0..7 {
        let (client, server) = (endpoint(40_000), endpoint(5432));
        findings.fact(&Fact::Opened {
            connection: ConnectionId(id),
            at: Timestamp::from_nanos(u64::from(id) * 1_000_000_000),
            client,
            server,
        });
        let mut made = Made::new(protocol);
        made.connection = id;
        for phase in [Phase::Connect, Phase::Login, Phase::Login] {
            made.exchange(HASTE, |exchange| exchange.phase = phase);
        }
        for text in setup.iter().chain([&LOOKUP]) {
            made.statement(text);
        }
        let mut closed = outcome(id, protocol, driver);
        closed.at = Timestamp::from_nanos(u64::from(id) * 1_000_000_000);
        findings.fact(&Fact::Closed(closed.into()));
        findings.operation(&Operation {
            id: u64::from(id),
            ..made.operation(Connection)
        });
    }
    findings.finish().findings
}

#[test]
fn connections_made_anew_for_little_work_are_reconnects() {
    let findings = connected_anew(Protocol::Postgres, Some("psql"));
    assert_eq!(findings.len(), 1, "{findings:?}");
    assert_eq!((findings[0].kind, findings[0].count), (Kind::Reconnect, 6));
    assert_eq!((findings[0].saves_turns, findings[0].operations), (18, 6));
}

/// PHP tests or logs in on a kept connection at each use, so part of the opening remains.
#[test]
fn a_remedy_promises_no_turns_that_it_leaves() {
    let findings = connected_anew(Protocol::Mysql, Some("mysqlnd"));
    assert_eq!((findings[0].kind, findings[0].count), (Kind::Reconnect, 6));
    assert_eq!((findings[0].turns, findings[0].saves_turns), (18, 12));
    let saving = &findings[0].savings[0];
    assert_eq!(saving.saves, saving.rtt * 12);
}

/// Scripts set up their session at each use, drivers once per connection.
#[test]
fn settings_that_may_be_the_programs_own_are_not_promised() {
    let setup = ["set autocommit = ?", "show variables like ?", "set names ?"];
    for (protocol, driver, expected) in [
        (Protocol::Mysql, Some("mysqlnd"), [12, 30]),
        (Protocol::Mysql, None, [18, 36]),
        (Protocol::Mysql, Some("MySQL Connector/J"), [36, 36]),
    ] {
        let findings = set_up_anew(protocol, driver, &setup);
        let found = findings.iter().find(|finding| finding.kind == Kind::Reconnect);
        let found = found.unwrap_or_else(|| panic!("{driver:?}: {findings:?}"));
        assert_eq!(
            [found.saves_turns, found.saves_turns_most],
            expected,
            "{driver:?}"
        );
        let saving = &found.savings[0];
        assert_eq!(saving.saves, saving.rtt * expected[0] as u32);
        let bounds = expected.map(|turns| saving.rtt * turns as u32);
        assert_eq!(saving.bounds, (expected[0] < expected[1]).then_some(bounds));
        assert_eq!(found.remedy.contains("program's own"), expected[0] < expected[1]);
    }
}

/// pgjdbc sets these once per connection, under any name.
#[test]
fn settings_of_a_driver_are_saved_by_a_pool() {
    let setup = ["set extra_float_digits = ?", "set application_name = ?"];
    let findings = set_up_anew(Protocol::Postgres, None, &setup);
    let found = findings.iter().find(|finding| finding.kind == Kind::Reconnect);
    let found = found.expect("they are reconnects");
    assert_eq!([found.saves_turns, found.saves_turns_most], [30, 30]);
}

#[test]
fn logins_that_were_refused_are_no_reconnects() {
    let mut findings = engine();
    for id in 0..7 {
        let begun = Timestamp::from_nanos(u64::from(id) * 1_000_000_000);
        findings.fact(&Fact::Opened {
            connection: ConnectionId(id),
            at: begun,
            client: endpoint(40_000),
            server: endpoint(5432),
        });
        let mut made = Made::new(Protocol::Postgres);
        made.connection = id;
        for phase in [Phase::Connect, Phase::Login] {
            made.exchange(HASTE, |exchange| {
                exchange.phase = phase;
                exchange.error = (phase == Phase::Login && id < 6).then(|| "28P01".into());
            });
        }
        for step in &made.steps {
            findings.fact(&Fact::Exchange {
                exchange: step.exchange.clone().into(),
                protocol: Protocol::Postgres,
            });
        }
        let mut closed = outcome(id, Protocol::Postgres, Some("psql"));
        closed.at = begun;
        findings.fact(&Fact::Closed(closed.into()));
        findings.operation(&Operation {
            id: u64::from(id),
            ..made.operation(Connection)
        });
    }
    let findings = findings.finish().findings;
    assert!(findings.is_empty(), "{findings:?}");
}

#[test]
fn a_listener_that_asks_again_costs_a_turn() {
    let mut made = Made::new(Protocol::Oracle);
    for _ in 0..2 {
        made.exchange(HASTE, |exchange| exchange.phase = Phase::Connect);
    }
    assert_eq!(made.kinds_and_counts(Connection), [(Kind::ListenerTurn, 1, 1)]);
}

#[test]
fn requests_that_wait_for_an_acknowledgement_stall() {
    let mut made = Made::new(Protocol::Postgres);
    for _ in 0..10 {
        made.exchange(THINKING, |exchange| {
            exchange.fingerprint = Some(LOOKUP.into());
            exchange.first.request_ended = exchange.at.after(Duration::from_millis(41));
        });
    }
    let findings = made.found(Connection, None);
    assert_eq!((findings[0].kind, findings[0].saves_turns), (Kind::AckStall, 0));
    assert_eq!(findings[0].savings[0].saves, Duration::from_millis(410));
    assert_eq!(findings.len(), 1);
}

#[test]
fn a_transfer_of_64_kib_a_round_trip_waits_for_the_window() {
    let mut made = Made::new(Protocol::Postgres);
    made.exchange(HASTE, |exchange| {
        exchange.fingerprint = Some("select * from t".into());
        exchange.rows = Some(100_000);
        exchange.reply_bytes = 64 * 65_535;
        let first = &mut exchange.first;
        first.reply_bytes = exchange.reply_bytes;
        first.server_side_rtt = Some(Duration::from_millis(10));
        // 64 windows have 63 round trips between them.
        first.reply_ended = first.reply_started.map(|at| at.after(Duration::from_millis(630)));
    });
    let findings = made.found(Connection, None);
    assert_eq!(
        (findings[0].kind, findings[0].saves_turns),
        (Kind::WindowLimited, 0)
    );
    assert_eq!(findings[0].savings[1].saves, Duration::from_millis(40 * 55));
}

#[test]
fn data_that_waits_for_window_updates_is_found() {
    let waits = |count: usize, protocol: Protocol, is_new: bool| {
        let mut made = Made::new(protocol);
        if is_new {
            made.exchange(HASTE, |exchange| {
                exchange.phase = Phase::Connect;
                exchange.request_bytes = 0;
                exchange.reply_bytes = 0;
            });
        }
        made.exchange(HASTE, |exchange| {
            exchange.fingerprint = Some("GET /?".into());
            exchange.more = vec![exchange.first; count];
        });
        let found = made.found(Connection, None).into_iter();
        let mut found = found.filter(|finding| finding.kind == Kind::FlowControl);
        found
            .next()
            .map(|finding| (finding.turns, finding.savings[1].saves))
    };
    let rtts = |count: u64| Duration::from_millis(40 * count);
    assert_eq!(waits(15, Protocol::Http2, false), Some((15, rtts(15))));
    // TCP's window would have to grow too: 1, 3, 7, 15 windows of 64 KiB.
    assert_eq!(waits(15, Protocol::Http2, true), Some((15, rtts(11))));
    assert_eq!(waits(1, Protocol::Http2, false), None);
    assert_eq!(waits(15, Protocol::Postgres, false), None);
}

#[test]
fn compression_is_missed_only_where_rate_and_levels_are_known() {
    let mut made = Made::new(Protocol::Postgres);
    made.exchange(HASTE, |exchange| {
        exchange.fingerprint = Some("select * from t".into());
        exchange.reply_bytes = 1_000_000;
        exchange.levels = Some(Arc::from([AtLevel {
            level: 3,
            tunnel_bytes: PerDirection::new(60, 100_000),
            compressing: PerDirection::new(Duration::ZERO, Duration::from_millis(5)),
            turning_back: PerDirection::splat(Duration::ZERO),
        }]));
    });
    assert_eq!(made.kinds_and_counts(Connection), []);
    let mut findings = Findings::new(Distances {
        rtts: vec![TURN],
        rate: BitRate::parse("8Mbit/s").ok(),
    });
    findings.operation(&made.operation(Connection));
    let findings = findings.finish().findings;
    assert_eq!(findings[0].kind, Kind::NoCompression);
    let saves = findings[0].savings[0].saves;
    assert!(saves.abs_diff(Duration::from_millis(895)) < TURN, "{saves:?}");
}

#[test]
fn a_driver_that_can_compress_and_did_not_ask_is_told_how() {
    let driver = Some("Kingbase8 JDBC Driver");
    let mut findings = engine();
    findings.fact(&Fact::Closed(outcome(0, Protocol::Postgres, driver).into()));
    let mut asked = outcome(1, Protocol::Postgres, driver);
    asked.settings = vec![("comm_compress".into(), "6".into())];
    findings.fact(&Fact::Closed(asked.into()));
    let findings = findings.finish().findings;
    assert_eq!(findings.len(), 1);
    assert_eq!(
        (findings[0].kind, findings[0].count),
        (Kind::CompressionNotAsked, 1)
    );
    assert!(findings[0].remedy.contains("zipLevel"));
}

#[test]
fn a_turn_is_claimed_once() {
    let mut made = Made::new(Protocol::Postgres);
    made.statement("begin");
    for _ in 0..30 {
        made.exchange(HASTE, |exchange| {
            exchange.fingerprint = Some(LOOKUP.into());
            exchange.asked.request_digest = Some(exchange.at.as_nanos() % 3);
        });
        made.statement(INSERT);
    }
    made.statement("commit");
    for kind in [Connection, Http, OperationKind::Transaction, OperationKind::Whole] {
        let findings = made.found(kind, None);
        let claimed: u64 = findings.iter().map(|finding| finding.saves_turns).sum();
        assert!(claimed < 62, "{findings:?}");
        assert_eq!(findings.len(), 2, "{findings:?}");
    }
}

#[test]
fn findings_are_bounded_and_what_is_left_out_is_told() {
    let mut findings = engine();
    for name in 0..ledger::MAX_ENTRIES as u32 + 10 {
        let mut made = Made::new(Protocol::Postgres);
        for _ in 0..6 {
            made.statement(LOOKUP);
        }
        findings.operation(&Operation {
            id: u64::from(name),
            name: Arc::from(format!("page {name}")),
            ..made.operation(Http)
        });
    }
    let found = findings.finish();
    assert_eq!((found.findings.len(), found.left_out), (ledger::MAX_ENTRIES, 10));
}

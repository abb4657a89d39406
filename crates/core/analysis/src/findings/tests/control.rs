//! Round trips without work: each class is found, counted once, and worded.

use super::*;

/// Counts, saved trips and fingerprints, sorted; asserts that no round trip is saved twice.
fn controls(made: &Made, kind: OperationKind) -> Vec<(u64, u64, Option<String>)> {
    let findings = made.found(kind, None);
    let saved: u64 = findings.iter().map(|finding| finding.saves_turns).sum();
    assert!(saved <= made.steps.len() as u64, "{findings:#?}");
    let mut told: Vec<_> = findings
        .into_iter()
        .filter(|finding| finding.kind == Kind::ControlTurns)
        .map(|finding| {
            let text = finding.fingerprint.map(|text| text.to_string());
            (finding.count, finding.saves_turns, text)
        })
        .collect();
    told.sort();
    told
}

fn text(text: &str) -> Option<String> {
    Some(text.to_owned())
}

fn rounds(count: u64, statements: &[&str]) -> Made {
    let mut made = Made::new(Protocol::Postgres);
    for round in 0..count {
        for statement in statements {
            let gap = if statement == &statements[0] {
                THINKING
            } else {
                HASTE
            };
            let statement = statement.replace("TABLE", &format!("t{round}"));
            made.asks(&statement, gap, 1);
        }
    }
    made
}

const WORK: &str = "select a from TABLE where b = ?";

#[test]
fn empty_statements_before_others_are_probes_even_where_they_are_few() {
    for probe in ["", ";", "select ?", "(COM_PING)"] {
        let made = rounds(6, &[probe, WORK, WORK, WORK, WORK, WORK]);
        assert_eq!(controls(&made, Connection), [(6, 6, text(probe))], "{probe}");
        let remedy = &made.found(Connection, Some("PostgreSQL JDBC Driver"))[0].remedy;
        assert!(remedy.contains("aliveBypassWindowMs"), "{remedy}");
    }
}

/// HikariCP tests a new connection once and reads its isolation level.
#[test]
fn a_test_before_a_read_of_the_session_is_not_before_a_statement() {
    let mut made = rounds(6, &["", WORK]);
    made.asks("", THINKING, 0)
        .asks("show transaction isolation level", HASTE, 1);
    assert_eq!(controls(&made, Connection), [(6, 6, text(""))]);
}

/// A pool's keep-alive tests: no client waits for them.
#[test]
fn probes_of_idle_connections_are_none() {
    let mut made = Made::new(Protocol::Mysql);
    for table in 0..9 {
        made.asks("(COM_PING)", THINKING, 0);
        made.asks(&format!("select a from t{table}"), THINKING, 1);
    }
    assert_eq!(controls(&made, Connection), []);
}

#[test]
fn resets_of_a_pool_and_the_settings_made_anew_after_them_can_go() {
    let settings = "set extra_float_digits=?;set ssl_renegotiation_limit=?;select ?";
    let made = rounds(15, &["DISCARD all", settings, WORK]);
    assert_eq!(
        controls(&made, Connection),
        [(15, 15, text("DISCARD all")), (15, 15, text(settings))]
    );
    let remedies = made.found(Connection, None);
    assert!(
        remedies
            .iter()
            .any(|finding| finding.remedy.contains("server_reset_query")),
        "{remedies:#?}"
    );
}

#[test]
fn savepoints_around_one_statement_leave_one_turn() {
    let mut made = Made::new(Protocol::Postgres);
    for _ in 0..10 {
        made.statement("begin");
        for text in ["savepoint s", INSERT, "release savepoint s"] {
            made.statement(text);
        }
        made.asks("commit", HASTE, 0);
        made.now = made.now.after(THINKING);
    }
    let saved: u64 = controls(&made, Connection)
        .iter()
        .map(|(_, saved, _)| saved)
        .sum();
    assert_eq!(saved, 40);
}

#[test]
fn a_transaction_for_a_setting_of_its_own_stays() {
    let mut made = Made::new(Protocol::Postgres);
    for _ in 0..6 {
        for text in [
            "begin",
            "set local app.tenant = ?",
            "select a from t where b = ?",
            "commit",
        ] {
            made.statement(text);
        }
    }
    assert_eq!(controls(&made, Connection), []);
}

#[test]
fn another_database_before_each_statement_could_be_named_in_it() {
    let made = rounds(15, &["(COM_INIT_DB)", WORK]);
    assert_eq!(controls(&made, Connection), [(15, 15, text("(COM_INIT_DB)"))]);
    let remedy = &made.found(Connection, None)[0].remedy;
    assert!(remedy.contains("database.table"), "{remedy}");
}

#[test]
fn what_the_reply_to_a_write_says_needs_no_turn() {
    for read in ["select last_insert_id()", "show warnings"] {
        let made = rounds(7, &["insert into TABLE values(?)", read]);
        assert_eq!(controls(&made, Connection), [(7, 7, text(read))]);
        let made = rounds(7, &[WORK, read]);
        assert_eq!(controls(&made, Connection), [], "{read}");
    }
}

#[test]
fn reads_of_session_settings_are_no_n_plus_one() {
    let read = "select @@session.transaction_read_only";
    let made = rounds(8, &[read, WORK]);
    assert_eq!(controls(&made, Http), [(8, 8, text(read))]);
    let kinds = made.kinds_and_counts(Http);
    assert!(
        kinds.iter().all(|(kind, ..)| *kind == Kind::ControlTurns),
        "{kinds:?}"
    );
}

#[test]
fn rollbacks_where_no_transaction_is_open_can_go() {
    let made = rounds(6, &[WORK, "rollback"]);
    assert_eq!(controls(&made, Connection), [(6, 6, None)]);
}

#[test]
fn commands_queued_one_by_one_need_one_turn() {
    let mut made = Made::new(Protocol::Redis);
    for _ in 0..12 {
        for text in ["MULTI", "SET ? ?", "EXPIRE ? ?", "EXEC"] {
            made.statement(text);
        }
    }
    assert_eq!(controls(&made, Connection), [(12, 36, text("MULTI"))]);
    assert_eq!(made.kinds_and_counts(Connection), [(Kind::ControlTurns, 12, 36)]);
}

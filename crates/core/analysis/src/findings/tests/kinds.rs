//! Kinds that inspect several statements: pages, redirections, stalls, one-shot statements,
//! catalogues, checks.

use super::*;

#[test]
fn pages_of_a_result_are_fetched_piece_by_piece() {
    for (text, words) in [
        ("select a from t order by b limit ? offset ?", "page by page"),
        ("SCAN ? COUNT ?", "raise COUNT"),
        ("(function call loread)", "lo_get"),
    ] {
        let mut made = Made::new(Protocol::Postgres);
        for _ in 0..10 {
            made.asks(text, HASTE, 50);
        }
        let findings = made.found(Http, None);
        let [finding] = &findings[..] else {
            panic!("one: {findings:#?}")
        };
        assert_eq!(
            (finding.kind, finding.count, finding.saves_turns),
            (Kind::SmallFetch, 10, 9)
        );
        assert!(finding.remedy.contains(words), "{}", finding.remedy);
    }
}

#[test]
fn commands_answered_with_another_node_are_redirected() {
    let mut made = Made::new(Protocol::Redis);
    for _ in 0..20 {
        made.exchange(HASTE, |exchange| {
            exchange.fingerprint = Some("GET ?".into());
            exchange.error = Some("MOVED".into());
        });
    }
    assert_eq!(made.kinds_and_counts(Connection), [(Kind::Redirected, 20, 20)]);
}

#[test]
fn a_reply_in_two_parts_stalls_like_a_request() {
    let mut made = Made::new(Protocol::Postgres);
    for _ in 0..6 {
        made.exchange(THINKING, |exchange| {
            exchange.fingerprint = Some(LOOKUP.into());
            let started = exchange.first.reply_started.expect("a reply");
            exchange.first.reply_ended = Some(started.after(Duration::from_millis(44)));
        });
    }
    let findings = made.found(Connection, None);
    assert_eq!((findings[0].kind, findings[0].count), (Kind::AckStall, 6));
    assert_eq!(findings[0].savings[0].saves, Duration::from_millis(6 * 44));
}

/// libpq parses and binds the unnamed statement and never closes it.
#[test]
fn statements_prepared_anew_each_time_are_used_once_though_nothing_closes_them() {
    let mut findings = engine();
    findings.fact(&Fact::Closed(outcome(0, Protocol::Postgres, None).into()));
    for id in 0..6 {
        let mut made = Made::new(Protocol::Postgres);
        made.exchange(THINKING, |exchange| {
            exchange.fingerprint = Some(LOOKUP.into());
            exchange.executions = 0;
            exchange.asked.prepares = 1;
        });
        made.exchange(HASTE, |exchange| {
            exchange.fingerprint = Some(LOOKUP.into());
            exchange.asked.prepared_executions = 1;
        });
        findings.operation(&Operation {
            id,
            ..made.operation(Http)
        });
    }
    let told: Vec<_> = findings
        .finish()
        .findings
        .into_iter()
        .map(|finding| (finding.kind, finding.count, finding.saves_turns))
        .collect();
    assert_eq!(told, [(Kind::OneShotPrepare, 5, 5)]);
}

#[test]
fn the_turn_that_closes_a_statement_used_once_can_go_too() {
    let mut made = Made::new(Protocol::Postgres);
    for _ in 0..15 {
        made.exchange(HASTE, |exchange| {
            exchange.fingerprint = Some(LOOKUP.into());
            exchange.executions = 0;
            exchange.asked.prepares = 1;
        });
        made.exchange(HASTE, |exchange| {
            exchange.fingerprint = Some(LOOKUP.into());
            exchange.asked.prepared_executions = 1;
        });
        made.exchange(HASTE, |exchange| {
            exchange.executions = 0;
            exchange.request_bytes = 12;
            exchange.asked.closes = 1;
        });
    }
    assert_eq!(
        made.kinds_and_counts(Connection),
        [(Kind::OneShotPrepare, 15, 30)]
    );
}

#[test]
fn monitoring_reads_the_catalogue_in_a_row_and_nobody_waits_for_it() {
    let mut made = Made::new(Protocol::Postgres);
    for table in [
        "pg_stat_activity",
        "pg_stat_database",
        "pg_stat_bgwriter",
        "pg_locks",
    ] {
        for _ in 0..2 {
            made.statement(&format!("select * from {table}"));
        }
    }
    assert_eq!(made.kinds_and_counts(Http), []);
}

#[test]
fn catalogue_reads_of_a_first_page_are_none_and_those_of_every_page_are() {
    for (pages, expected) in [(1, &[][..]), (6, &[(Kind::NPlusOne, 60, 54)][..])] {
        let mut findings = engine();
        for id in 0..pages {
            let mut made = Made::new(Protocol::Postgres);
            for _ in 0..10 {
                made.statement("select a from pg_attribute where attrelid = ?");
            }
            findings.operation(&Operation {
                id,
                ..made.operation(Http)
            });
        }
        let found = findings.finish().findings.into_iter();
        let told: Vec<_> = found
            .map(|finding| (finding.kind, finding.count, finding.saves_turns))
            .collect();
        assert_eq!(told, expected);
    }
}

/// A pool that takes its connection back after each statement.
#[test]
fn a_loop_over_the_connections_of_a_pool_is_n_plus_one_unless_it_ran_at_once() {
    for (overlap, expected) in [(false, &[(Kind::NPlusOne, 8, 7)][..]), (true, &[][..])] {
        let mut made = Made::new(Protocol::Postgres);
        for connection in 0..8 {
            made.connection = connection;
            made.statement(LOOKUP);
            if overlap {
                made.now = Timestamp::from_nanos(1_000_000_000);
            }
        }
        let mut findings = engine();
        findings.operation(&Operation {
            connections: 8,
            ..made.operation(Http)
        });
        let found = findings.finish().findings.into_iter();
        let told: Vec<_> = found
            .map(|finding| (finding.kind, finding.count, finding.saves_turns))
            .collect();
        assert_eq!(told, expected, "{overlap}");
    }
}

/// The head, then the rest after `span`, of which the server computes for `inside`.
fn page(id: u64, span: Duration, inside: Duration) -> Operation {
    let mut made = Made::new(Protocol::Http);
    made.exchange(THINKING, |exchange| {
        exchange.fingerprint = Some("POST /runs".into());
        let started = exchange.first.reply_started.expect("a reply");
        exchange.first.reply_ended = Some(started.after(span));
        exchange.first.reply_bytes = 202;
        exchange.first.server_inside_reply = inside;
    });
    Operation {
        id,
        ..made.operation(Http)
    }
}

#[test]
fn a_web_servers_response_stalls_where_its_rest_waits_for_the_acknowledgement() {
    let found = |span: u64, inside: u64| {
        let mut findings = engine();
        for id in 0..6 {
            findings.operation(&page(
                id,
                Duration::from_millis(span),
                Duration::from_millis(inside),
            ));
        }
        findings.finish().findings
    };
    let findings = found(45, 1);
    assert_eq!((findings[0].kind, findings[0].count), (Kind::AckStall, 6));
    assert_eq!(findings[0].savings[0].saves, Duration::from_millis(6 * 44));
    assert!(
        findings[0].remedy.contains("web server"),
        "{}",
        findings[0].remedy
    );
    assert_eq!(found(44, 43), [], "it computed");
    assert_eq!(found(1_200, 0), [], "no delayed acknowledgement takes so long");
}

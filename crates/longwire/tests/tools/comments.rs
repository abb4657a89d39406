//! Statement comments with identifiers, which defeat prepared statements: behaviour and cost of
//! real drivers.

use serde_json::Value;
use std::path::Path;
use testbed::binary::{self, longwire, number, records};
use testbed::{Postgres, python};

/// Findings and round trips of pages by `library` with `comment` in each statement.
fn watched(server: &Postgres, library: &str, comment: &str) -> (Vec<Value>, u64) {
    let programs = python::environment(&["psycopg[binary]==3.2.13", "asyncpg==0.30.0"]);
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/comments/pages.py");
    let mut watch = longwire(&["watch", "--json", "--rtt", "40ms", &server.url(), "--"]);
    let output = watch
        .arg(programs.join("python3"))
        .arg(script)
        .args([library, comment])
        .output()
        .expect("the binary starts");
    binary::done(&output);
    let records = records(&output);
    let findings = binary::of_type(&records, "finding").into_iter();
    let findings = findings
        .filter(|finding| finding["kind"] == "comment-defeats-cache")
        .cloned()
        .collect();
    let statements = binary::of_type(&records, "statement").into_iter();
    let reads = statements.filter(|statement| {
        let fingerprint = statement["fingerprint"].as_str();
        fingerprint.is_some_and(|text| text.contains("from items"))
    });
    (findings, reads.map(|statement| number(statement, "turns")).sum())
}

fn server() -> Postgres {
    let server = Postgres::start();
    server.sql("create table items as select id, 'item ' || id as name from generate_series(0, 100) id");
    server
}

/// The claim equals the saving when comments only contain the route.
#[test]
fn a_trace_in_the_comment_costs_the_turn_of_preparing() {
    let server = server();
    for library in ["asyncpg", "psycopg"] {
        let (findings, with) = watched(&server, library, "trace");
        let [finding] = &findings[..] else {
            panic!("{library}: one: {findings:#?}")
        };
        let saves = number(finding, "saves_turns");
        assert!((27..30).contains(&saves), "{library}: {finding}");
        assert!(
            number(finding, "saves_ns").abs_diff(saves * 40_000_000) < saves * 2_000_000,
            "{finding}"
        );
        assert!(finding["remedy"].to_string().contains("route"), "{finding}");
        assert!(!finding.to_string().contains("traceparent"), "{finding}");
        let (findings, without) = watched(&server, library, "route");
        assert_eq!(findings, [] as [Value; 0], "{library}");
        let saved = with - without;
        assert!(
            (saves..saves + 3).contains(&saved),
            "{library}: {saved} of {with}, {saves} claimed"
        );
    }
}

/// Free of cost without prepared statements.
#[test]
fn a_trace_in_the_comment_of_what_is_never_prepared_is_no_finding() {
    let (findings, _) = watched(&server(), "unprepared", "trace");
    assert_eq!(findings, [] as [Value; 0]);
}

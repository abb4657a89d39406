//! Waste in captures (`data/waste`) with counts known by construction or by the server.

use serde_json::Value;
use std::path::Path;
use testbed::binary;

fn read_records(name: &str) -> Vec<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data")
        .join(name);
    let path = path.display().to_string();
    let output = binary::run(&["read", "--json", "--rtt", "40ms", &path]);
    binary::done(&output);
    binary::records(&output)
}

/// Kind, statement, count and round trips saved of each finding, sorted. Excludes n+1, as queries
/// of some captures are loops too.
fn found(name: &str) -> Vec<(String, String, u64, u64)> {
    let records = read_records(name);
    let findings = records
        .iter()
        .filter(|record| record["type"] == "finding" && record["kind"] != "n+1");
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let number = |value: &Value| value.as_u64().expect("a count");
    let mut found: Vec<_> = findings
        .map(|finding| {
            (
                text(&finding["kind"]),
                text(&finding["fingerprint"]),
                number(&finding["count"]),
                number(&finding["saves_turns"]),
            )
        })
        .collect();
    found.sort();
    found.dedup_by(|one, sum| {
        let is_same = (&one.0, &one.1) == (&sum.0, &sum.1);
        if is_same {
            (sum.2, sum.3) = (sum.2 + one.2, sum.3 + one.3);
        }
        is_same
    });
    found
}

#[test]
fn round_trips_without_work_are_counted_once_each() {
    let settings = "set extra_float_digits=?;set ssl_renegotiation_limit=?;select ?";
    type Found<'a> = (&'a str, &'a str, u64, u64);
    let expected: [(&str, &[Found<'_>]); 10] = [
        (
            "pool-resets",
            &[
                ("control-round-trips", "DISCARD all", 15, 15),
                ("control-round-trips", settings, 15, 15),
            ],
        ),
        (
            "savepoints",
            &[
                ("control-round-trips", "", 20, 20),
                ("control-round-trips", "release savepoint \"s1\"", 10, 10),
                ("control-round-trips", "savepoint \"s1\"", 10, 10),
            ],
        ),
        ("init-db", &[("control-round-trips", "(COM_INIT_DB)", 15, 15)]),
        ("hikaricp-isvalid", &[("control-round-trips", "", 15, 15)]),
        ("redis-multi-exec", &[("control-round-trips", "MULTI", 12, 36)]),
        (
            "prepare-execute-close",
            &[(
                "one-shot-prepare",
                "select name from customers where id=?",
                15,
                30,
            )],
        ),
        ("redis-moved", &[("redirected", "", 20, 20)]),
        (
            "large-object",
            &[("small-fetch", "(function call loread)", 10, 9)],
        ),
        (
            "stalled-replies",
            &[("ack-stall", "select name from customers where id=?", 30, 0)],
        ),
        ("health-checks-mysql", &[]),
    ];
    for (name, expected) in expected {
        let found = found(&format!("waste/{name}.pcap.gz"));
        let found: Vec<_> = found
            .iter()
            .map(|(kind, text, count, saves)| (kind.as_str(), text.as_str(), *count, *saves))
            .collect();
        assert_eq!(found, expected, "{name}");
    }
}

/// Compares eight connections with one statement each to eight statements on one connection, by
/// changes of direction in captures. A connection costs 6 round trips with pgjdbc 42.7 and with
/// Connector/J 9.1 (SCRAM, settings and reads of them), and 3 with mysql2 and go-sql-driver. With
/// TLS it costs 4, known without keys, as login is the first round trip inside.
#[test]
fn what_drivers_ask_to_open_a_connection_is_saved_by_a_pool() {
    for (name, saves) in [
        ("pgjdbc", 42),
        ("connector-j", 42),
        ("mysql2", 21),
        ("go-sql-driver", 21),
        ("mysql2-tls", 28),
    ] {
        let records = read_records(&format!("waste/connect-{name}.pcap.gz"));
        let found: Vec<_> = records
            .iter()
            .filter(|record| record["type"] == "finding" && record["kind"] == "reconnect")
            .map(|found| {
                let number = |key: &str| found[key].as_u64();
                (
                    number("count"),
                    number("turns"),
                    number("saves_turns"),
                    number("saves_turns_most"),
                )
            })
            .collect();
        assert_eq!(found, [(Some(7), Some(saves), Some(saves), None)], "{name}");
    }
}

/// A megabyte in 16 windows of 64 KiB has 15 round trips between windows.
#[test]
fn a_megabyte_through_a_small_window_is_limited_by_it() {
    let [(kind, _, count, _)] = &found("evidence/window.pcap.gz")[..] else {
        panic!("one finding")
    };
    assert_eq!((kind.as_str(), *count), ("window-limited", 1));
}

#[test]
fn statements_prepared_before_the_capture_are_rows_and_loops() {
    let records = read_records("evidence/prepared-before.pcap");
    let of = |kind: &'static str| records.iter().filter(move |record| record["type"] == kind);
    let rows: Vec<_> = of("statement")
        .map(|row| (row["fingerprint"].as_str(), row["turns"].as_u64()))
        .collect();
    assert_eq!(
        rows,
        [
            (Some("(prepared S_1)"), Some(12)),
            (Some("(prepared S_2)"), Some(4))
        ]
    );
    let loops: Vec<_> = of("finding")
        .map(|finding| {
            (
                finding["kind"].as_str(),
                finding["count"].as_u64(),
                finding["saves_turns"].as_u64(),
            )
        })
        .collect();
    assert_eq!(loops, [(Some("n+1"), Some(12), Some(11))]);
}

/// A page of Node's pg with 36 different statements, each with a parameter, six times.
#[test]
fn a_page_of_many_different_statements_is_counted() {
    let name = "waste/page-of-different-statements.pcap.gz";
    let records = read_records(name);
    let found: Vec<_> = records
        .iter()
        .filter(|record| record["type"] == "finding")
        .map(|finding| {
            (
                finding["kind"].as_str(),
                finding["operations"].as_u64(),
                finding["count"].as_u64(),
                finding["saves_turns"].as_u64(),
            )
        })
        .collect();
    assert_eq!(found, [(Some("sequential"), Some(6), Some(216), Some(0))]);
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data")
        .join(name);
    let output = testbed::binary::run(&["read", &path.display().to_string()]);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let said = binary::unwrapped(&said);
    assert!(
        said.contains("36 different statements of it run one after another"),
        "{said}"
    );
    assert!(!said.contains("no wasteful pattern"), "{said}");
}

#[test]
fn the_rows_of_statements_sum_to_the_turns_of_the_run() {
    for name in [
        "prepare-execute-close",
        "init-db",
        "large-object",
        "health-checks-mysql",
    ] {
        let records = read_records(&format!("waste/{name}.pcap.gz"));
        let of = |kind: &'static str| records.iter().filter(move |record| record["type"] == kind);
        let sum: u64 = of("statement").filter_map(|row| row["turns"].as_u64()).sum();
        let summary = of("summary").next().expect("a summary");
        assert_eq!(Some(sum), summary["turns"].as_u64(), "{name}");
    }
}

#[test]
fn the_first_sentence_takes_away_what_the_findings_below_it_do() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/waste/hikaricp-isvalid.pcap.gz");
    let output = binary::run(&["read", "--all", "--rtt", "40ms", &path.display().to_string()]);
    binary::done(&output);
    let text = String::from_utf8_lossy(&output.stdout).replace('\n', " ");
    let words: Vec<&str> = text.split_whitespace().collect();
    let after = |mark: &[&str]| {
        let at = words.windows(mark.len()).position(|window| window == mark);
        let at = at.unwrap_or_else(|| panic!("{mark:?} is not in\n{text}")) + mark.len();
        let duration = format!("{} {}", words[at], words[at + 1]);
        duration.trim_end_matches('.').to_owned()
    };
    // The loop of fifteen queries is not a finding, because the client pauses within it. It stays
    // in the rest.
    assert_eq!(after(&["and", "it", "takes"]), after(&["->"]), "{text}");
}

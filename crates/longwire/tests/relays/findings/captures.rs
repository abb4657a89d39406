//! Findings in captures of real drivers.

use crate::findings::{done, longwire, number, of_type, records};
use serde_json::Value;
use std::path::Path;

fn read_records(file: &str, more: &[&str]) -> Vec<Value> {
    let captures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/captures");
    let mut read = longwire(&["read", "--json", "--rtt", "40ms"]);
    records(&done(read.args(more).arg(captures.join(file))))
}

fn findings(file: &str, kind: &str) -> Vec<Value> {
    let mut findings = of_type(&read_records(file, &[]), "finding");
    findings.retain(|finding| finding["kind"] == kind);
    findings
}

/// 200 rows in one batch take 200 round trips instead of one.
#[test]
fn a_batch_that_is_not_rewritten_costs_199_turns() {
    let found = findings(
        "mysqljdbc910-mariadb10.11-serverprep-cursor.pcap",
        "unrewritten-batch",
    );
    let [finding] = &found[..] else {
        panic!("one: {found:#?}")
    };
    assert_eq!(
        (number(finding, "count"), number(finding, "saves_turns")),
        (200, 199),
        "{finding}"
    );
    assert_eq!(number(finding, "rtt_ns"), 40_000_000);
    // Replayed without them: 199 round trips, plus less wake-up time on both sides.
    let saves = number(finding, "saves_ns").abs_diff(199 * 40_000_000);
    assert!(saves < 199 * 40_000_000 / 20, "{finding}");
    assert!(
        number(finding, "saves_low_ns") < number(finding, "saves_high_ns"),
        "{finding}"
    );
    assert!(
        finding["driver"].to_string().contains("MySQL Connector/J"),
        "{finding}"
    );
    assert!(
        finding["remedy"]
            .to_string()
            .contains("rewriteBatchedStatements=true"),
        "{finding}"
    );
}

#[test]
fn a_batch_that_is_sent_at_once_is_no_finding() {
    for file in [
        "mysqljdbc910-mariadb10.11-rewritebatch-compress.pcap",
        "mariadbjdbc341-mariadb10.11-plain.pcap",
        "mariadbjdbc341-mariadb10.11-serverprep.pcap",
        "mariadbjdbc341-mariadb10.11-compress.pcap",
        "pgjdbc4274-pg15-trust.pcap",
        "derbyclient10161-derby.pcap",
    ] {
        for kind in ["unrewritten-batch", "row-by-row"] {
            assert_eq!(findings(file, kind), Vec::<Value>::new(), "{file}");
        }
    }
}

/// 500 rows with three buffer sizes: smaller buffers need more round trips.
#[test]
fn informix_tells_its_fetch_buffer_and_the_turns_it_costs() {
    for (buffer, turns) in [(4096, 7), (8192, 4), (32767, 2)] {
        let file = format!("ifxjdbc-4.50.10-synthetic-server-fetbuf{buffer}.pcap");
        let seen = read_records(&file, &["--exchanges"]);
        let fetches: Vec<Value> = of_type(&seen, "exchange")
            .into_iter()
            .filter(|exchange| {
                exchange["fingerprint"] == "select id, v from t_lw order by id" && exchange["rows"].is_u64()
            })
            .collect();
        assert_eq!(fetches.len(), turns, "{buffer}");
        assert_eq!(
            fetches.iter().map(|fetch| number(fetch, "rows")).sum::<u64>(),
            500
        );
        assert!(
            fetches
                .iter()
                .all(|fetch| fetch["asked"]["fetch_bytes"] == buffer),
            "{buffer}: {fetches:#?}"
        );
        let connection = of_type(&seen, "connection");
        assert_eq!(
            connection[0]["settings"]["FET_BUF_SIZE"],
            buffer.to_string(),
            "{connection:?}"
        );
    }
}

/// `ziplevel` instead of `zipLevel`: the driver ignores it silently and does not compress.
#[test]
fn a_driver_that_did_not_ask_for_compression_is_found() {
    for file in ["kb860-pg15-ziplevel-lowercase.pcap", "kb901-pg15-ziplevel.pcap"] {
        let found = findings(file, "compression-not-asked");
        let [finding] = &found[..] else {
            panic!("{file}, one: {found:#?}")
        };
        assert!(finding["remedy"].to_string().contains("zipLevel"), "{finding}");
    }
    for file in [
        "kb860-pg15-zipLevel6.pcap",
        "kb901-pg15-zipLevel.pcap",
        "pgjdbc4274-pg15-trust.pcap",
    ] {
        assert_eq!(
            findings(file, "compression-not-asked"),
            Vec::<Value>::new(),
            "{file}"
        );
    }
}

/// A listener that requests a resend.
#[test]
fn a_listener_that_says_resend_costs_a_turn() {
    for driver in ["ojdbc11-23.5", "oracledb-thin"] {
        let found = findings(
            &format!("{driver}-connect-resend-refuse.pcap"),
            "listener-round-trip",
        );
        let [finding] = &found[..] else {
            panic!("{driver}, one: {found:#?}")
        };
        assert_eq!(
            (number(finding, "saves_turns"), number(finding, "saves_ns")),
            (1, 40_000_000),
            "{finding}"
        );
        assert_eq!(
            findings(&format!("{driver}-connect-refuse.pcap"), "listener-round-trip"),
            Vec::<Value>::new()
        );
    }
}

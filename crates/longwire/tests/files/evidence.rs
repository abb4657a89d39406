//! Headlines, predictions and budgets of incomplete captures claim nothing beyond the evidence.

use serde_json::Value;
use std::path::Path;
use testbed::binary;

fn data(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data/evidence")
        .join(name);
    path.display().to_string()
}

fn text(words: &[&str]) -> (Option<i32>, String) {
    let output = binary::run(words);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    (output.status.code(), binary::unwrapped(&said))
}

fn read_report(name: &str) -> String {
    text(&["read", &data(name)]).1
}

fn check(name: &str, budgets: &[&str]) -> (Option<i32>, String) {
    let file = data(name);
    text(&[&["check", &file], budgets].concat())
}

fn records(words: &[&str]) -> Vec<Value> {
    let output = binary::run(&[words, &["--json"]].concat());
    let text = String::from_utf8(output.stdout).expect("records are text");
    let record = |line| serde_json::from_str(line).expect("a record");
    text.lines().map(record).collect()
}

#[test]
fn warnings_of_records_are_printed_on_stderr_with_the_prefix() {
    let words = ["read", &data("prepared-before.pcap")];
    let records = records(&words);
    let warnings = records.iter().filter(|record| record["type"] == "warning");
    let expected: String = warnings
        .map(|warning| {
            format!(
                "longwire: warning: {}\n",
                warning["text"].as_str().expect("a text")
            )
        })
        .collect();
    assert!(!expected.is_empty());
    let output = binary::run(&[&words[..], &["--json"]].concat());
    assert_eq!(binary::stderr(&output), expected);
}

#[test]
fn statements_prepared_before_the_capture_are_none_that_were_seen() {
    let said = read_report("prepared-before.pcap");
    assert!(
        said.contains("for 16 round trips. 1 change")
            && said
                .contains("statements of 16 of 16 round trips were not seen (prepared before the capture)"),
        "{said}"
    );
    assert!(!said.contains("no wasteful pattern"), "{said}");
    let records = records(&["read", &data("prepared-before.pcap"), "--exchanges"]);
    let of = |kind: &'static str| records.iter().filter(move |record| record["type"] == kind);
    assert_eq!(
        of("exchange")
            .filter(|record| record["not_seen"] == "prepared_before")
            .count(),
        16
    );
    let summary = of("summary").next().expect("a summary");
    assert_eq!(summary["evidence"]["prepared_before"], 16);
}

/// Two pooled connections run statements prepared before the capture. A third connection later
/// prepares two of the names, and one of the two prepares the third name again after DEALLOCATE.
#[test]
fn a_statement_prepared_before_the_capture_has_the_text_of_a_later_preparation() {
    let file = data("prepared-again.pcap.gz");
    let folder = tempfile::tempdir().expect("a directory");
    let recording = folder.path().join("again.lwr").display().to_string();
    let captured = records(&["read", &file, "--exchanges"]);
    let lines: String = captured.iter().map(|record| format!("{record}\n")).collect();
    std::fs::write(&recording, lines).expect("a recording");
    for records in [captured, records(&["read", &recording])] {
        let of = |kind: &'static str| records.iter().filter(move |record| record["type"] == kind);
        let rows: Vec<_> = of("statement")
            .filter(|row| !row["text_source"].is_null())
            .map(|row| {
                let fingerprint = row["fingerprint"].as_str().expect("a text");
                (fingerprint, row["calls"].as_u64(), row["text_source"].as_str())
            })
            .collect();
        assert_eq!(
            rows,
            [
                (
                    "select id, name, price from article where id = ?",
                    Some(14),
                    Some("another_connection")
                ),
                (
                    "select id from article where name = ?",
                    Some(7),
                    Some("same_connection")
                ),
                (
                    "update article set price = price + ? where id = ?",
                    Some(3),
                    Some("another_connection")
                ),
            ]
        );
        assert_eq!(of("recognised").count(), 3);
        let unseen = |row: &&Value| {
            row["fingerprint"]
                .as_str()
                .is_some_and(|text| text.starts_with("(prepared "))
        };
        assert_eq!(of("statement").filter(unseen).count(), 0);
        let sum: u64 = of("statement").filter_map(|row| row["turns"].as_u64()).sum();
        let summary = of("summary").next().expect("a summary");
        assert_eq!(Some(sum), summary["turns"].as_u64());
    }
    let said = text(&["read", "--all", &data("prepared-again.pcap.gz")]).1;
    assert!(
        said.contains("2 statements prepared before the capture: text known because another connection prepared the same name"),
        "{said}"
    );
}

#[test]
fn a_budget_without_its_evidence_is_not_judged() {
    let (status, said) = check("prepared-before.pcap", &["--forbid", "repeated-read"]);
    assert_eq!(status, Some(2), "{said}");
    assert!(
        said.contains(
            "not judged: forbid of (prepared S_1) ... (prepared S_2) (2 statements): statements of 16 of 16"
        ),
        "{said}"
    );
    let allowed = ["--forbid", "repeated-read", "--allow-unseen"];
    let (status, said) = check("prepared-before.pcap", &allowed);
    assert_eq!(status, Some(0), "{said}");
    let (status, said) = check("prepared-before.pcap", &["--forbid", "n+1"]);
    assert_eq!(status, Some(1), "{said}");
}

#[test]
fn round_trips_inside_tls_are_counted_and_their_statements_are_not_judged() {
    assert!(
        read_report("encrypted.pcap").contains("statements of 4 of 4 round trips were not seen (encrypted)"),
        "{}",
        read_report("encrypted.pcap")
    );
    assert_eq!(check("encrypted.pcap", &["--max-round-trips", "8"]).0, Some(0));
    assert_eq!(check("encrypted.pcap", &["--forbid", "n+1"]).0, Some(2));
    assert_eq!(check("encrypted.pcap", &["--max-held", "1s"]).0, Some(2));
    let (status, said) = check("encrypted.pcap", &["--max-round-trips", "7", "--forbid", "n+1"]);
    assert_eq!(status, Some(1), "{said}");
    assert!(
        said.contains("1 broken, 0 kept, 1 not judged")
            || said.contains("1 budget broken, 0 kept, 1 not judged"),
        "{said}"
    );
}

#[test]
fn requests_alone_have_no_predicted_duration() {
    let said = read_report("http-alone.pcap");
    assert!(
        said.starts_with("No round trip to a database or a called service was seen, so the cost"),
        "{said}"
    );
    assert!(!said.contains("median at an rtt"), "{said}");
    let predictions = records(&["read", &data("http-alone.pcap")]);
    assert!(predictions.iter().all(|record| record["type"] != "prediction"));
    let (status, said) = check(
        "http-alone.pcap",
        &["--max-round-trips", "20", "--max-predicted", "2s@40ms"],
    );
    assert_eq!(status, Some(2), "{said}");
    let moved = records(&["predict", &data("http-alone.pcap"), "--on", "http"]);
    assert!(moved.iter().any(|record| record["type"] == "prediction"));
}

#[test]
fn the_figures_of_the_first_sentence_are_one_operation_s() {
    let said = read_report("unlike.pcap.gz");
    assert!(
        said.starts_with("At 40.0 ms, connect, select ?, repeated (the longest of 2) takes 12."),
        "{said}"
    );
    assert!(said.contains("instead of 301 ms, for 302 round trips"), "{said}");
}

fn predicted(name: &str, rtt: &str) -> (f64, String) {
    let records = records(&["predict", &data(name), "--rtt", rtt, "--operations", "connection"]);
    let mut found = records.iter().filter(|record| record["type"] == "prediction");
    let one = found.next().expect("a prediction");
    assert!(found.next().is_none(), "one operation");
    let millis = one["duration_ns"].as_f64().expect("a duration") / 1e6;
    (millis, one["bound_by"].as_str().expect("a word").to_owned())
}

#[test]
fn bytes_held_back_for_an_acknowledgement_are_held_back_everywhere() {
    // Thirty queries of a server without TCP_NODELAY. Measured: 1342 ms over loopback, 1330 ms at 1
    // ms, 1570 ms at 10 ms.
    for (rtt, measured) in [("15us", 1342.0), ("1ms", 1330.0), ("10ms", 1570.0)] {
        let (millis, bound) = predicted("held-back-by-server.pcap.gz", rtt);
        assert!(
            (millis / measured - 1.0).abs() < 0.1,
            "{rtt}: {millis} ms, measured {measured} ms"
        );
        assert_eq!(bound, "delayed_acks");
    }
    let (millis, _) = predicted("held-back-by-client.pcap.gz", "205us");
    assert!(
        (millis / 492.0 - 1.0).abs() < 0.05,
        "{millis} ms where it was measured"
    );
}

#[test]
fn a_window_that_limits_limits_everywhere() {
    // 1 MB in 16 bursts of 64 KiB at 40 ms: 15 round trips. The prediction includes slow start,
    // which this sender skipped.
    let (millis, bound) = predicted("window.pcap.gz", "40ms");
    assert!((millis / 741.0 - 1.0).abs() < 0.12, "{millis} ms");
    assert_eq!(bound, "window");
    let (twice, _) = predicted("window.pcap.gz", "80ms");
    assert!(
        (1.9..2.1).contains(&(twice / millis)),
        "{twice} ms and {millis} ms"
    );
}

#[test]
fn unlike_operations_have_no_median_and_no_slope() {
    let (_, said) = text(&[
        "predict",
        &data("unlike.pcap.gz"),
        "--rtt",
        "40ms",
        "--operations",
        "connection",
    ]);
    assert!(
        said.contains(
            "4 operations are unlike (typical 3 round trips, longest 302 round trips), so no median is predicted"
        ),
        "{said}"
    );
    assert!(!said.contains("Each millisecond"), "{said}");
}

#[test]
fn a_baseline_without_a_common_name_compares_nothing() {
    let [now, before] = ["redis7-session.pcap", "db2jcc1159-derby.pcap"]
        .map(|name| format!("{}/tests/data/captures/{name}", env!("CARGO_MANIFEST_DIR")));
    let output = binary::run(&["check", &now, "--baseline", &before]);
    assert_eq!(output.status.code(), Some(2), "{}", binary::shown(&output));
    assert!(
        binary::unwrapped(&binary::stdout(&output))
            .contains("no operation has a name of before, so none was compared"),
        "{}",
        binary::shown(&output)
    );
}

//! Nothing is said that was not seen: first sentences, predictions and budgets of captures in which something is missing.

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
    (
        output.status.code(),
        said.split_whitespace().collect::<Vec<_>>().join(" "),
    )
}

fn read(name: &str) -> String {
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
fn statements_prepared_before_the_capture_are_none_that_were_seen() {
    let said = read("prepared-before.pcap");
    assert!(
        said.contains(
            "for 16 turns; statements of 16 of 16 round trips were not seen (prepared before the capture)."
        ),
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

#[test]
fn a_budget_without_its_evidence_is_not_judged() {
    let (status, said) = check("prepared-before.pcap", &["--forbid", "n+1"]);
    assert_eq!(status, Some(2), "{said}");
    assert!(
        said.contains("not judged: forbid of connection to 10.0.0.2:5432: statements of 16 of 16"),
        "{said}"
    );
    let (status, said) = check("prepared-before.pcap", &["--forbid", "n+1", "--allow-unseen"]);
    assert_eq!(status, Some(0), "{said}");
}

#[test]
fn round_trips_inside_tls_are_counted_and_their_statements_are_not_judged() {
    assert!(
        read("encrypted.pcap").contains("statements of 4 of 4 round trips were not seen (encrypted)"),
        "{}",
        read("encrypted.pcap")
    );
    assert_eq!(check("encrypted.pcap", &["--max-turns", "8"]).0, Some(0));
    assert_eq!(check("encrypted.pcap", &["--forbid", "n+1"]).0, Some(2));
    assert_eq!(check("encrypted.pcap", &["--max-held", "1s"]).0, Some(2));
    // What is broken is broken, whatever else was not seen.
    let (status, said) = check("encrypted.pcap", &["--max-turns", "7", "--forbid", "n+1"]);
    assert_eq!(status, Some(1), "{said}");
    assert!(
        said.contains("1 broken, 0 kept, 1 not judged")
            || said.contains("1 budget broken, 0 kept, 1 not judged"),
        "{said}"
    );
}

#[test]
fn requests_alone_have_no_predicted_duration() {
    let said = read("http-alone.pcap");
    assert!(
        said.starts_with("No round trip to a database was seen, so nothing is said about distance"),
        "{said}"
    );
    assert!(!said.contains("median at an rtt"), "{said}");
    let predictions = records(&["read", &data("http-alone.pcap")]);
    assert!(predictions.iter().all(|record| record["type"] != "prediction"));
    let (status, said) = check(
        "http-alone.pcap",
        &["--max-turns", "20", "--max-predicted", "2s@40ms"],
    );
    assert_eq!(status, Some(2), "{said}");
    // Where the requests themselves move, there is one.
    let moved = records(&["predict", &data("http-alone.pcap"), "--on", "http"]);
    assert!(moved.iter().any(|record| record["type"] == "prediction"));
}

#[test]
fn the_figures_of_the_first_sentence_are_one_operation_s() {
    // Connections of 1, 1, 2 and 300 queries.
    let said = read("unlike.pcap.gz");
    assert!(
        said.starts_with("At 40.0 ms, connection to 10.0.0.2:5432 (the longest of 4) takes 12."),
        "{said}"
    );
    assert!(said.contains("instead of 301 ms, for 302 turns"), "{said}");
}

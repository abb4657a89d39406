//! `read --baseline`.

use serde_json::Value;
use std::path::Path;
use testbed::binary::{csv, of_type, records, run, stderr, stdout};

fn capture(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/captures");
    folder.join(name).display().to_string()
}

#[test]
fn a_run_does_not_differ_from_itself() {
    let path = capture("pgjdbc4274-pg15-trust.pcap");
    let all = records(&run(&["read", &path, "--baseline", &path, "--json"]));
    let pairs = of_type(&all, "comparison");
    assert!(pairs.len() > 1, "{all:?}");
    for pair in &pairs {
        assert_eq!(pair["operations"], pair["operations_before"]);
        assert_eq!(pair["turns"], pair["turns_before"]);
        assert_ne!(pair["beyond_scatter"], Value::Bool(true), "{pair}");
    }
    let rows = csv(&run(&["read", &path, "--baseline", &path, "--csv", "comparison"]));
    assert_eq!(rows.len(), pairs.len());
}

#[test]
fn few_operations_give_no_verdict() {
    let [before, now] = ["pgjdbc4274-pg15-scram.pcap", "pgjdbc4274-pg15-trust.pcap"].map(capture);
    let text = stdout(&run(&["read", &now, "--baseline", &before]));
    assert!(
        text.starts_with("Too few operations to tell a change from scatter"),
        "{text}"
    );
    assert!(
        text.contains("pgjdbc4274-pg15-scram.pcap") && text.lines().count() <= 24,
        "{text}"
    );
}

#[test]
fn a_comparison_has_no_exchanges_and_no_predictions() {
    let path = capture("pgjdbc4274-pg15-trust.pcap");
    let refused = run(&["read", &path, "--baseline", &path, "--rtt", "10ms"]);
    assert!(stderr(&refused).contains("--baseline"), "{}", stderr(&refused));
}

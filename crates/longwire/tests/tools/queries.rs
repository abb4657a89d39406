//! `queries/` on both supported engines: totals equal those of `read`, and the engines agree.

use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use testbed::binary::{self, longwire, number, sum};
use testbed::process::run;

/// Writes tables of several runs on two hosts to `folder/tables`; returns the records of each run.
fn written(folder: &Path) -> Vec<Vec<Value>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let data = [
        ("web1", "../core/screen/tests/data/pages.lwr"),
        ("web1", "../core/capture/tests/data/mysql-cursor.pcap"),
        ("web2", "../core/capture/tests/data/redis-six-connections.pcap"),
        ("web2", "../core/capture/tests/data/mariadb-bulk.pcap"),
    ];
    let tables = folder.join("tables").display().to_string();
    let mut all = Vec::new();
    for (host, file) in data {
        let file = root.join(file).display().to_string();
        let output = longwire(&[
            "read",
            &file,
            "--json",
            "--parquet",
            &tables,
            "--parquet-host",
            host,
        ])
        .output();
        let output = output.expect("the binary starts");
        binary::done(&output);
        all.push(binary::records(&output));
    }
    all
}

fn rows(engine: &str, folder: &Path) -> BTreeMap<String, Vec<Value>> {
    let programs = testbed::python::environment(&["duckdb==2.0.0", "chdb==4.4.0"]);
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut command = Command::new(programs.join("python"));
    command
        .arg(root.join("tests/tools/queries/run.py"))
        .arg(engine)
        .arg(root.join("../../queries"));
    command.current_dir(folder);
    let printed = run(command);
    let each = printed.lines().map(|line| {
        let line: Value = serde_json::from_str(line).expect("JSON");
        let name = line["query"].as_str().expect("a name").to_owned();
        (name, line["rows"].as_array().expect("rows").clone())
    });
    each.collect()
}

fn total(rows: &[Value], key: &str) -> u64 {
    rows.iter()
        .map(|row| row[key].as_f64().unwrap_or_else(|| panic!("{key} in {row}")) as u64)
        .sum()
}

#[test]
fn both_engines_have_the_totals_of_read() {
    let folder = tempfile::tempdir().expect("a folder");
    let runs = written(folder.path());
    let repeated: u64 = runs.iter().flat_map(|run| most_of_each(run).into_values()).sum();
    let records: Vec<Value> = runs.into_iter().flatten().collect();
    let duckdb = rows("duckdb", folder.path());
    let clickhouse = rows("clickhouse", folder.path());
    assert_eq!(duckdb.len(), 6);
    for found in [&duckdb, &clickhouse] {
        let statements = &found["statements"];
        assert!(statements.len() < 50, "all of them are shown");
        assert_eq!(
            total(statements, "round_trips"),
            sum(&records, "statement", "turns")
        );
        assert_eq!(
            total(statements, "executions"),
            sum(&records, "statement", "calls")
        );
        let talks = &found["who-talks-to-whom"];
        assert_eq!(
            total(talks, "connections"),
            sum(&records, "summary", "connections")
        );
        assert_eq!(total(talks, "round_trips"), sum(&records, "summary", "turns"));
        assert_eq!(
            total(talks, "exchanges_made"),
            sum(&records, "summary", "exchanges")
        );
        let bytes = sum(&records, "summary", "client_payload_bytes")
            + sum(&records, "summary", "server_payload_bytes");
        assert_eq!(total(talks, "bytes"), bytes);
        assert_eq!(total(&found["bytes-across-zones"], "payload_bytes"), bytes);
        let operations = total(&found["growth"], "operations");
        let of_last_days = last_two_weeks(&records);
        assert_eq!(operations, of_last_days);
        assert_eq!(total(&found["n-plus-one"], "round_trips_saved"), repeated);
        assert!(repeated > 0, "there is some");
        let breaks = &found["breaks-at-10-ms"];
        assert!(!breaks.is_empty(), "a page of many round trips breaks");
        for row in breaks {
            assert!(
                row["p95_ms"].as_f64() <= Some(200.0) && row["p95_ms_at_10_ms_more"].as_f64() > Some(200.0),
                "{row}"
            );
        }
    }
    for (name, rows) in &duckdb {
        agree(name, rows, &clickhouse[name]);
    }
}

/// Operations of the last fourteen days in the data, regardless of today's date.
fn last_two_weeks(records: &[Value]) -> u64 {
    let operations: Vec<&Value> = records
        .iter()
        .filter(|record| record["type"] == "operation")
        .collect();
    let day = |record: &Value| number(record, "at_ns") / 1_000_000_000 / 86_400;
    let last = operations
        .iter()
        .map(|record| day(record))
        .max()
        .unwrap_or_default();
    let recent = operations
        .iter()
        .filter(|record| day(record) + 14 > last && record["continues"] != true);
    recent.count() as u64
}

/// Savings of n+1 findings, each counted once although priced at several round-trip times.
fn most_of_each(records: &[Value]) -> BTreeMap<String, u64> {
    let mut most = BTreeMap::new();
    for finding in records
        .iter()
        .filter(|record| record["type"] == "finding" && record["kind"] == "n+1")
    {
        let key = format!("{} {}", finding["operation_name"], finding["fingerprint"]);
        let saved = most.entry(key).or_insert(0);
        *saved = number(finding, "saves_turns").max(*saved);
    }
    most
}

fn agree(name: &str, one: &[Value], other: &[Value]) {
    assert_eq!(one.len(), other.len(), "{name}");
    for (one, other) in one.iter().zip(other) {
        for (key, value) in one.as_object().expect("a row") {
            match (value.as_f64(), other[key].as_f64()) {
                (Some(one), Some(other)) => assert!(
                    (one - other).abs() <= one.abs() * 1e-9,
                    "{name}, {key}: {one} and {other}"
                ),
                _ => assert_eq!(*value, other[key], "{name}, {key}"),
            }
        }
    }
}

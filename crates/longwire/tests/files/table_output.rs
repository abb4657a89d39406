//! Records of one type as a table: `--csv` and `--markdown`.

use serde_json::Value;
use std::path::Path;
use testbed::binary::{csv, of_type, records, run, stderr, stdout};

fn capture(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/captures");
    folder.join(name).display().to_string()
}

const CAPTURES: [&str; 2] = [
    "pgjdbc4274-pg15-trust.pcap",
    "mariadbcli-mariadb10.11-compress-zlib.pcap",
];

#[test]
fn a_table_has_the_values_of_the_records() {
    for name in CAPTURES {
        let path = capture(name);
        let all = records(&run(&["read", "--json", "--exchanges", &path]));
        for table in [
            "exchange",
            "connection",
            "statement",
            "operation",
            "prediction",
            "finding",
            "summary",
        ] {
            let rows = csv(&run(&["read", &path, "--csv", table]));
            let expected = of_type(&all, table);
            assert_eq!(rows.len(), expected.len(), "{name}: {table}");
            for (row, record) in rows.iter().zip(expected) {
                let record = record.as_object().expect("an object");
                for (key, cell) in row {
                    let value = record.get(key).map_or_else(String::new, |value| match value {
                        Value::String(text) => text.clone(),
                        other => other.to_string(),
                    });
                    let is_json = record
                        .get(key)
                        .is_some_and(|value| value.is_object() || value.is_array());
                    match is_json {
                        // With digests of one run.
                        true if key == "asked" => assert!(cell.starts_with('{'), "{cell}"),
                        true => {
                            assert_eq!(serde_json::from_str::<Value>(cell).ok().as_ref(), record.get(key))
                        }
                        false => assert_eq!(*cell, value, "{table}: {key}"),
                    }
                }
                let columns = row.len() + ["type", "schema"].len();
                assert!(record.keys().count() <= columns, "{table}: {record:?}");
            }
        }
    }
}

#[test]
fn a_table_without_rows_has_its_header() {
    let path = capture(CAPTURES[0]);
    let output = stdout(&run(&["read", &path, "--csv", "database_link"]));
    assert!(output.starts_with("link,through,turns_per_call,"), "{output}");
    assert_eq!(output.lines().count(), 1);
    let output = stdout(&run(&["read", &path, "--markdown", "database_link"]));
    assert_eq!(output.lines().count(), 2, "{output}");
}

#[test]
fn a_markdown_table_has_a_row_for_each_record() {
    let path = capture(CAPTURES[0]);
    let output = stdout(&run(&["predict", &path, "--markdown", "prediction"]));
    let rows: Vec<&str> = output.lines().collect();
    assert_eq!(
        rows.len(),
        2 + csv(&run(&["predict", &path, "--csv", "prediction"])).len()
    );
    let cells = |row: &str| row.replace("\\|", "").matches('|').count();
    assert!(rows.iter().all(|row| cells(row) == cells(rows[0])), "{output}");
    assert!(rows[1].starts_with("| --- | --- |"), "{output}");
    assert!(rows[2].contains("| `rtt=10ms` |"), "{output}");
}

#[test]
fn an_unknown_table_is_an_error_with_those_of_the_command() {
    let output = run(&["check", "x.pcap", "--csv", "exchange"]);
    assert_eq!(output.status.code(), Some(2));
    let error = stderr(&output);
    assert!(
        error.contains("check, change, summary, warning, conditions"),
        "{error}"
    );
    for words in [
        ["--json", "--csv", "summary"],
        ["--csv=summary", "--markdown", "summary"],
    ] {
        let output = run(&[&["read", "x.pcap"], &words[..]].concat());
        assert_eq!(output.status.code(), Some(2));
        assert!(
            stderr(&output).contains("cannot be used with"),
            "{}",
            stderr(&output)
        );
    }
}

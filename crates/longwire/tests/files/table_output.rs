//! Records of one type as a table: `--csv` and `--markdown`.

use serde_json::Value;
use std::fs;
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

/// A folder with captures, a note and a subfolder.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a directory");
    for name in CAPTURES {
        fs::copy(capture(name), folder.path().join(name)).expect("copied");
    }
    fs::write(folder.path().join("notes.json"), "{\"a\": 1}").expect("written");
    fs::create_dir(folder.path().join("older")).expect("created");
    folder
}

#[test]
fn a_folder_is_the_captures_in_it() {
    let folder = folder();
    let path = folder.path().display().to_string();
    let of_folder = records(&run(&["read", "--json", &path]));
    let names = CAPTURES.map(|name| folder.path().join(name).display().to_string());
    let mut sorted = names.clone();
    sorted.sort();
    let of_files = records(&run(&["read", "--json", &sorted[0], &sorted[1]]));
    assert_eq!(of_type(&of_folder, "summary"), of_type(&of_files, "summary"));
    let empty = folder.path().join("older").display().to_string();
    for command in [
        &["read"][..],
        &["predict"],
        &["check", "--max-round-trips", "9"],
        &["plan", "estate.toml"],
        &["tunnel", "advise"],
    ] {
        let output = run(&[command, &[&empty]].concat());
        assert_eq!(output.status.code(), Some(2));
        assert!(
            stderr(&output).contains("no capture or recording in"),
            "{}",
            stderr(&output)
        );
    }
}

#[test]
fn records_of_a_connection_name_the_file_where_it_begins() {
    let folder = folder();
    let path = folder.path().display().to_string();
    let of = |file: &str| run(&["read", file, "--json", "--exchanges"]);
    fs::write(folder.path().join("again.lwr"), of(&capture(CAPTURES[0])).stdout).expect("a recording");
    let all = records(&of(&path));
    let names = [CAPTURES[0], "again.lwr", CAPTURES[1]];
    for name in names.map(|name| folder.path().join(name).display().to_string()) {
        let alone = records(&of(&name));
        assert!(alone.iter().all(|record| record.get("file").is_none()), "{name}");
        for table in ["opened", "exchange", "connection"] {
            let expected = of_type(&alone, table).len();
            let of_file = of_type(&all, table).into_iter();
            let of_file = of_file.filter(|record| record["file"] == *name);
            assert!(expected > 0 && of_file.count() == expected, "{table} {name}");
            let rows = csv(&run(&["read", &path, "--csv", table]));
            assert_eq!(rows.len(), of_type(&all, table).len());
            assert_eq!(rows.iter().filter(|row| row["file"] == name).count(), expected);
        }
    }
    let others = all.iter().filter(|record| record["type"] == "statement");
    assert!(others.clone().count() > 0 && others.into_iter().all(|record| record.get("file").is_none()));
}

#[test]
fn each_file_has_its_outcome() {
    let folder = folder();
    let path = folder.path().display().to_string();
    let mut names = CAPTURES.map(|name| folder.path().join(name).display().to_string());
    names.sort();
    let rows = csv(&run(&["read", &path, "--per-file", "--csv", "summary"]));
    assert_eq!(rows.iter().map(|row| &*row["file"]).collect::<Vec<_>>(), names);
    let all = records(&run(&["read", &path, "--per-file", "--json"]));
    for (name, row) in names.iter().zip(&rows) {
        let alone = records(&run(&["read", name, "--json"]));
        let expected = &of_type(&alone, "summary")[0]["turns"];
        assert_eq!(row["turns"], expected.to_string());
        let of_file = all.iter().filter(|record| record["file"] == **name);
        assert_eq!(of_file.count(), alone.len());
    }
    let predicted = csv(&run(&["predict", &path, "--per-file", "--csv", "prediction"]));
    assert!(
        names
            .iter()
            .all(|name| predicted.iter().any(|row| row["file"] == *name))
    );
    let text = stdout(&run(&["predict", &path, "--per-file"]));
    let at = names.map(|name| text.lines().position(|line| line == name));
    assert!(at[0] == Some(0) && at[1] > at[0], "{text}");
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

//! Runs the binary under test and reads its records.

use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use serde_json::Value;
use std::collections::BTreeMap;

use crate::process::heed_interrupts;
use crate::schema::assert_described;

/// Built by cargo before the tests of the crate `longwire`, not before those of other crates.
pub fn program() -> PathBuf {
    assert_cmd::cargo::cargo_bin("longwire")
}

/// Standard input is empty. Ctrl-C ends it, also if this process ignores SIGINT.
pub fn longwire(arguments: &[&str]) -> Command {
    let mut command = Command::new(program());
    command.args(arguments).stdin(Stdio::null());
    heed_interrupts(&mut command);
    command
}

/// As [`longwire`], but killed after a timeout, so that a hanging test fails.
pub fn bounded(arguments: &[&str]) -> assert_cmd::Command {
    let mut command = assert_cmd::Command::from_std(longwire(arguments));
    command.timeout(MAX_RUN);
    command
}

/// Accepts every exit status.
pub fn run(arguments: &[&str]) -> Output {
    bounded(arguments).output().expect("the binary starts")
}

/// The binary must refuse: status 2, each of `words` on standard error, empty standard output.
#[track_caller]
pub fn refused(arguments: &[&str], words: &[&str]) -> Output {
    let output = run(arguments);
    let message = stderr(&output);
    assert_eq!(output.status.code(), Some(2), "{}", shown(&output));
    assert!(output.stdout.is_empty(), "stdout is for results: {output:?}");
    for word in words {
        assert!(message.contains(word), "'{word}' is missing in: {message}");
    }
    output
}

/// Runs `command`, which must exit with this status.
#[track_caller]
pub fn ends(mut command: Command, status: i32) -> Output {
    let output = command.output().expect("the binary starts");
    assert_eq!(output.status.code(), Some(status), "{}", shown(&output));
    output
}

/// Panics with the complete output unless the status is 0.
#[track_caller]
pub fn done(output: &Output) {
    assert!(output.status.success(), "{}", shown(output));
}

pub fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Text of a view without its line breaks, which depend on the width.
pub fn unwrapped(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

pub fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Status and complete output, for messages.
pub fn shown(output: &Output) -> String {
    format!("{}\n{}\n{}", output.status, stdout(output), stderr(output))
}

/// The records on standard output, which must contain no other lines.
#[track_caller]
pub fn records(output: &Output) -> Vec<Value> {
    let text = String::from_utf8(output.stdout.clone()).expect("records are UTF-8");
    text.lines().map(parse).collect()
}

/// The records on standard output, mixed with the output of a command.
#[track_caller]
pub fn records_among(output: &Output) -> Vec<Value> {
    let text = stdout(output);
    let begun = text.lines().filter(|line| line.starts_with('{'));
    begun.map(parse).collect()
}

/// The rows of CSV on standard output (RFC 4180, a line each), by the names of their columns.
#[track_caller]
pub fn csv(output: &Output) -> Vec<BTreeMap<String, String>> {
    let text = String::from_utf8(output.stdout.clone()).expect("tables are UTF-8");
    let mut lines = text.lines().map(csv_cells);
    let names = lines
        .next()
        .unwrap_or_else(|| panic!("no header: {}", shown(output)));
    let rows = lines.map(|cells| {
        assert_eq!(cells.len(), names.len(), "{cells:?}");
        names.iter().cloned().zip(cells).collect()
    });
    rows.collect()
}

fn csv_cells(line: &str) -> Vec<String> {
    let mut cells = vec![String::new()];
    let mut letters = line.chars().peekable();
    let mut quoted = false;
    while let (Some(letter), Some(cell)) = (letters.next(), cells.last_mut()) {
        match letter {
            '"' if quoted && letters.next_if_eq(&'"').is_some() => cell.push('"'),
            '"' => quoted = !quoted,
            ',' if !quoted => cells.push(String::new()),
            _ => cell.push(letter),
        }
    }
    cells
}

#[track_caller]
fn parse(line: &str) -> Value {
    let record = serde_json::from_str(line).unwrap_or_else(|error| panic!("no record: {error}: {line}"));
    assert_described(&record);
    record
}

pub fn of_type<'a>(records: &'a [Value], name: &str) -> Vec<&'a Value> {
    records.iter().filter(|record| record["type"] == name).collect()
}

/// Rows of statements and commands, without those for connecting, closing statements and unseen
/// statements.
pub fn statements(records: &[Value]) -> Vec<&Value> {
    let has_one = |row: &&Value| {
        let text = row["fingerprint"].as_str().unwrap_or_default();
        !ROWS_WITHOUT_ONE.contains(&text)
    };
    of_type(records, "statement")
        .into_iter()
        .filter(has_one)
        .collect()
}

const ROWS_WITHOUT_ONE: [&str; 3] = [
    "(connection set-up)",
    "(no statement text seen)",
    "(prepared statements closed)",
];

/// Panics if the value is missing or not a whole number.
#[track_caller]
pub fn number(record: &Value, key: &str) -> u64 {
    let value = record[key].as_u64();
    value.unwrap_or_else(|| panic!("{key} is missing in {record}"))
}

/// Sums over all records of a type; a missing value counts as 0.
pub fn sum(records: &[Value], name: &str, key: &str) -> u64 {
    let values = of_type(records, name).into_iter().map(|record| &record[key]);
    values.map(|value| value.as_u64().unwrap_or(0)).sum()
}

const MAX_RUN: Duration = Duration::from_mins(5);

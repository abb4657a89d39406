//! The binary under test: started, ended, and its records read.

use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use serde_json::Value;

use crate::process::heed_interrupts;

/// Where cargo put the binary. It is built before the tests of the crate `longwire` run, not before those of
/// other crates.
pub fn program() -> PathBuf {
    assert_cmd::cargo::cargo_bin("longwire")
}

/// The binary with these arguments, and nothing to read. Ctrl-C ends it, however the tests were started.
pub fn longwire(arguments: &[&str]) -> Command {
    let mut command = Command::new(program());
    command.args(arguments).stdin(Stdio::null());
    heed_interrupts(&mut command);
    command
}

/// The same, killed when it does not end: then the test fails instead of standing still.
pub fn bounded(arguments: &[&str]) -> assert_cmd::Command {
    let mut command = assert_cmd::Command::from_std(longwire(arguments));
    command.timeout(MAX_RUN);
    command
}

/// Runs the binary to its end, whatever that is.
///
/// # Panics
/// When it cannot be started.
pub fn run(arguments: &[&str]) -> Output {
    bounded(arguments).output().expect("the binary starts")
}

/// Runs the binary, which must say that it cannot do that: status 2, each of `words` on standard error, and
/// nothing where results are expected.
///
/// # Panics
/// When it does anything else.
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

/// Runs `command` to its end, which must have this status.
///
/// # Panics
/// When it cannot be started or ends otherwise.
#[track_caller]
pub fn ends(mut command: Command, status: i32) -> Output {
    let output = command.output().expect("the binary starts");
    assert_eq!(output.status.code(), Some(status), "{}", shown(&output));
    output
}

/// Holds that it ended well.
///
/// # Panics
/// With all it printed, when it did not.
#[track_caller]
pub fn done(output: &Output) {
    assert!(output.status.success(), "{}", shown(output));
}

/// Standard output as text.
pub fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Standard error as text.
pub fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// How it ended and all it printed, for messages.
pub fn shown(output: &Output) -> String {
    format!("{}\n{}\n{}", output.status, stdout(output), stderr(output))
}

/// The records on standard output, which must hold nothing else.
///
/// # Panics
/// At a line that is none.
#[track_caller]
pub fn records(output: &Output) -> Vec<Value> {
    let text = String::from_utf8(output.stdout.clone()).expect("records are UTF-8");
    text.lines().map(parse).collect()
}

/// The records on standard output where the output of a command stands between them.
///
/// # Panics
/// At a line that begins like a record and is none.
#[track_caller]
pub fn records_among(output: &Output) -> Vec<Value> {
    let text = stdout(output);
    let begun = text.lines().filter(|line| line.starts_with('{'));
    begun.map(parse).collect()
}

#[track_caller]
fn parse(line: &str) -> Value {
    serde_json::from_str(line).unwrap_or_else(|error| panic!("no record: {error}: {line}"))
}

/// Those of one type.
pub fn of_type<'a>(records: &'a [Value], name: &str) -> Vec<&'a Value> {
    records.iter().filter(|record| record["type"] == name).collect()
}

/// The rows of statements and commands: without those of connecting, of closing statements, and of work whose
/// statement was not seen.
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

/// A value of a record that must be there.
///
/// # Panics
/// When it is not, or no whole number.
#[track_caller]
pub fn number(record: &Value, key: &str) -> u64 {
    let value = record[key].as_u64();
    value.unwrap_or_else(|| panic!("{key} is missing in {record}"))
}

/// The sum of a value over all records of a type; where it is absent it counts as 0.
pub fn sum(records: &[Value], name: &str, key: &str) -> u64 {
    let values = of_type(records, name).into_iter().map(|record| &record[key]);
    values.map(|value| value.as_u64().unwrap_or(0)).sum()
}

/// Longer than any run takes on a busy machine.
const MAX_RUN: Duration = Duration::from_mins(5);

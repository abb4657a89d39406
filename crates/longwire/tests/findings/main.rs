//! Findings held true with real programs: what they claim is what their remedies give, and programs without waste have none.

mod captures;
mod quiet;
mod remedies;
mod secrets;
mod stage;

use serde_json::Value;
use std::process::{Command, Output, Stdio};

/// The binary with its first arguments.
fn longwire(arguments: &[&str]) -> Command {
    let mut command = Command::new(assert_cmd::cargo::cargo_bin("longwire"));
    command.args(arguments).stdin(Stdio::null());
    command
}

/// Runs `command` to its end, which must be a good one.
#[track_caller]
fn done(command: &mut Command) -> Output {
    let output = command.output().expect("it starts");
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "{command:?}: {}\n{complaint}",
        output.status
    );
    output
}

/// The records of an output.
fn records(output: &Output) -> Vec<Value> {
    let text = String::from_utf8_lossy(&output.stdout);
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}")))
        .collect()
}

/// Those of one type.
fn of_type(records: &[Value], name: &str) -> Vec<Value> {
    let of_it = records.iter().filter(|record| record["type"] == name);
    of_it.cloned().collect()
}

#[track_caller]
fn number(record: &Value, key: &str) -> u64 {
    record[key]
        .as_u64()
        .unwrap_or_else(|| panic!("{key} is missing in {record}"))
}

//! Findings held true with real programs: what they claim is what their remedies give, and programs without waste have none.

mod secrets;

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

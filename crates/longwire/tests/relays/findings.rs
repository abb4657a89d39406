//! Findings with real programs: claims match the effect of remedies, and programs without waste
//! have none.

mod captures;
mod quiet;
mod remedies;
mod secrets;
mod stage;

use serde_json::Value;
use std::process::{Command, Output};
use testbed::binary::{self, longwire, number, records};

#[track_caller]
fn done(command: &mut Command) -> Output {
    let output = command.output().expect("it starts");
    binary::done(&output);
    output
}

fn of_type(records: &[Value], name: &str) -> Vec<Value> {
    binary::of_type(records, name).into_iter().cloned().collect()
}

#![allow(clippy::unwrap_used, reason = "helpers of tests are tests too")]

mod command;
mod http;
mod many;
mod modes;
mod open_loop;
mod sql;
mod watched;

use load::{Error, Outcome, Plan, RunControl, Workload};
use sys::StopToken;

fn plan(clients: u32, operations: u64) -> Plan {
    Plan {
        clients,
        operations: Some(operations),
        ..Plan::default()
    }
}

fn run(workload: &dyn Workload, plan: &Plan) -> Result<Outcome, Error> {
    load::run(
        workload,
        plan,
        &RunControl::new(&StopToken::never()).unwrap(),
        None,
    )
}

fn assert_whole(outcome: &Outcome, operations: u64) {
    assert_eq!(outcome.errors, []);
    let measured = outcome.measured.as_ref().expect("something was measured");
    assert_eq!((measured.operations, measured.errors), (operations, 0));
    assert_eq!(measured.spread.count, operations);
}

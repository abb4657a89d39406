//! `longwire watch --interface`: what passes an interface is what a relay and a capture of it show, and what
//! is missing is reported.

mod encrypted;
mod namespaces;
mod outputs;
mod rights;
mod same_run;

use serde_json::Value;
use std::process::Stdio;
use testbed::Started;
use testbed::binary::{done, longwire, number, of_type, records, shown, stderr};
use testbed::capture::may_capture;

/// Observes the loopback until it is interrupted; returns when it does.
fn observing(options: &[&str]) -> Started {
    let mut command = may_capture(&[&["watch", "--interface", "lo", "--json"], options].concat());
    let mut started = Started::heard(command.stdout(Stdio::piped()));
    started.hears("Ctrl-C ends");
    started
}

/// What it has observed.
fn observed(started: Started) -> (Vec<Value>, String) {
    let output = started.interrupt();
    assert_eq!(output.status.code(), Some(130), "{}", shown(&output));
    (records(&output), stderr(&output))
}

/// The connections by their clients, each with what does not depend on where it was seen.
fn connections(records: &[Value]) -> Vec<Vec<String>> {
    let keys = [
        "client",
        "server",
        "protocol",
        "turns",
        "exchanges",
        "statements",
        "client_payload_bytes",
        "server_payload_bytes",
    ];
    let connection = |record: &&Value| keys.map(|key| record[key].to_string()).to_vec();
    let mut all: Vec<Vec<String>> = of_type(records, "connection").iter().map(connection).collect();
    all.sort();
    all
}

/// Statements with how often they ran, and their round trips.
fn statements(records: &[Value]) -> Vec<(String, u64, u64)> {
    let statement = |record: &&Value| {
        let text = record["fingerprint"].to_string();
        (text, number(record, "calls"), number(record, "turns"))
    };
    // At a relay a handshake is longwire's own: how connections are set up is left out.
    let mut all: Vec<_> = testbed::binary::statements(records)
        .iter()
        .map(statement)
        .collect();
    all.sort();
    all
}

fn read_records(capture: &std::path::Path, options: &[&str]) -> Vec<Value> {
    let output = longwire(&[&["read", "--json"], options].concat())
        .arg(capture)
        .output();
    let output = output.expect("the binary starts");
    done(&output);
    records(&output)
}

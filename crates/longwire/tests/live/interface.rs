//! `longwire watch --interface` agrees with a relay and a capture of the same traffic, and reports
//! missing data.

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

fn observing(options: &[&str]) -> Started {
    let mut command = may_capture(&[&["watch", "--interface", "lo", "--json"], options].concat());
    let mut started = Started::heard(command.stdout(Stdio::piped()));
    started.hears("Ctrl-C ends");
    started
}

fn observed(started: Started) -> (Vec<Value>, String) {
    let output = started.interrupt();
    assert_eq!(output.status.code(), Some(130), "{}", shown(&output));
    (records(&output), stderr(&output))
}

/// Only properties independent of the observation point, by client.
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

fn statements(records: &[Value]) -> Vec<(String, u64, u64)> {
    let statement = |record: &&Value| {
        let text = record["fingerprint"].to_string();
        (text, number(record, "calls"), number(record, "turns"))
    };
    // At a relay handshakes are longwire's own, so connection setup is left out.
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

//! `predict`, `check` and `tunnel advise` with `--keys` agree with `read --keys`.

use super::{ENCRYPTIONS, Run, connection};
use serde_json::Value;
use testbed::Postgres;
use testbed::binary::{self, number, of_type, refused};

fn run() -> Run {
    let server = Postgres::options().tls().start();
    let port = server.port();
    Run::new("postgres", port, Postgres::PASSWORD, Some(ENCRYPTIONS[4]))
}

fn statements(records: &[Value]) -> Vec<(String, u64, u64)> {
    let statement = |record: &&Value| {
        let text = record["fingerprint"].to_string();
        (text, number(record, "calls"), number(record, "turns"))
    };
    binary::statements(records).iter().map(statement).collect()
}

#[test]
fn predictions_and_budgets_of_opened_connections_are_of_what_read_shows() {
    let run = run();
    let (file, keys) = (run.capture.path().display().to_string(), run.keys());
    let read = run.read_records(Some(&keys));
    assert_eq!(statements(&read).len(), 3, "{read:?}");

    let predict = [
        "predict",
        "--json",
        "--rtt",
        "40ms",
        "--operations",
        "connection",
        &file,
    ];
    let predicted = binary::records(&binary::run(&[&predict[..], &["--keys", &keys]].concat()));
    assert_eq!(statements(&predicted), statements(&read));
    assert_eq!(connection(&predicted)["turns"], connection(&read)["turns"]);
    let prediction = of_type(&predicted, "prediction")[0];
    assert_eq!(prediction["turns"].as_f64(), connection(&read)["turns"].as_f64());
    let closed = binary::records(&binary::run(&predict));
    assert_eq!(
        statements(&closed),
        [],
        "without keys nothing is known of statements"
    );

    let operation = of_type(&read, "operation")[0];
    let mut check = vec!["check", "--json", "--operations", "connection"];
    check.extend(["--max-round-trips", "1", &file, "--keys", &keys]);
    let judged = binary::records(&binary::run(&check));
    let judged = of_type(&judged, "check")[0];
    assert_eq!(
        (judged["turns"].as_f64(), &judged["kept"]),
        (operation["turns"].as_f64(), &Value::Bool(false))
    );
}

/// A tunnel carries encrypted bytes, so keys do not change its potential savings.
#[test]
fn advice_on_encrypted_connections_is_refused_with_keys_as_without() {
    let run = run();
    let (file, keys) = (run.capture.path().display().to_string(), run.keys());
    let words = ["are encrypted: encrypted bytes cannot be made fewer"];
    refused(&["tunnel", "advise", &file], &words);
    refused(&["tunnel", "advise", &file, "--keys", &keys], &words);
}

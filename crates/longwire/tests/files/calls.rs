//! Calls of other services within a request count, move and are judged like databases. Captures of
//! a page in Python (`http.server`) that asks another server by HTTP: ten times on a kept
//! connection (`post`), ten times on new ones (`reconnect`), once (`once`), or passing the request
//! on (`proxy`). Relays of 5 and 20 ms in between: the page took 100, 252; 152, 452; 48, 64 ms.

use serde_json::Value;
use std::path::Path;
use testbed::binary;

fn capture(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/data/calls/{name}.pcap.gz"));
    path.display().to_string()
}

fn report(words: &[&str]) -> String {
    binary::unwrapped(&String::from_utf8_lossy(&binary::run(words).stdout))
}

fn check(file: &str, forbidden: &str) -> Option<i32> {
    binary::run(&["check", "--forbid", forbidden, file]).status.code()
}

fn predicted_ms(file: &str, rtt: &str) -> f64 {
    let output = binary::run(&["predict", file, "--rtt", rtt, "--json"]);
    let text = String::from_utf8(output.stdout).expect("records are text");
    let mut records = text
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("a record"));
    let prediction = records.find(|record| record["type"] == "prediction");
    let nanos = prediction.expect("the page is predicted")["duration_ns"].as_f64();
    nanos.expect("a time") / 1e6
}

#[test]
fn calls_within_requests_move_by_default() {
    let said = report(&["read", &capture("post")]);
    assert!(said.contains("for 10 round trips"), "{said}");
    assert!(said.contains("n+1 POST /query"), "{said}");
    assert!(said.contains("calls of 127.0.0.1:18123 move too"), "{said}");
    for (name, rtt, measured) in [
        ("post", "5ms", 100.0),
        ("post", "20ms", 252.0),
        ("reconnect", "5ms", 152.0),
        ("reconnect", "20ms", 452.0),
        ("once", "5ms", 48.0),
        ("once", "20ms", 64.0),
    ] {
        let predicted = predicted_ms(&capture(name), rtt);
        let error: f64 = predicted / measured - 1.0;
        assert!(error.abs() < 0.1, "{name} at {rtt}: {predicted} ms");
    }
}

#[test]
fn encrypted_calls_move_too() {
    let said = report(&["read", &capture("tls")]);
    assert!(said.contains("for 10 round trips"), "{said}");
    assert!(said.contains("calls of 127.0.0.1:8443 move too"), "{said}");
}

#[test]
fn requests_that_a_proxy_passes_on_are_no_calls() {
    let said = report(&["read", &capture("proxy")]);
    assert!(
        said.starts_with("No round trip to a database or a called service was seen"),
        "{said}"
    );
    assert_eq!(check(&capture("proxy"), "n+1"), Some(2));
    let said = report(&["read", &capture("proxy"), "--on", "127.0.0.1:18123"]);
    assert!(said.contains("for 1 round trip"), "{said}");
}

/// Ten ranges of etcd over gRPC, in a row and at once. Relays of 5 and 20 ms in between: the page
/// took 60.3 and 213.9, at once 7.7 and 23.5 ms.
#[test]
fn calls_of_grpc_move_and_are_a_loop_unless_at_once() {
    let file = capture("etcd-seq");
    let said = report(&["read", &file]);
    assert!(said.contains("n+1 /etcdserverpb.KV/Range"), "{said}");
    for (rtt, measured) in [("5ms", 60.3), ("20ms", 213.9)] {
        let error: f64 = predicted_ms(&file, rtt) / measured - 1.0;
        assert!(error.abs() < 0.1, "at {rtt}: {error}");
    }
    let said = report(&["read", &capture("etcd-at")]);
    assert!(!said.contains("n+1"), "{said}");
    assert!(predicted_ms(&capture("etcd-at"), "20ms") < 30.0);
}

/// Ten `get`s of memcached, then one `get` of ten keys, a page each.
#[test]
fn similar_requests_of_an_undecoded_protocol_may_be_a_loop() {
    let file = capture("memcached");
    let said = report(&["read", &file]);
    assert!(
        said.starts_with("At 40.0 ms, GET /page (typical of 6) takes 401 ms"),
        "{said}"
    );
    assert!(
        !said.contains("1 change"),
        "the first sentence claims none: {said}"
    );
    assert!(said.contains("similar-requests in GET /page"), "{said}");
    assert!(!said.contains("similar-requests in GET /many"), "{said}");
    assert_eq!(check(&file, "n+1"), Some(2), "nothing is known of its statements");
    assert_eq!(check(&file, "similar-requests"), Some(1));
}

#[test]
fn loops_and_connections_of_calls_break_their_budgets() {
    for (name, loops, reconnects) in [("post", 1, 0), ("reconnect", 1, 1), ("once", 0, 0)] {
        let found = [check(&capture(name), "n+1"), check(&capture(name), "reconnect")];
        assert_eq!(found, [Some(loops), Some(reconnects)], "{name}");
    }
    // The client's FIN is the first.
    let said = report(&["read", "--all", &capture("reconnect")]);
    assert!(said.contains("Keep connections: one HTTP client"), "{said}");
}

//! `longwire watch` with a real Redis: relay, capture behind it and server agree.

use serde_json::Value;
use std::process::Output;
use testbed::binary::{done, longwire, records_among as records, sum};
use testbed::{Capture, Redis, require};

/// Watches `server` while sh runs `script`, with redis programs in `$cli` and `$benchmark`, and the
/// relay's port in `$LONGWIRE_PORT`.
fn watch(server: &Redis, options: &[&str], script: &str) -> Output {
    let output = longwire(&["watch", "--json"])
        .args(options)
        .arg(server.url())
        .args(["--", "sh", "-c", script])
        .env("cli", require("redis-cli"))
        .env("benchmark", require("redis-benchmark"))
        .env_remove("REDISCLI_AUTH")
        .output()
        .expect("the binary starts");
    done(&output);
    output
}

fn calls(records: &[Value], fingerprint: &str) -> u64 {
    records
        .iter()
        .filter(|record| record["type"] == "statement" && record["fingerprint"] == fingerprint)
        .map(|record| record["calls"].as_u64().expect("a number"))
        .sum()
}

#[test]
fn the_relay_counts_what_a_capture_behind_it_counts() {
    let server = Redis::start();
    let capture = Capture::start(server.port());
    let script = r#"
        $cli -u "$LONGWIRE_URL" set secret-key secret-value >/dev/null &&
        $cli -u "$LONGWIRE_URL" -3 get secret-key >/dev/null &&
        seq 1 200 | sed 's/.*/rpush list &/' | $cli -u "$LONGWIRE_URL" --pipe >/dev/null &&
        $cli -u "$LONGWIRE_URL" lrange list 0 -1 | wc -l | grep -qx 200
    "#;
    let watched = watch(&server, &[], script);
    let captured = capture.stop();
    let read = longwire(&["read", "--json", &captured.path().display().to_string()])
        .output()
        .expect("it starts");
    assert!(
        !String::from_utf8_lossy(&watched.stdout).contains("secret"),
        "a key or a value is reported"
    );
    let (watched, mut read) = (records(&watched), records(&read));
    // Excludes longwire's connection that checked the server.
    read.retain(|record| record["type"] != "connection" || record["client_payload_bytes"] != 0);
    for key in [
        "exchanges",
        "statements",
        "client_payload_bytes",
        "server_payload_bytes",
    ] {
        let (relay, wire) = (sum(&watched, "connection", key), sum(&read, "connection", key));
        assert_eq!(relay, wire, "{key}: the relay says {relay}, the capture {wire}");
    }
    for records in [&watched, &read] {
        assert_eq!(calls(records, "RPUSH ? ?"), 200);
        assert_eq!(calls(records, "LRANGE ? ? ..."), 1);
        assert_eq!(calls(records, "GET ?"), 1);
    }
    let connections = watched.iter().filter(|record| record["type"] == "connection");
    for connection in connections {
        assert_eq!(connection["protocol"], "redis", "{connection}");
        assert_eq!(connection["opaque"], false, "{connection}");
    }
}

#[test]
fn pipelined_commands_share_their_turns() {
    let server = Redis::start();
    let script = "$benchmark -h 127.0.0.1 -p $LONGWIRE_PORT -t set,get -n 3200 -c 2 -P 16 -q >/dev/null";
    let watched = records(&watch(&server, &[], script));
    assert_eq!(calls(&watched, "SET ? ?"), 3200);
    assert_eq!(calls(&watched, "GET ?"), 3200);
    let turns: u64 = watched
        .iter()
        .filter(|record| record["type"] == "statement" && record["fingerprint"] == "GET ?")
        .map(|record| record["turns"].as_u64().expect("a number"))
        .sum();
    // 3200 commands, 16 at once. The client counts batches; the relay may see one more per
    // connection.
    assert!(
        (200..=204).contains(&turns),
        "{turns} round trips of 3200 commands, 16 at once"
    );
}

#[test]
fn passwords_reach_the_server_and_nothing_else() {
    let server = Redis::start_with_password();
    let script = format!(
        "$cli -u \"$LONGWIRE_URL\" --no-auth-warning -a {0} ping >/dev/null && \
         $cli -u \"$LONGWIRE_URL\" --no-auth-warning -a {0} config set masterauth {0} >/dev/null && \
         $cli -u \"$LONGWIRE_URL\" ping | grep -q NOAUTH",
        Redis::PASSWORD
    );
    let output = watch(&server, &["--keep-literals"], &script);
    let told = String::from_utf8_lossy(&output.stdout);
    let without_command_line: Vec<&str> = told
        .lines()
        .filter(|line| !line.contains("\"type\":\"conditions\""))
        .collect();
    assert!(
        !without_command_line.concat().contains(Redis::PASSWORD),
        "{without_command_line:#?}"
    );
    let records = records(&output);
    assert_eq!(calls(&records, "CONFIG SET ? ?"), 1);
    assert_eq!(calls(&records, "PING"), 2);
}

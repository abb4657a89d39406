//! `longwire relay` and `watch --link` with real servers: the link adds its cost, loses nothing,
//! and is attributed to the network.

use serde_json::Value;
use std::io::Read;
use std::net::{SocketAddr, TcpStream};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};
use testbed::binary::{longwire, records, stderr};
use testbed::floor::told_on_failure;
use testbed::waiting::wait_until;
use testbed::{MariaDb, Postgres, Started, require};

#[track_caller]
pub(crate) fn with_application(options: &[&str], script: &str) -> Output {
    let output = longwire(options)
        .args(["--", "sh", "-c", script])
        .output()
        .expect("the binary starts");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    output
}

#[track_caller]
pub(crate) fn one<'a>(records: &'a [Value], kind: &str) -> &'a Value {
    let mut found = records.iter().filter(|record| record["type"] == kind);
    let first = found.next().unwrap_or_else(|| panic!("no {kind} in {records:?}"));
    assert!(found.next().is_none(), "more than one {kind}");
    first
}

pub(crate) fn milliseconds(record: &Value, key: &str) -> f64 {
    record[key]
        .as_f64()
        .unwrap_or_else(|| panic!("no {key} in {record}"))
        / 1e6
}

fn running(arguments: &[&str]) -> (Started, SocketAddr) {
    Started::listening(longwire(arguments).stdout(Stdio::piped()), "relaying ")
}

#[test]
#[ignore = "timing: make test runs it alone"]
fn what_the_link_costs_is_called_network_and_what_the_server_takes_server() {
    let _floor = told_on_failure();
    let server = Postgres::start();
    let output = with_application(
        &[
            "watch",
            "--json",
            "--operations",
            "connection",
            "--link",
            "rtt=40ms",
            &server.url(),
        ],
        "psql -X -q -c 'select 1' -c 'select pg_sleep(0.2)' >/dev/null",
    );
    let seen = records(&output);
    let conditions = one(&seen, "conditions");
    assert_eq!(conditions["link"], "rtt=40ms");
    let statement = |name: &str| {
        seen.iter()
            .find(|record| record["type"] == "statement" && record["fingerprint"] == name)
            .unwrap_or_else(|| panic!("no {name} in {seen:?}"))
    };
    let select = statement("select ?");
    assert!(milliseconds(select, "total_ns") >= 40.0, "{select}");
    assert!(milliseconds(select, "network_ns") >= 40.0, "{select}");
    assert!(milliseconds(select, "server_ns") < 200.0, "{select}");
    let sleep = statement("select pg_sleep(?)");
    assert!(milliseconds(sleep, "server_ns") >= 200.0, "{sleep}");
    assert!(
        (40.0..100.0).contains(&milliseconds(sleep, "network_ns")),
        "{sleep}"
    );
    let connection = one(&seen, "connection");
    assert!(
        (40.0..60.0).contains(&milliseconds(connection, "rtt_ns")),
        "{connection}"
    );
    // One round trip each: handshake, TLS request (declined), login, two statements.
    assert_eq!(connection["turns"], 5);
    let operation = one(&seen, "operation");
    assert!(milliseconds(operation, "round_trip_ns") >= 200.0, "{operation}");
    assert!(milliseconds(operation, "round_trip_ns") < 250.0, "{operation}");
    let link = one(&seen, "link");
    assert_eq!(
        (&link["asked"], &link["rtt_ns"]),
        (&"rtt=40ms".into(), &40_000_000.into())
    );
    assert!(link["client_packets"].as_u64() > Some(6), "{link}");
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(told.contains("requested rtt=40ms: rtt +"), "{told}");
}

#[test]
#[ignore = "timing: make test runs it alone"]
fn a_server_that_greets_first_is_heard_after_two_round_trips_and_its_wait_is_network() {
    let _floor = told_on_failure();
    let server = MariaDb::start();
    let (relay, address) = running(&["relay", &server.url(), "--link", "rtt=80ms"]);
    let began = Instant::now();
    let mut client = TcpStream::connect(address).expect("the relay accepts");
    client
        .set_read_timeout(Some(Duration::from_secs(20)))
        .expect("set");
    client.read_exact(&mut [0; 8]).expect("the greeting");
    let took = began.elapsed();
    assert!(took >= Duration::from_millis(160), "{took:?}");
    assert!(took < Duration::from_millis(660), "{took:?}");
    drop(relay);
    let script = "mariadb --no-defaults --protocol=tcp --host=$MYSQL_HOST --port=$MYSQL_TCP_PORT --user=longwire \
                  --skip-ssl -e 'select 1' >/dev/null";
    let output = with_application(
        &[
            "watch",
            "--json",
            "--operations",
            "connection",
            "--link",
            "rtt=80ms",
            &server.url(),
        ],
        script,
    );
    let seen = records(&output);
    let operation = one(&seen, "operation");
    let turns = operation["turns"].as_f64().expect("counted");
    let round_trips = milliseconds(operation, "round_trip_ns");
    assert!(turns >= 4.0, "handshake, greeting, login, select: {operation}");
    assert!(round_trips >= turns * 80.0, "{operation}");
    assert!(round_trips < turns * 80.0 + 60.0, "{operation}");
}

#[test]
#[ignore = "timing: make test runs it alone"]
fn ten_megabytes_take_what_is_predicted_for_the_link() {
    let _floor = told_on_failure();
    let server = Postgres::start();
    server.sql("create table big as select i, repeat(md5(i::text), 31) t from generate_series(1, 10000) i");
    let folder = tempfile::tempdir().expect("a temporary directory");
    let recording = folder.path().join("run.lwr").display().to_string();
    let script = "psql -X -q -A -t -c 'table big' >/dev/null";
    with_application(&["watch", "-o", &recording, &server.url()], script);
    let predicted = longwire(&[
        "predict",
        "--json",
        "--operations",
        "connection",
        "--rtt",
        "40ms",
        "--rate",
        "10mbit",
        &recording,
    ])
    .output()
    .expect("it starts");
    let predicted = milliseconds(one(&records(&predicted), "prediction"), "duration_ns");
    let link = "rtt=40ms rate=10mbit";
    let seen = records(&with_application(
        &[
            "watch",
            "--json",
            "--operations",
            "connection",
            "--link",
            link,
            &server.url(),
        ],
        script,
    ));
    let operation = one(&seen, "operation");
    let took = milliseconds(operation, "duration_ns");
    let ratio = took / predicted;
    assert!(
        (0.97..1.3).contains(&ratio),
        "{took} ms, {predicted} ms were predicted"
    );
    // Slow start and queueing at the link are not server time.
    let transfer = milliseconds(operation, "transfer_ns");
    assert!(transfer > 0.8 * took, "{operation}");
    assert!(milliseconds(operation, "server_ns") < 0.1 * took, "{operation}");
    let realised = one(&seen, "link")["server_realised_bits_per_second"].as_f64();
    assert!(
        realised.is_some_and(|rate| (8e6..10.2e6).contains(&rate)),
        "{realised:?}"
    );
}

#[test]
fn copy_both_ways_over_a_link_that_loses_packets_loses_no_byte() {
    let server = Postgres::start();
    let folder = tempfile::tempdir().expect("a temporary directory");
    let file = folder.path().join("rows.tsv").display().to_string();
    server.sql(
        "create table source as select i, md5(i::text) a, repeat(md5((i*7)::text), 4) b from generate_series(1, 20000) i",
    );
    server.sql("create table target (like source)");
    let script =
        format!("psql -X -q -c '\\copy source to {file}' && psql -X -q -c '\\copy target from {file}'");
    let link = "rtt=4ms rate=200mbit loss=1% jitter=1ms";
    let seen = records(&with_application(
        &["watch", "--json", "--link", link, &server.url()],
        &script,
    ));
    let sums = |table: &str| {
        server.sql(&format!(
            "select count(*), md5(string_agg({table}::text, '' order by i)) from {table}"
        ))
    };
    assert_eq!(sums("source"), sums("target"));
    let lost = one(&seen, "link");
    assert!(
        lost["client_dropped_by_loss"].as_u64() > Some(0)
            && lost["server_dropped_by_loss"].as_u64() > Some(0),
        "{lost}"
    );
    let recovery: f64 = seen
        .iter()
        .filter(|record| record["type"] == "operation")
        .map(|record| milliseconds(record, "recovery_ns"))
        .sum();
    assert!(recovery > 0.0, "losses cost time, and that is reported");
}

#[test]
fn a_dead_server_ends_its_clients() {
    let mut server = Postgres::start();
    let (relay, address) = running(&["relay", &server.url(), "--link", "rtt=20ms"]);
    let (host, port) = (address.ip().to_string(), address.port().to_string());
    let sleeper = Command::new(require("psql"))
        .args([
            "-X",
            "-h",
            &host,
            "-p",
            &port,
            "-U",
            Postgres::USER,
            "-c",
            "select pg_sleep(60)",
        ])
        .env("PGPASSWORD", Postgres::PASSWORD)
        .stderr(Stdio::piped())
        .spawn()
        .expect("psql starts");
    let count = "select count(*) from pg_stat_activity where query like '%pg_sleep(60)%'";
    wait_until("the query runs", || server.sql(count).trim() == "2");
    server.kill();
    let output = sleeper.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(2));
    let mut client = TcpStream::connect(address).expect("the relay accepts");
    client
        .set_read_timeout(Some(Duration::from_secs(20)))
        .expect("set");
    assert!(
        !matches!(client.read(&mut [0; 1]), Ok(1..)),
        "no server is there to answer"
    );
    let output = relay.interrupt();
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(130), "{said}");
    assert!(
        said.contains("1 connection did not reach the server") && said.contains("requested rtt=20ms"),
        "{said}"
    );
}

#[test]
fn the_command_ends_the_relay_and_records_come_on_request() {
    let server = Postgres::start();
    let output = with_application(
        &["relay", "--json", "--link", "rtt=5ms seed=9", &server.url()],
        "psql -X -q -c 'select 1'",
    );
    let seen = records(&output);
    assert_eq!(one(&seen, "conditions")["link"], "rtt=5ms seed=9");
    let summary = one(&seen, "summary");
    assert_eq!(summary["connections"], 1);
    assert!(summary["client_payload_bytes"].as_u64() > Some(50));
    assert_eq!(one(&seen, "link")["rtt_ns"], 5_000_000);
    let plain = with_application(&["relay", &server.url()], "psql -X -q -A -t -c 'select 6*7'");
    assert_eq!(String::from_utf8_lossy(&plain.stdout), "42\n");
    assert!(String::from_utf8_lossy(&plain.stderr).contains("Relayed 1 connection"));
    let failed = longwire(&[
        "relay",
        &server.url(),
        "--link",
        "rtt=1ms",
        "--",
        "sh",
        "-c",
        "exit 7",
    ])
    .status()
    .expect("it starts");
    assert_eq!(failed.code(), Some(7));
}

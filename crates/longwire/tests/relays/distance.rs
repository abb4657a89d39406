//! `longwire ping --rows`, `--via` and `--print-script`: rows as packets, and distances other than
//! the client's.

use model::ObserverFactory;
use model::{ConnectionEvent, ConnectionId, Observer};
use relay::Relay;
use serde_json::Value;
use std::path::Path;
use std::process::Output;
use std::sync::Arc;
use sys::{Clock, Target};
use testbed::binary::{longwire, program, records_among, run, shown};
use testbed::floor::told_on_failure;
use testbed::{MariaDb, Postgres};

fn behind(link: &str, port: u16, more: &[&str], arguments: &[&str]) -> Output {
    let mut command = longwire(&["link", link, "--forward", &port.to_string()]);
    command.args(more).arg("--");
    command.arg(program()).args(arguments);
    command.output().expect("the binary starts")
}

#[track_caller]
fn record(output: &Output, kind: &str) -> Value {
    let mut records = records_among(output).into_iter();
    let found = records.find(|record| record["type"] == kind);
    found.unwrap_or_else(|| panic!("no {kind}: {}", shown(output)))
}

#[track_caller]
fn refuses(arguments: &[&str], words: &str) {
    let output = run(arguments);
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(said.contains(words), "{said}");
    assert!(!said.contains(Postgres::PASSWORD), "{said}");
}

fn payloads_from(capture: &Path, port: u16) -> Vec<Vec<u8>> {
    let bytes = std::fs::read(capture).expect("the capture is there");
    let mut rest = &bytes[24..];
    let mut payloads = Vec::new();
    while rest.len() >= 16 {
        let length = u32::from_le_bytes(rest[8..12].try_into().expect("four bytes")) as usize;
        let packet = &rest[16..16 + length];
        rest = &rest[16 + length..];
        let sliced = etherparse::SlicedPacket::from_ip(packet).expect("an IP packet");
        if let Some(etherparse::TransportSlice::Tcp(tcp)) = sliced.transport
            && tcp.source_port() == port
        {
            payloads.push(tcp.payload().to_vec());
        }
    }
    payloads
}

/// Fetches 50 rows at 1 Mbit/s. `is_row` recognises a row among all payloads of the server.
fn every_row_is_a_packet(url: &str, port: u16, is_row: fn(&[u8]) -> bool) {
    let directory = tempfile::tempdir().expect("temporary directory");
    let capture = directory.path().join("rows.pcap");
    let file = capture.display().to_string();
    let link = "rtt=5ms rate=1mbit";
    let asked = ["ping", url, "--rows", "50", "--json"];
    let rows = record(&behind(link, port, &["--capture", &file], &asked), "rows");
    assert_eq!(rows["rows"], 50, "{rows}");
    assert_eq!(rows["packets"], 50, "{rows}");
    assert_eq!(rows["wire_bytes"], 1500, "{rows}");
    assert_eq!(rows["segment_bytes"], rows["own_segment_bytes"], "{rows}");
    let gap = rows["mean_ns"].as_f64().expect("a mean gap");
    let asked = 1500.0 * 8.0 * 1e9 / 1e6;
    assert!((gap / asked - 1.0).abs() < 0.02, "{rows}");
    let segment = rows["segment_bytes"].as_u64().expect("a size") as usize;
    // The capture also contains the packet trains that confirmed the size.
    let found = payloads_from(&capture, port)
        .iter()
        .filter(|payload| payload.len() == segment && is_row(payload))
        .count();
    let trials = (1 + rows["corrections"].as_u64().expect("a count") as usize) * 8;
    assert_eq!(found, 50 + trials, "{rows}");
}

#[test]
#[ignore = "timing: make test runs it alone"]
fn every_row_of_postgres_is_one_packet_and_comes_at_the_link_s_rate() {
    let _floor = told_on_failure();
    let server = Postgres::start();
    every_row_is_a_packet(&server.url(), server.port(), |payload| {
        payload.starts_with(b"D") && payload.ends_with(b"s\0\0\0\x04")
    });
}

#[test]
#[ignore = "timing: make test runs it alone"]
fn every_row_of_mariadb_is_one_packet_and_comes_at_the_link_s_rate() {
    let _floor = told_on_failure();
    let server = MariaDb::start();
    every_row_is_a_packet(&server.url(), server.port(), |payload| {
        payload[3] == 1 && payload[payload.len() - 9..].starts_with(&[5, 0, 0, 2, 0xfe])
    });
    refuses(&["ping", &server.url(), "--rows", "100000"], "keeps all rows");
}

#[test]
fn rows_that_cannot_be_packets_are_refused() {
    refuses(
        &["ping", "http://127.0.0.1:9/", "--rows", "10"],
        "http:// targets",
    );
    let server = Postgres::options().tls().start();
    let url = server.url();
    refuses(&["ping", &url, "--rows", "1"], "write a number from 2 to 100000");
    refuses(
        &["ping", &url, "--rows", "1000000000"],
        "write a number from 2 to 100000",
    );
    refuses(
        &["ping", &format!("{url}?sslmode=require"), "--rows", "10"],
        "TLS",
    );
    refuses(&["ping", &url, &url, "--rows", "10"], "one target");
}

struct Unseen;

impl ObserverFactory for Unseen {
    fn observe(&self, _: ConnectionId) -> Box<dyn Observer + Send> {
        Box::new(Self)
    }
}

impl Observer for Unseen {
    fn event(&mut self, _: ConnectionId, _: ConnectionEvent<'_>) {}
}

fn far(port: u16) -> Relay {
    let options = relay::Options {
        link: Some("rtt=20ms".parse().expect("a link")),
        ..relay::Options::new(Target::tcp("127.0.0.1", port))
    };
    relay::start(options, Clock::anchored_now(), Arc::new(Unseen)).expect("the relay starts")
}

fn links_of_postgres(source: &Postgres, port: u16) {
    for (name, extension, wrapper) in [
        ("by_dblink", "dblink", "dblink_fdw"),
        ("by_wrapper", "postgres_fdw", "postgres_fdw"),
    ] {
        source.sql(&format!(
            "create extension {extension}; \
             create server {name} foreign data wrapper {wrapper} options (host '127.0.0.1', port '{port}', dbname 'postgres'); \
             create user mapping for postgres server {name} options (user 'postgres')"
        ));
    }
}

/// Measures from the source at `url` through `link`, locally and with the client 30 ms away.
/// Retries, because a machine may be busy for a whole run.
fn is_20_ms_away(url: &str, port: u16, link: &str, through: &str, turns: u64) {
    let asked = [
        "ping",
        "--via",
        url,
        "--database-link",
        link,
        "-n",
        "7",
        "-i",
        "1ms",
        "--json",
    ];
    let here = || run(&asked);
    let away = || behind("rtt=30ms", port, &[], &asked);
    let places: [&dyn Fn() -> Output; 2] = [&here, &away];
    for place in places {
        let mut found = Value::Null;
        let agrees = (0..ATTEMPTS).any(|_| {
            found = record(&place(), "database_link");
            agrees(&found, turns)
        });
        assert!(agrees && found["through"] == through, "{found}");
    }
}

/// 20 ms per round trip and `turns` round trips per call: the minimum, which other load affects
/// least.
fn agrees(found: &Value, turns: u64) -> bool {
    let in_turns = |key: &str| found[key].as_f64().unwrap_or_default() / 20e6;
    found["turns_per_call"] == turns
        && (0.98 * turns as f64..1.15 * turns as f64).contains(&in_turns("call_min_ns"))
        && (0.85..1.10).contains(&in_turns("min_ns"))
}

const ATTEMPTS: usize = 4;

#[test]
#[ignore = "timing: make test runs it alone"]
fn one_postgres_is_as_far_from_another_as_their_link_whoever_asks() {
    let _floor = told_on_failure();
    let (source, far_one) = (Postgres::start(), Postgres::start());
    let relay = far(far_one.port());
    let port = relay.local_addr().port();
    links_of_postgres(&source, port);
    is_20_ms_away(&source.url(), source.port(), "by_dblink", "dblink", 1);
    is_20_ms_away(&source.url(), source.port(), "by_wrapper", "postgres_fdw", 4);
    refuses(
        &["ping", "--via", &source.url(), "--database-link", "nowhere"],
        "no foreign server 'nowhere' (it has by_dblink, by_wrapper)",
    );
    relay.stop(std::time::Duration::ZERO);
}

/// Over a link of 20 ms. Bounds from below hold on a busy machine too.
#[test]
fn many_rows_over_a_link_of_postgres_take_its_round_trips() {
    let (source, far_one) = (Postgres::start(), Postgres::start());
    let relay = far(far_one.port());
    let port = relay.local_addr().port();
    links_of_postgres(&source, port);
    let rows = |link: &str, rows: &str| {
        let url = source.url();
        run(&[
            "ping",
            "--via",
            &url,
            "--database-link",
            link,
            "--rows",
            rows,
            "-n",
            "3",
            "--json",
        ])
    };
    // START TRANSACTION, DECLARE, a FETCH for each 100 rows, CLOSE; dblink sends all rows at once.
    for (link, turns) in [("by_wrapper", 8), ("by_dblink", 1)] {
        let found = record(&rows(link, "500"), "database_link");
        let least = found["rows_min_ns"].as_u64().expect("a number");
        assert_eq!(found["rows"], 500, "{found}");
        assert!(least >= turns * 19_900_000, "{found}");
        assert!(found["rows_in_round_trips"].is_f64(), "{found}");
    }
    let words = |link, count| String::from_utf8_lossy(&rows(link, count).stderr).into_owned();
    assert!(words("by_dblink", "1").contains("write a number from 2 to 100000"));
    assert!(
        words("by_wrapper", "90000")
            .contains("the far database's pg_proc, which the foreign table reads, has ")
    );
    relay.stop(std::time::Duration::ZERO);
    refuses(
        &[
            "ping",
            "--via",
            "mysql://u@127.0.0.1:1/x",
            "--database-link",
            "branch",
            "--rows",
            "5",
        ],
        "rows over a link are measured from PostgreSQL and Oracle",
    );
    refuses(
        &["ping", &source.url(), "--rows", "5", "-n", "5"],
        "none but with --via",
    );
}

#[test]
#[ignore = "timing: make test runs it alone"]
fn one_mariadb_is_as_far_from_another_as_their_link_whoever_asks() {
    let _floor = told_on_failure();
    let plugins = "ha_federatedx;ha_connect";
    let source = MariaDb::options().setting("plugin-load-add", plugins).start();
    let far_one = MariaDb::start();
    far_one.sql("create table test.small (id int primary key); insert into test.small values (1)");
    let relay = far(far_one.port());
    let (user, password, port) = (MariaDb::USER, MariaDb::PASSWORD, relay.local_addr().port());
    source.sql(&format!(
        "create server branch foreign data wrapper mysql options (host '127.0.0.1', port {port}, user '{user}', \
         password '{password}', database 'test')"
    ));
    is_20_ms_away(&source.url(), source.port(), "branch/small", "FEDERATED", 2);
    is_20_ms_away(&source.url(), source.port(), "branch", "CONNECT", 4);
    assert_eq!(source.sql("show tables from test"), "", "nothing is left behind");
    refuses(
        &["ping", "--via", &source.url(), "--database-link", "nowhere"],
        "server",
    );
    relay.stop(std::time::Duration::ZERO);
}

#[test]
fn a_script_is_printed_and_what_it_prints_is_read() {
    let script = run(&[
        "ping",
        "--print-script",
        "oracle",
        "--database-link",
        "FAR.EXAMPLE",
        "-n",
        "3",
    ]);
    let script = String::from_utf8_lossy(&script.stdout).into_owned();
    assert!(
        script.contains("dual@FAR.EXAMPLE") && script.trim_end().ends_with('/'),
        "{script}"
    );
    let directory = tempfile::tempdir().expect("temporary directory");
    let file = directory.path().join("ping.out");
    let printed = "Connected.\nlongwire-via begin schema=1 kind=oracle link=FAR.EXAMPLE calls=3\n\
                   longwire-via connect us=3450123 roundtrips=7\nlongwire-via first us=190000 roundtrips=2\n\
                   longwire-via sample n=1 us=190000 roundtrips=2\nlongwire-via sample n=2 us=192000 roundtrips=2\n\
                   longwire-via end samples=2\n";
    std::fs::write(&file, printed).expect("the file is written");
    let found = record(
        &run(&["read", "--json", &file.display().to_string()]),
        "database_link",
    );
    assert_eq!(found["turns_per_call"], 2, "{found}");
    assert_eq!(found["p50_ns"], 95_500_000, "{found}");
    refuses(
        &["ping", "--print-script", "oracle", "--database-link", "far'--"],
        "letters, digits",
    );
    refuses(
        &["ping", "--via", "oracle://db1/shop", "--database-link", "FAR"],
        "by a script",
    );
}

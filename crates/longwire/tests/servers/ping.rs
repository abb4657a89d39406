//! `longwire ping` with real servers: local, behind an emulated link, and lost.

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::process::Stdio;
use std::time::Duration;
use testbed::binary::{self, ends, longwire, of_type, records, shown};
use testbed::floor::told_on_failure;
use testbed::{MariaDb, Postgres, PostgresAuth, Redis};

fn nanos(value: &Value) -> Duration {
    Duration::from_nanos(value.as_u64().unwrap_or_else(|| panic!("no span: {value}")))
}

fn through_link(milliseconds: u64, port: u16, arguments: &[&str]) -> Vec<Value> {
    let link = format!("rtt={milliseconds}ms");
    let forward = port.to_string();
    let mut command = longwire(&["link", "-q", &link, "--forward", &forward, "--"]);
    command.arg(binary::program());
    command
        .args(["ping", "--json", "-n", "9", "-i", "20ms"])
        .args(arguments);
    records(&ends(command, 0))
}

/// Checks that all samples but first ones match the link, with `turns` round trips each.
#[track_caller]
fn is_as_far_as(records: &[Value], milliseconds: u64, turns: u64) {
    let samples = of_type(records, "sample");
    let others: Vec<&&Value> = samples.iter().filter(|sample| sample["first"] == false).collect();
    assert_eq!(others.len(), 9, "{samples:?}");
    for sample in &others {
        assert_eq!(sample["turns"], turns, "{sample}");
        assert!(sample["kernel_rtt_ns"].is_u64(), "{sample}");
    }
    let round_trips = others.iter().map(|sample| nanos(&sample["round_trip_ns"]));
    let round_trip = round_trips.min().expect("samples");
    let rtt = Duration::from_millis(milliseconds);
    // Only the minimum, and roughly: tests run in parallel, and the link subtracts the machine's
    // overhead at setup. Precise figures belong in a benchmark.
    let (least, most) = (rtt - Duration::from_micros(500), rtt + Duration::from_millis(4));
    assert!(
        round_trip >= least && round_trip < most,
        "{round_trip:?} for {rtt:?}"
    );
    let summary = of_type(records, "summary")[0];
    assert_eq!(
        (&summary["sent"], &summary["lost"]),
        (&9.into(), &0.into()),
        "{summary}"
    );
    assert!(
        summary["p50_ns"].is_u64() && summary["per_second"].is_f64(),
        "{summary}"
    );
    assert!(summary.get("p99_ns").is_none(), "withheld: {summary}");
}

#[test]
#[ignore = "timing: make test runs it alone"]
fn postgres_is_as_far_as_its_link() {
    let _floor = told_on_failure();
    let server = Postgres::start();
    let url = server.url();
    let records = through_link(5, server.port(), &[&url]);
    is_as_far_as(&records, 5, 1);
    for sample in of_type(&records, "sample") {
        assert!(
            nanos(&sample["server_ns"]) < Duration::from_millis(50),
            "{sample}"
        );
    }
    assert!(of_type(&records, "summary")[0]["floor_ns"].is_u64());
    is_as_far_as(&through_link(40, server.port(), &[&url]), 40, 1);
    is_as_far_as(&through_link(5, server.port(), &["--no-login", &url]), 5, 1);
}

#[test]
#[ignore = "timing: make test runs it alone"]
fn mariadb_is_as_far_as_its_link() {
    let _floor = told_on_failure();
    let server = MariaDb::start();
    let url = server.url();
    let records = through_link(5, server.port(), &[&url]);
    is_as_far_as(&records, 5, 1);
    assert!(
        of_type(&records, "sample")
            .iter()
            .all(|sample| sample["server_ns"].is_u64())
    );
    let greeted = through_link(5, server.port(), &["--no-login", &url]);
    is_as_far_as(&greeted, 5, 2);
    assert!(shown_warnings(&greeted).contains("max_connect_errors"));
}

fn shown_warnings(records: &[Value]) -> String {
    of_type(records, "warning")
        .iter()
        .map(|warning| warning["text"].to_string())
        .collect()
}

#[test]
#[ignore = "timing: make test runs it alone"]
fn redis_is_as_far_as_its_link_with_a_password_or_without() {
    let _floor = told_on_failure();
    let server = Redis::start_with_password();
    let port = server.port();
    is_as_far_as(&through_link(5, port, &["--no-login", &server.url()]), 5, 1);
    let wrong = format!("redis://:wrong@127.0.0.1:{port}");
    let unsent = shown(&ends(longwire(&["ping", "-n", "1", &wrong]), 2));
    assert!(
        unsent.contains("not encrypted") && unsent.contains("--allow-cleartext-password"),
        "{unsent}"
    );
    let locked = longwire(&[
        "ping",
        "--allow-cleartext-password",
        "-n",
        "1",
        "-i",
        "1ms",
        &wrong,
    ]);
    let refused = shown(&ends(locked, 2));
    assert!(
        refused.contains("login refused") && refused.contains("hint:"),
        "{refused}"
    );
    assert!(
        !refused.contains("wrong@") && !refused.contains(":wrong"),
        "{refused}"
    );
}

#[test]
fn a_prepared_statement_costs_two_turns_at_first() {
    let (postgres, mariadb) = (Postgres::start(), MariaDb::start());
    for url in [postgres.url(), mariadb.url()] {
        let pinged = longwire(&["ping", "--json", "--prepared", "-n", "3", "-i", "1ms", &url]);
        let records = records(&ends(pinged, 0));
        let turns: Vec<&Value> = of_type(&records, "sample")
            .iter()
            .map(|sample| &sample["turns"])
            .collect();
        assert_eq!(turns, [2, 1, 1, 1], "{url}");
    }
}

#[test]
fn a_statement_that_fails_is_answered_and_an_error() {
    let server = Postgres::start();
    let asked = longwire(&[
        "ping",
        "--json",
        "--statement",
        "select 1/0",
        "-n",
        "2",
        "-i",
        "1ms",
        &server.url(),
    ]);
    let records = records(&ends(asked, 1));
    let summary = of_type(&records, "summary")[0];
    assert_eq!(
        (&summary["answered"], &summary["errors"], &summary["lost"]),
        (&2.into(), &2.into(), &0.into())
    );
    let error = of_type(&records, "sample")[0]["error"].to_string();
    assert!(error.contains("22012") && !error.contains("1/0"), "{error}");
}

#[test]
fn a_server_that_restarts_is_lost_and_found_again() {
    let server = Postgres::start();
    let port = server.port();
    let door = Door::open(port);
    let url = server
        .url()
        .replace(&format!(":{port}"), &format!(":{}", door.port));
    let mut child = longwire(&["ping", "--json", "-n", "30", "-i", "20ms", "-W", "2s", &url])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("longwire can be started");
    let mut lines = BufReader::new(child.stdout.take().expect("piped"))
        .lines()
        .map_while(Result::ok);
    let mut seen: Vec<Value> = Vec::new();
    let mut door = Some(door);
    let mut held = None;
    for line in &mut lines {
        seen.push(serde_json::from_str(&line).expect("a record"));
        let lost = seen.iter().filter(|record| record["error"].is_string()).count();
        if seen.len() == 6 {
            held = door.take().map(Door::shut);
        } else if lost >= 3 && door.is_none() {
            door = held.take().map(|port| Door::open_at(server.port(), port));
        }
    }
    assert_eq!(child.wait().expect("it ends").code(), Some(0));
    let samples = of_type(&seen, "sample");
    let lost = samples
        .iter()
        .filter(|sample| sample["error"].is_string())
        .count();
    assert!(lost >= 3, "{seen:?}");
    let last = samples.last().expect("samples");
    assert!(last["error"].is_null() && last["first"] == false, "{last}");
    assert_eq!(
        samples.iter().filter(|sample| sample["first"] == true).count(),
        2,
        "one a connection"
    );
    let summary = of_type(&seen, "summary")[0];
    assert_eq!(
        (&summary["sent"], &summary["lost"]),
        (&30.into(), &lost.into()),
        "{summary}"
    );
}

/// A path to a server that can be closed: connections break, and new ones are refused.
struct Door {
    port: u16,
    shut: std::sync::Arc<std::sync::atomic::AtomicBool>,
    thread: std::thread::JoinHandle<()>,
}

impl Door {
    fn open(server: u16) -> Self {
        Self::open_at(server, 0)
    }

    fn open_at(server: u16, port: u16) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).expect("the port is free");
        let port = listener.local_addr().expect("an address").port();
        let shut = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
        let shutting = shut.clone();
        let thread = std::thread::spawn(move || {
            let mut streams = Vec::new();
            while let Ok((client, _)) = listener.accept() {
                if shutting.load(std::sync::atomic::Ordering::Relaxed) {
                    break;
                }
                let inner = TcpStream::connect((Ipv4Addr::LOCALHOST, server)).expect("the server listens");
                for (from, to) in [(&client, &inner), (&inner, &client)] {
                    let (mut from, mut to) = (
                        from.try_clone().expect("a clone"),
                        to.try_clone().expect("a clone"),
                    );
                    std::thread::spawn(move || std::io::copy(&mut from, &mut to));
                }
                streams.extend([client, inner]);
            }
            for stream in streams {
                stream.shutdown(std::net::Shutdown::Both).ok();
            }
        });
        Self { port, shut, thread }
    }

    fn shut(self) -> u16 {
        self.shut.store(true, std::sync::atomic::Ordering::Relaxed);
        TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)).ok();
        self.thread.join().expect("the door shuts");
        self.port
    }
}

#[test]
fn what_cannot_be_asked_says_why_and_shows_no_secret() {
    let server = Postgres::options().auth(PostgresAuth::ScramSha256).start();
    let (port, nobody) = (server.port(), testbed::process::free_port());
    for (target, says) in [
        (
            format!("postgres://postgres:hunter2@127.0.0.1:{port}/postgres"),
            "28P01",
        ),
        (
            server
                .url()
                .replace(&format!("{port}/postgres"), &format!("{port}/nosuchdatabase")),
            "3D000",
        ),
        (format!("postgres://127.0.0.1:{nobody}"), "connection refused"),
        ("postgres://nosuchhost.invalid".to_owned(), "no such host"),
        (
            format!("http://127.0.0.1:{nobody}/?password=hunter2"),
            "connection refused",
        ),
    ] {
        let told = shown(&ends(longwire(&["ping", "-n", "1", &target]), 2));
        assert!(told.contains(says) && told.contains("hint: "), "{target}: {told}");
        assert!(!told.contains("hunter2"), "{told}");
    }
    for (arguments, says) in [
        (["-n", "0"], "0 is not in 1.."),
        (["-n", "-3"], "unexpected argument"),
        (["-n", "99999999999999999999999"], "too large"),
        (["-i", "0s"], "--flood"),
        (["-i", "1"], "unit"),
        (["-i", "4000h"], "more than a day"),
        (["-W", "0s"], "--timeout"),
        (["--statement", "select 1"], "there is no SQL"),
    ] {
        let target = format!("tcp://127.0.0.1:{port}");
        let told = shown(&ends(longwire(&["ping", arguments[0], arguments[1], &target]), 2));
        assert!(told.contains(says), "{arguments:?}: {told}");
    }
}

#[test]
fn silence_is_lost_and_the_answer_negative() {
    // The backlog accepts connections, but no process answers.
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a free port");
    let target = format!(
        "postgres://127.0.0.1:{}",
        listener.local_addr().expect("an address").port()
    );
    let told = shown(&ends(
        longwire(&["ping", "-n", "2", "-i", "10ms", "-W", "50ms", &target]),
        1,
    ));
    assert!(told.contains("2 sent, 0 answered, 100 % lost"), "{told}");
}

#[test]
fn ctrl_c_prints_the_summary() {
    let server = Postgres::start();
    let mut child = longwire(&["ping", "-i", "30s", &server.url()])
        .stdout(Stdio::piped())
        .spawn()
        .expect("longwire can be started");
    let mut lines = BufReader::new(child.stdout.take().expect("piped"));
    let mut text = String::new();
    while !text.contains("seq=1 ") {
        assert!(lines.read_line(&mut text).expect("it prints") > 0, "{text}");
    }
    kill_process(Pid::from_child(&child), Signal::INT).expect("it runs");
    lines.read_to_string(&mut text).expect("it prints");
    assert_eq!(child.wait().expect("it ends").code(), Some(130));
    assert!(text.contains("1 sent, 1 answered, 0 % lost"), "{text}");
}

#[test]
fn several_targets_are_asked_at_once_and_scraped_meanwhile() {
    let (postgres, redis) = (Postgres::start(), Redis::start());
    let metrics = format!("127.0.0.1:{}", testbed::process::free_port());
    let mut child = longwire(&[
        "ping",
        "-i",
        "20ms",
        "--icmp",
        "--prometheus",
        &metrics,
        &postgres.url(),
        &redis.url(),
    ])
    .stdout(Stdio::piped())
    .stderr(Stdio::null())
    .spawn()
    .expect("longwire can be started");
    let mut lines = BufReader::new(child.stdout.take().expect("piped"));
    let mut text = String::new();
    while !(text.contains("icmp://127.0.0.1: seq=2") && text.contains(": seq=3 ")) {
        assert!(lines.read_line(&mut text).expect("it prints") > 0, "{text}");
    }
    let mut scrape = TcpStream::connect(&metrics).expect("it serves");
    scrape
        .write_all(b"GET /metrics HTTP/1.1\r\n\r\n")
        .expect("it listens");
    let mut page = String::new();
    scrape.read_to_string(&mut page).expect("it answers");
    assert!(
        page.contains("longwire_ping_duration_seconds_bucket{target=\"postgres://"),
        "{page}"
    );
    assert!(
        page.contains("longwire_ping_sent_total{target=\"redis://"),
        "{page}"
    );
    kill_process(Pid::from_child(&child), Signal::INT).expect("it runs");
    lines.read_to_string(&mut text).expect("it prints");
    assert_eq!(child.wait().expect("it ends").code(), Some(130));
    assert_eq!(text.matches("\n--- ").count(), 3, "{text}");
}

#[test]
fn one_target_that_cannot_be_asked_does_not_keep_others_from_it() {
    let server = Redis::start();
    let refused = format!("tcp://127.0.0.1:{}", testbed::process::free_port());
    let ping = |targets: &[&str]| {
        let mut command = longwire(&["ping", "-n", "1", "-i", "1ms"]);
        command.args(targets);
        command
    };
    let told = shown(&ends(ping(&[&server.url(), &refused]), 1));
    assert!(
        told.contains("1 sent, 1 answered") && told.contains("connection refused"),
        "{told}"
    );
    let told = shown(&ends(ping(&[&refused, "tcp://nosuchhost.invalid:1"]), 2));
    assert!(told.contains("no such host"), "{told}");
}

#[test]
fn legs_of_a_connection_sum_to_its_sample() {
    let server = Postgres::options().auth(PostgresAuth::ScramSha256).start();
    let pinged = longwire(&[
        "ping",
        "--connect",
        "--json",
        "-n",
        "2",
        "-i",
        "1ms",
        &server.url(),
    ]);
    let records = records(&ends(pinged, 0));
    let samples = of_type(&records, "sample");
    assert_eq!(samples.len(), 3);
    for (number, sample) in (1_u64..).zip(samples) {
        let legs: Vec<&Value> = of_type(&records, "leg")
            .into_iter()
            .filter(|leg| leg["number"] == number)
            .collect();
        let sum = |key: &str| {
            legs.iter()
                .map(|leg| leg[key].as_u64().expect("a number"))
                .sum::<u64>()
        };
        assert_eq!(
            sum("duration_ns"),
            sample["duration_ns"].as_u64().expect("a span"),
            "{legs:?}"
        );
        assert_eq!(sum("turns"), sample["turns"].as_u64().expect("turns"), "{legs:?}");
        assert_eq!(legs.last().expect("legs")["name"], "first query");
    }
    let shown = shown(&ends(
        longwire(&["ping", "--connect", "-q", "-n", "1", "-i", "1ms", &server.url()]),
        0,
    ));
    assert!(
        shown.contains("Opening postgres://") && shown.contains("first query"),
        "{shown}"
    );
}

/// With a wrong scheme or port, longwire neither waits nor reports a loss.
#[test]
fn a_server_of_another_protocol_is_named_at_once() {
    let mariadb = MariaDb::start();
    for (scheme, port, flags, said) in [
        (
            "postgres",
            mariadb.port(),
            &[][..],
            "it speaks mysql, not postgres",
        ),
        (
            "postgres",
            mariadb.port(),
            &["--no-login"],
            "it speaks mysql, not postgres",
        ),
        ("redis", mariadb.port(), &[], "it speaks mysql, not redis"),
        ("http", mariadb.port(), &[], "it speaks mysql, not http"),
    ] {
        let target = format!("{scheme}://app@127.0.0.1:{port}/");
        let mut command = longwire(&["ping", "-n", "2", "--timeout", "60s"]);
        let output = command
            .args(flags)
            .arg(&target)
            .output()
            .expect("the binary starts");
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(
            text.contains(said),
            "{target}: {text}{}",
            String::from_utf8_lossy(&output.stdout)
        );
        assert!(
            !String::from_utf8_lossy(&output.stdout).contains("lost"),
            "{target}"
        );
        assert_eq!(output.status.code(), Some(2), "{target}: {text}");
    }
}

/// Forwards all bytes with this delay each way, like a tunnel with a distant far end. Returns the
/// listening port.
fn tunnel_to(port: u16, delay: Duration) -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
    let near = listener.local_addr().expect("an address").port();
    std::thread::spawn(move || {
        for client in listener.incoming().flatten() {
            let server = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).expect("the server");
            let ways = [
                (
                    client.try_clone().expect("a socket"),
                    server.try_clone().expect("a socket"),
                ),
                (server, client),
            ];
            for (mut from, mut to) in ways {
                std::thread::spawn(move || {
                    let mut bytes = [0; 4096];
                    while let Ok(count @ 1..) = from.read(&mut bytes) {
                        std::thread::sleep(delay);
                        if to.write_all(&bytes[..count]).is_err() {
                            break;
                        }
                    }
                });
            }
        }
    });
    near
}

#[test]
fn what_answers_tcp_in_front_of_a_distant_server_is_named() {
    let server = Redis::start();
    let near = tunnel_to(server.port(), Duration::from_millis(60));
    let ping = |port: u16, arguments: &[&str]| {
        let url = format!("redis://127.0.0.1:{port}");
        let mut command = longwire(&["ping", "-n", "6", "-i", "20ms", &url]);
        command.args(arguments);
        ends(command, 0)
    };
    let said = records(&ping(near, &["--json"]));
    let found = of_type(&said, "intermediary");
    assert_eq!(found.len(), 1, "{said:?}");
    let (connection, answer) = (nanos(&found[0]["near_rtt_ns"]), nanos(&found[0]["round_trip_ns"]));
    assert!(
        connection * 10 <= answer && answer >= Duration::from_millis(120),
        "{:?}",
        found[0]
    );
    assert_eq!(found[0]["server_reported"], false);
    let warnings = of_type(&said, "warning");
    let names = |record: &&&Value| {
        record["text"]
            .as_str()
            .is_some_and(|text| text.contains("answers TCP for the server"))
    };
    assert_eq!(warnings.iter().filter(names).count(), 1, "{warnings:?}");
    let said = records(&ping(server.port(), &["--json"]));
    assert_eq!(of_type(&said, "intermediary").len(), 0, "{said:?}");
}

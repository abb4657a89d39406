//! `longwire watch` with real servers: transparent to the application, with correct reports.

use serde_json::Value;
use std::io::{Read, Write};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};
use testbed::binary::{done, longwire, of_type, records, sum};
use testbed::waiting::wait_until;
use testbed::{Capture, MariaDb, Postgres, PostgresAuth, Started};

fn watch(options: &[&str], script: &str) -> Output {
    longwire(options)
        .args(["--", "sh", "-c", script])
        .output()
        .expect("the binary starts")
}

fn watch_at_a_terminal(options: &str) -> Child {
    let mut terminal = Command::new(testbed::require("script"));
    let run = format!("{} watch {options}", testbed::binary::program().display());
    terminal.args(["-qec", &run, "/dev/null"]);
    terminal.stdin(Stdio::piped()).stdout(Stdio::piped());
    terminal.spawn().expect("script starts")
}

fn shown_by(terminal: Child) -> String {
    let output = terminal.wait_with_output().expect("it ends");
    String::from_utf8(output.stdout).expect("text")
}

#[test]
fn progress_is_not_mixed_into_what_a_command_shows_at_the_same_terminal() {
    let server = Postgres::start();
    let script =
        "for i in 1 2 3; do psql -X -q -c \"select 1\" >/dev/null; printf .; sleep 0.5; done; echo done";
    let terminal = watch_at_a_terminal(&format!("{} -- sh -c '{script}'", server.url()));
    let shown = shown_by(terminal);
    assert!(shown.contains("...done\r\n"), "{shown:?}");
    let (before, view) = shown.split_once("...done").expect("the command's own output");
    assert!(!before.contains("connection open"), "{before:?}");
    assert!(
        !shown.contains("exchanges/s") && view.contains("3 connections"),
        "{shown:?}"
    );
}

#[test]
fn without_a_command_a_terminal_has_one_line_of_progress_which_goes() {
    let server = Postgres::start();
    let port = testbed::process::free_port();
    let mut terminal = watch_at_a_terminal(&format!("{} --listen 127.0.0.1:{port}", server.url()));
    let mut output = terminal.stdout.take().expect("piped");
    let mut shown = Vec::new();
    let mut until = |words: &str, count: usize| {
        let mut byte = [0];
        while String::from_utf8_lossy(&shown).matches(words).count() < count {
            output.read_exact(&mut byte).expect("it goes on");
            shown.push(byte[0]);
        }
        String::from_utf8_lossy(&shown).into_owned()
    };
    until("relaying", 1);
    testbed::process::run({
        let mut psql = server.client_at("psql", port);
        psql.args(["-X", "-c", "select 1"]);
        psql
    });
    let progress = until("exchanges/s", 2);
    let lines = progress.lines().filter(|line| line.contains("exchanges/s"));
    assert_eq!(lines.count(), 1, "{progress:?}");
    let mut keys = terminal.stdin.take().expect("piped");
    keys.write_all(b"\x03").expect("the terminal takes keys");
    let end = until("1 connection, ", 1);
    let last = end.rsplit("exchanges/s").next().expect("the end");
    assert!(last.contains("\r\x1b[K"), "it is cleared: {last:?}");
    assert!(output.read_to_end(&mut Vec::new()).is_ok(), "it ends");
    terminal.wait().expect("it ends");
}

#[test]
fn the_relay_counts_what_a_capture_behind_it_counts() {
    let server = Postgres::start();
    let capture = Capture::start(server.port());
    let script = "for page in 1 2 3; do psql -X -q -c 'select 1' -c 'begin' -c 'create table if not exists t(i int)' \
                  -c 'insert into t select generate_series(1,500)' -c 'commit' -c 'table t' >/dev/null || exit 1; done";
    let by_connection = ["watch", "--json", "--operations", "connection", &server.url()];
    let watched = watch(&by_connection, script);
    done(&watched);
    let captured = capture.stop();
    let read = longwire(&["read", "--json", &captured.path().display().to_string()])
        .output()
        .expect("it starts");
    done(&read);
    let (watched, mut read) = (records(&watched), records(&read));
    // Excludes longwire's connections that checked the server and its TLS support.
    read.retain(|record| record["type"] != "connection" || record["server_payload_bytes"].as_u64() > Some(1));
    for key in [
        "turns",
        "exchanges",
        "statements",
        "client_payload_bytes",
        "server_payload_bytes",
    ] {
        let (relay, wire) = (sum(&watched, "connection", key), sum(&read, "connection", key));
        assert_eq!(relay, wire, "{key}: the relay says {relay}, the capture {wire}");
    }
    let calls = |records: &[Value]| -> Vec<(String, u64)> {
        let statements = records.iter().filter(|record| record["type"] == "statement");
        let mut calls: Vec<(String, u64)> = statements
            .map(|record| {
                (
                    record["fingerprint"].to_string(),
                    record["calls"].as_u64().expect("a number"),
                )
            })
            .collect();
        calls.sort();
        calls
    };
    assert_eq!(calls(&watched), calls(&read));
    // Excludes the relay's probe.
    assert_eq!(
        watched
            .iter()
            .filter(|record| record["type"] == "operation")
            .count(),
        3
    );
}

#[test]
fn copy_both_ways_loses_no_byte() {
    let server = Postgres::start();
    let folder = tempfile::tempdir().expect("a temporary directory");
    let file = folder.path().join("rows.tsv").display().to_string();
    server.sql("create table source as select i, md5(i::text) a, repeat(md5((i*7)::text), 8) b from generate_series(1, 200000) i");
    server.sql("create table target (like source)");
    let script =
        format!("psql -X -q -c '\\copy source to {file}' && psql -X -q -c '\\copy target from {file}'");
    let watched = watch(&["watch", "--json", &server.url()], &script);
    done(&watched);
    let sums = |table: &str| {
        server.sql(&format!(
            "select count(*), md5(string_agg({table}::text, '' order by i)) from {table}"
        ))
    };
    assert_eq!(sums("source"), sums("target"));
    let watched = records(&watched);
    let length = std::fs::metadata(&file).expect("the copy was written").len();
    assert!(sum(&watched, "connection", "server_payload_bytes") >= length);
    assert!(sum(&watched, "connection", "client_payload_bytes") >= length);
    let copy = watched
        .iter()
        .find(|record| {
            record["type"] == "statement" && record["fingerprint"].to_string().contains("copy  target")
                || record["fingerprint"].to_string().contains("copy target")
        })
        .expect("the COPY is a statement");
    // Two round trips: the server requests the data, then confirms it.
    assert_eq!(
        (copy["turns"].as_u64(), copy["rows"].as_u64()),
        (Some(2), Some(200_000))
    );
}

#[test]
fn a_dump_and_its_restore_are_the_same_database() {
    let server = MariaDb::start();
    server.sql(
        "create database shop; create database copy; grant all on *.* to 'longwire'@'%'; use shop; \
         create table t (i int primary key, v varchar(300), b blob); \
         insert into t select seq, repeat(md5(seq), 9), unhex(sha2(seq, 512)) from seq_1_to_20000",
    );
    let folder = tempfile::tempdir().expect("a temporary directory");
    let dump = folder.path().join("dump.sql").display().to_string();
    let reach = "--no-defaults --protocol=tcp --host=$MYSQL_HOST --port=$MYSQL_TCP_PORT --user=longwire";
    let script = format!(
        "mariadb-dump {reach} --single-transaction shop > {dump} && mariadb {reach} copy < {dump} && \
         mariadb {reach} --compress copy -e 'select count(*) from t' >&2"
    );
    let watched = watch(&["watch", "--json", &server.url()], &script);
    done(&watched);
    let sum_of = |database: &str| {
        server
            .sql(&format!("checksum table {database}.t"))
            .split('\t')
            .next_back()
            .map(str::to_owned)
    };
    assert_eq!(sum_of("shop"), sum_of("copy"));
    let watched = records(&watched);
    // This machine's sender behaviour, and unexplained waits, depend on the machine rather than the
    // dump.
    let of_the_machine = ["paced-senders", "unexplained-wait"];
    let is_of_the_dump =
        |record: &&Value| !of_the_machine.contains(&record["kind"].as_str().unwrap_or_default());
    let mut warnings = of_type(&watched, "warning").into_iter().filter(is_of_the_dump);
    assert!(warnings.next().is_none(), "{watched:?}");
    assert!(
        watched
            .iter()
            .any(|record| record["type"] == "statement" && record["rows"] == 20_000)
    );
}

#[test]
fn five_hundred_connections_at_once() {
    let server = Postgres::options().setting("max_connections", "600").start();
    let script = "pgbench -n -i -q -s 1 >/dev/null 2>&1; pgbench -n -S -c 500 -j 2 -t 4";
    let output = watch(&["watch", "--quiet", &server.url()], script);
    done(&output);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        text.contains("number of transactions actually processed: 2000/2000"),
        "{text}"
    );
    assert!(text.contains("50"), "{text}");
}

#[test]
fn the_command_ends_the_run_and_its_status_passes_through() {
    let server = Postgres::start();
    assert_eq!(watch(&["watch", &server.url()], "exit 7").status.code(), Some(7));
    assert_eq!(
        watch(&["watch", &server.url()], "kill -9 $$").status.code(),
        Some(137)
    );
    let told = watch(
        &["watch", &server.url()],
        "echo $LONGWIRE_HOST:$LONGWIRE_PORT $DATABASE_URL",
    );
    let text = String::from_utf8_lossy(&told.stdout);
    let line = text
        .lines()
        .next()
        .expect("the command's own output passes through");
    let (address, url) = line.split_once(' ').expect("address and URL");
    assert!(
        url.contains(address) && address.starts_with("127.0.0.1:"),
        "{line}"
    );
    let replaced = longwire(&["watch", &server.url(), "--", "echo", "{host}", "{port}", "{url}"])
        .output()
        .expect("it starts");
    let text = String::from_utf8_lossy(&replaced.stdout);
    assert!(
        text.starts_with("127.0.0.1 ") && text.contains("postgres://"),
        "{text}"
    );
}

#[test]
fn neither_password_nor_literal_reaches_an_output() {
    let server = Postgres::options().auth(PostgresAuth::Md5).start();
    let folder = tempfile::tempdir().expect("a temporary directory");
    let recording = folder.path().join("run.lwr").display().to_string();
    let script = "psql -X -q -c \"select 'a-literal-secret'\" >/dev/null";
    for json in [&["--json", "--exchanges"][..], &[]] {
        let mut options = vec!["watch", "-o", &recording];
        options.extend(json);
        let url = server.url();
        options.push(&url);
        let output = watch(&options, script);
        done(&output);
        let plain = longwire(&["read", "--json", "--exchanges", &recording])
            .output()
            .expect("it starts");
        done(&plain);
        for text in [&output.stdout, &output.stderr, &plain.stdout, &plain.stderr] {
            let text = String::from_utf8_lossy(text);
            assert!(!text.contains(Postgres::PASSWORD), "{text}");
            assert!(!text.contains("a-literal-secret"), "{text}");
        }
    }
    let kept = watch(
        &["watch", "--json", "--exchanges", "--keep-literals", &server.url()],
        script,
    );
    assert!(String::from_utf8_lossy(&kept.stdout).contains("a-literal-secret"));
}

#[test]
fn a_recording_gives_the_same_answer_again() {
    let server = Postgres::start();
    let folder = tempfile::tempdir().expect("a temporary directory");
    let recording = folder.path().join("run.lwr").display().to_string();
    let script = "pgbench -n -i -q -s 1 >/dev/null 2>&1; pgbench -n -c 4 -t 50 >/dev/null 2>&1";
    let first = watch(&["watch", "--json", "-o", &recording, &server.url()], script);
    done(&first);
    let again = longwire(&["read", "--json", &recording])
        .output()
        .expect("it starts");
    done(&again);
    let (first, again) = (records(&first), records(&again));
    let summary = |records: &[Value]| {
        let mut summary = records.last().expect("a summary").clone();
        assert_eq!(summary["type"], "summary");
        // The relay closes open connections in a different order from the recording.
        summary.as_object_mut().expect("an object").remove("duration_ns");
        summary
    };
    assert_eq!(summary(&first), summary(&again));
    let transactions = longwire(&["read", "--json", "--operations", "transaction", &recording])
        .output()
        .expect("it starts");
    let updates = records(&transactions)
        .into_iter()
        .filter(|record| record["kind"] == "transaction" && record["turns"] == 7)
        .count();
    // BEGIN, three updates, a select, an insert, COMMIT.
    assert_eq!(updates, 200);
}

#[test]
fn tls_to_the_server_is_ours_and_the_statements_are_seen() {
    let server = Postgres::options().tls().start();
    let authority = server
        .certificate()
        .expect("started with TLS")
        .authority()
        .display()
        .to_string();
    let url = format!(
        "{}?sslmode=verify-full&sslrootcert={authority}",
        server.url().replace("127.0.0.1", "localhost")
    );
    let query = "psql -X -A -t -c 'select ssl from pg_stat_ssl where pid = pg_backend_pid()'";
    let output = watch(&["watch", "--json", &url], &format!("test $({query}) = t"));
    done(&output);
    let seen = records(&output);
    assert!(
        seen.iter()
            .any(|record| record["fingerprint"].to_string().contains("pg_stat_ssl")),
        "{seen:?}"
    );
    let other = Postgres::options().tls().start();
    let wrong = other
        .certificate()
        .expect("started with TLS")
        .authority()
        .display()
        .to_string();
    let distrusted = url.replace(&authority, &wrong);
    let refused = watch(&["watch", &distrusted], query);
    assert_ne!(refused.status.code(), Some(0));
    let text = String::from_utf8_lossy(&refused.stderr) + String::from_utf8_lossy(&refused.stdout);
    assert!(text.contains("certificate"), "{text}");
}

#[test]
fn a_client_that_insists_on_tls_passes_through_unseen_and_that_is_said() {
    let server = Postgres::options().tls().start();
    let query =
        "PGSSLMODE=require psql -X -A -t -c 'select ssl from pg_stat_ssl where pid = pg_backend_pid()'";
    let output = watch(
        &["watch", "--json", &server.url()],
        &format!("test $({query}) = t"),
    );
    done(&output);
    let seen = records(&output);
    let connection = seen
        .iter()
        .find(|record| record["type"] == "connection")
        .expect("one connection");
    assert_eq!(connection["encrypted"], true);
    assert!(connection["turns"].as_u64() > Some(4), "{connection}");
    assert!(
        seen.iter()
            .any(|record| record["type"] == "warning" && record["text"].to_string().contains("encrypted"))
    );
}

#[test]
fn a_server_that_dies_mid_query_ends_the_query_and_not_the_relay() {
    let mut server = Postgres::start();
    let running = longwire(&["watch", "--json", &server.url()])
        .args([
            "--",
            "sh",
            "-c",
            "psql -X -c 'select pg_sleep(60)'; psql -X -c 'select 1'; exit 3",
        ])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    wait_until("the query runs", || {
        server
            .sql("select count(*) from pg_stat_activity where query like '%pg_sleep(60)%'")
            .trim()
            == "2"
    });
    let began = Instant::now();
    server.kill();
    let output = running.wait_with_output().expect("it ends");
    assert!(began.elapsed() < Duration::from_secs(20), "a stuck connection");
    assert_eq!(output.status.code(), Some(3));
    let warnings: Vec<Value> = records(&output)
        .into_iter()
        .filter(|record| record["type"] == "warning")
        .collect();
    assert!(
        warnings
            .iter()
            .any(|warning| warning["text"].to_string().contains("refused")),
        "{warnings:?}"
    );
}

#[test]
fn ctrl_c_ends_in_the_summary_and_status_130() {
    let server = Postgres::start();
    let mut command = longwire(&["watch", &server.url(), "--listen", "127.0.0.1:0"]);
    let (running, _) = Started::listening(command.stdout(Stdio::piped()), "relaying ");
    let output = running.interrupt();
    assert_eq!(output.status.code(), Some(130));
    assert!(
        String::from_utf8_lossy(&output.stdout).contains("No TCP connection was seen"),
        "{output:?}"
    );
    assert!(
        String::from_utf8_lossy(&output.stderr).contains("relaying 127.0.0.1:"),
        "{output:?}"
    );
}

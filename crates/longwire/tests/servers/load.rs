//! `longwire load` with real servers: counts match the servers' work, and errors are reported.

use serde_json::Value;
use std::io::Write;
use std::process::{Command, Output, Stdio};
use testbed::binary::{self, records, stdout};
use testbed::{MariaDb, Postgres, Started};

fn load(arguments: &[&str]) -> Output {
    command(arguments).output().expect("the binary starts")
}

fn command(arguments: &[&str]) -> Command {
    let mut command = binary::longwire(&["load"]);
    command.args(arguments);
    command
}

#[track_caller]
fn assert_ended(output: &Output, status: i32, text: &str) {
    let said = String::from_utf8_lossy(&output.stderr);
    let printed = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(status), "{said}{printed}");
    assert!(said.contains(text) || printed.contains(text), "{said}{printed}");
}

fn script(text: &str) -> tempfile::NamedTempFile {
    let mut file = tempfile::Builder::new()
        .suffix(".sql")
        .tempfile()
        .expect("a file");
    file.write_all(text.as_bytes()).expect("it is written");
    file
}

#[test]
fn each_number_of_clients_is_a_run() {
    let server = Postgres::start();
    let url = server.url();
    let asked = ["-c", "1,4", "-t", "5", "-P", "0", "--statement", "select 1", &url];
    let records = records(&load(&[&asked[..], &["--json"]].concat()));
    let figures = |kind: &str, key: &str| -> Vec<u64> {
        let of_type = binary::of_type(&records, kind).into_iter();
        of_type
            .map(|record| record[key].as_u64().expect("a number"))
            .collect()
    };
    assert_eq!(figures("load", "clients"), [1, 4]);
    assert_eq!(figures("summary", "operations"), [5, 20]);
    assert_eq!(binary::of_type(&records, "conditions").len(), 1);
    let text = load(&asked);
    let shown = stdout(&text);
    let row = |count: &str| shown.lines().any(|line| line.trim_start().starts_with(count));
    assert!(row("clients") && row("1 ") && row("4 "), "{shown}");
    assert_ended(
        &load(&[&asked[..], &["--all"]].concat()),
        0,
        "number of clients: 4",
    );
    let page = ["--html", "/nonexistent/page.html"];
    assert_ended(&load(&[&asked[..], &page].concat()), 2, "holds one run");
}

#[test]
fn tables_are_made_and_the_builtin_scripts_run_on_them() {
    let server = Postgres::start();
    let url = server.url();
    assert_ended(
        &load(&["--initialize", "-s", "2", "-I", "dtgvpf", &url]),
        0,
        "tables of scale 2 are ready",
    );
    let counted = server.sql(
        "select count(*), min(aid), max(aid), count(distinct bid), sum(abalance) from pgbench_accounts; \
         select count(*), max(tid) from pgbench_tellers; select count(*) from pg_constraint where conname like 'pgbench%'",
    );
    assert_eq!(
        counted.split_whitespace().collect::<Vec<_>>(),
        ["200000|1|200000|2|0", "20|20", "8"]
    );

    let ran = load(&[
        "-c",
        "3",
        "-t",
        "40",
        "-M",
        "prepared",
        "-b",
        "tpcb-like@1",
        "-b",
        "sel@1",
        "--json",
        &url,
    ]);
    assert_ended(&ran, 0, "");
    let records = records(&ran);
    let of = |kind: &'static str| records.iter().filter(move |record| record["type"] == kind);
    assert_eq!(records[0]["type"], "conditions");
    let scripts: Vec<u64> = of("script")
        .map(|record| record["samples"].as_u64().unwrap())
        .collect();
    assert_eq!(scripts.iter().sum::<u64>(), 120);
    let summary = records.last().expect("there is a summary");
    assert_eq!((&summary["sent"], &summary["errors"]), (&120.into(), &0.into()));
    assert!(
        summary["p50_ns"].is_u64() && summary["per_second"].as_f64() > Some(0.0),
        "{summary}"
    );
    // Seven statements and one, one round trip each, plus one per client that prepares.
    let turns = summary["turns"].as_u64().unwrap();
    let least = 7 * scripts[0] + scripts[1];
    assert!((least..=least + 3 * 8).contains(&turns), "{turns} of {scripts:?}");
    let history = server.sql("select count(*) from pgbench_history");
    assert_eq!(history.trim(), scripts[0].to_string());
    let sums = server.sql(
        "select (select sum(delta) from pgbench_history) = (select sum(abalance) from pgbench_accounts), \
         (select sum(delta) from pgbench_history) = (select sum(bbalance) from pgbench_branches)",
    );
    assert_eq!(sums.trim(), "t|t");
}

#[test]
fn a_recording_is_read_and_predicted_from() {
    let server = MariaDb::start();
    let url = server.url();
    // The second time with tables that reference each other.
    for _ in 0..2 {
        assert_ended(
            &load(&["--initialize", "-I", "dtgvpf", &url]),
            0,
            "tables of scale 1 are ready",
        );
    }
    let counted = server.sql("select count(*), min(aid), max(aid) from test.pgbench_accounts");
    assert_eq!(
        counted.split_whitespace().collect::<Vec<_>>(),
        ["100000", "1", "100000"]
    );

    let file = tempfile::tempdir().expect("a directory");
    let recording = file.path().join("run.lwr").display().to_string();
    let ran = load(&[
        "-t",
        "20",
        "-c",
        "2",
        "-r",
        "-o",
        &recording,
        "--summary",
        "jmeter",
        "--all",
        &url,
    ]);
    assert_ended(&ran, 0, "Samples                       40");
    assert_ended(
        &ran,
        0,
        "update pgbench_tellers set tbalance = tbalance + ? where tid = ?",
    );
    let longwire = |arguments: &[&str]| {
        Command::new(binary::program())
            .args(arguments)
            .output()
            .expect("the binary starts")
    };
    let read = longwire(&["read", "--json", &recording]);
    let transactions: Vec<Value> = records(&read)
        .into_iter()
        .filter(|record| record["type"] == "operation" && record["kind"] == "transaction")
        .collect();
    assert_eq!(
        transactions.iter().filter(|record| record["turns"] == 7).count(),
        40
    );
    let predicted = longwire(&["predict", "--rtt", "40ms", "--json", &recording]);
    let names: Vec<Value> = records(&predicted)
        .into_iter()
        .filter(|record| record["type"] == "prediction")
        .map(|record| record["operation"].clone())
        .collect();
    let is_connection = |name: &Value| name.as_str().is_some_and(|name| name.starts_with("connect"));
    assert!(!names.is_empty() && !names.iter().any(is_connection), "{names:?}");
}

#[test]
fn scripts_of_the_language_run_on_both() {
    let text = "\\set n random(1, 3)\nselect :n * 2 as twice, 'it''s' as text \\gset p_\n\\if :p_twice <> 2 * :n\n\
                select no_such_column;\n\\elif :n < 0\nselect also_none;\n\\else\n\\sleep 100 us\n\\endif\n\
                select 1 as one;\n";
    let script = script(text);
    let path = script.path().display().to_string();
    let (postgres, mariadb) = (Postgres::start(), MariaDb::start());
    for url in [postgres.url(), mariadb.url()] {
        for mode in ["simple", "extended", "prepared"] {
            let ran = load(&["-t", "25", "-c", "2", "-M", mode, "-f", &path, "--json", &url]);
            assert_ended(&ran, 0, "");
            let summary = records(&ran).pop().expect("there is a summary");
            assert_eq!(
                (&summary["sent"], &summary["errors"]),
                (&50.into(), &0.into()),
                "{mode}"
            );
        }
    }
}

#[test]
fn what_is_wrong_is_told_and_gives_its_status() {
    let server = Postgres::start();
    let url = server.url();
    let path = |file: &tempfile::NamedTempFile| file.path().display().to_string();
    let (zero, wrong, failing, good) = (
        script("select 1;\n\\set x 1 / (:client_id - :client_id)\n"),
        script("select 1;\n\\slep 1 ms\n"),
        script("select 1;\nselect no_such_column;\n"),
        script("select 1;\n"),
    );
    assert_ended(&load(&["-f", &path(&zero), &url]), 2, ".sql:2: division by zero");
    assert_ended(
        &load(&["-f", &path(&wrong), &url]),
        2,
        ".sql:2: \\slep is not a command",
    );
    assert_ended(
        &load(&["-t", "2", "-f", &path(&failing), &url]),
        1,
        "statement 2 failed: 42703",
    );
    for (arguments, status, text) in [
        (vec!["-c", "0", &url], 2, "0 is not in 1..=50000"),
        (vec!["-c", "99999999999", &url], 2, "is not in 1..=50000"),
        (vec!["-T", "0", &url], 2, "use a time above 0"),
        (
            vec!["-b", "nothing", &url],
            2,
            "'nothing' is no built-in script: there are tpcb-like",
        ),
        (vec!["-b", "s", &url], 2, "'s' fits more than one built-in script"),
        (vec!["-b", "list"], 0, "select-only"),
        (vec!["-S", &url], 2, "make them with longwire load --initialize"),
        (
            vec!["-f", "/no/such/file", &url],
            2,
            "could not read the script /no/such/file",
        ),
        (
            vec!["-D", "x", "-f", &path(&good), &url],
            2,
            "-D takes NAME=VALUE",
        ),
        (vec!["--initialize", "-s", "0", &url], 2, "-s 0 is no size"),
        (
            vec!["redis://127.0.0.1"],
            2,
            "there is no load for redis:// targets",
        ),
        (vec!["-S", "http://127.0.0.1:1/"], 2, "-S is for SQL"),
        (vec!["http://127.0.0.1:1/"], 2, "connection refused"),
        (vec!["-t", "1"], 2, "TARGET is missing"),
    ] {
        assert_ended(&load(&arguments), status, text);
    }
    let secret = url.replace(Postgres::PASSWORD, "hidden-secret");
    let ran = load(&["-t", "1", "-f", &path(&good), "--json", &secret]);
    assert!(!String::from_utf8_lossy(&ran.stdout).contains("hidden-secret"));
}

#[test]
fn ctrl_c_prints_the_summary() {
    let server = Postgres::start();
    let script = script("select pg_sleep(0.01);\n");
    let arguments = [
        "-T",
        "60",
        "-f",
        &script.path().display().to_string(),
        &server.url(),
    ];
    let mut running = Started::heard(command(&arguments).stdout(Stdio::piped()));
    running.hears("progress: 1.");
    let output = running.interrupt();
    assert_ended(&output, 130, "tps = ");
    assert_ended(&output, 130, "number of failed transactions: 0");
    assert_ended(&output, 130, "progress: 1.");
}

#[test]
fn a_recording_counts_what_a_capture_of_the_same_run_counts() {
    let server = Postgres::start();
    let capture = testbed::Capture::start(server.port());
    let file = tempfile::tempdir().expect("a directory");
    let recording = file.path().join("run.lwr").display().to_string();
    let script = script("\\set id random(1, 9)\nselect :id + 1;\nselect repeat('x', 20000);\n");
    let path = script.path().display().to_string();
    let ran = load(&[
        "-c",
        "3",
        "-t",
        "7",
        "-M",
        "prepared",
        "-f",
        &path,
        "-o",
        &recording,
        "--json",
        &server.url(),
    ]);
    assert_ended(&ran, 0, "");
    let captured = capture.stop();
    let captured = captured.path().display().to_string();
    let read = |file: &str| {
        let output = Command::new(binary::program())
            .args(["read", "--json", file])
            .output()
            .expect("the binary starts");
        assert_ended(&output, 0, "");
        // Excludes longwire's connection that checked the server before the run.
        let mut connections = records(&output);
        connections.retain(|record| record["type"] == "connection" && record["statements"] != 0);
        connections
    };
    let (recorded, captured) = (read(&recording), read(&captured));
    let sum = |connections: &[Value], key: &str| -> u64 {
        let figures = connections.iter().map(|record| record[key].as_u64());
        figures.map(|figure| figure.expect("a number")).sum()
    };
    for key in [
        "turns",
        "exchanges",
        "statements",
        "client_payload_bytes",
        "server_payload_bytes",
    ] {
        assert_eq!(sum(&recorded, key), sum(&captured, key), "{key}");
    }
    assert_eq!((recorded.len(), captured.len()), (3, 3));
}

//! Recommendations and cleanup of `longwire tune` with real servers.

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};
use std::time::Duration;
use testbed::binary::{self, done, of_type, refused, run};
use testbed::floor::told_on_failure;
use testbed::{MariaDb, Postgres};

fn records(arguments: &[&str]) -> Vec<Value> {
    let output = run(&[arguments, &["--json"]].concat());
    done(&output);
    binary::records(&output)
}

fn left(server: &Postgres) -> String {
    server.sql("select nspname from pg_namespace where nspname like 'longwire%'")
}

const SMALL: [&str; 6] = ["--rows", "200", "--select-rows", "300", "--rounds", "3"];

#[test]
#[ignore = "timing: make test runs it alone"]
fn a_run_recommends_a_way_for_each_job_and_distance_and_leaves_nothing() {
    let _floor = told_on_failure();
    let server = Postgres::start();
    let url = server.url();
    let arguments = [
        &["tune", &url, "--jobs", "insert,select", "--link", "rtt=2ms"][..],
        &SMALL,
    ]
    .concat();
    let records = records(&arguments);
    assert_eq!(records[0]["type"], "conditions");
    assert_eq!(records[records.len() - 1]["type"], "summary");
    let recommended = of_type(&records, "recommendation");
    let places: Vec<_> = recommended
        .iter()
        .map(|one| (&one["job"], &one["link"]))
        .collect();
    assert_eq!(places.len(), 4, "{places:?}");
    for one in &recommended {
        let number = |key: &str| one[key].as_u64().expect("a number");
        assert!(number("best_ns") <= number("duration_ns"));
        assert!(number("duration_ns") * 100 <= number("best_ns") * 105, "{one}");
        assert!(number("runs") * 4 <= number("full_sweep_runs"), "{one}");
        assert!(one["spelling"].as_str().is_some_and(|text| !text.is_empty()));
        let others = one["as_good"].as_array().expect("a list");
        let is_itself = |other: &Value| other["way"] == one["way"] && other["value"] == one["value"];
        assert!(!others.iter().any(is_itself), "{one}");
    }
    let tuned = of_type(&records, "tuned");
    let row_by_row = |source: &str| {
        let found = tuned
            .iter()
            .find(|tuned| tuned["way"] == "row by row" && tuned["source"] == source);
        *found.unwrap_or_else(|| panic!("row by row is not {source}"))
    };
    let here = row_by_row("measured");
    assert_eq!(here["turns"], 202, "begin, each row, commit");
    assert_eq!(here["rows"], 200);
    let there = row_by_row("predicted");
    let time = |tuned: &Value| tuned["duration_ns"].as_u64().expect("ns");
    // 202 round trips of 2 ms on top of the faster of the local median and the observed run.
    let bounds = 400_000_000..=time(here) + 420_000_000;
    assert!(bounds.contains(&time(there)), "{} in {bounds:?}", time(there));
    assert!(tuned.iter().any(|tuned| tuned["source"] == "emulated"));
    assert_eq!(of_type(&records, "link").len(), 2);
    assert_eq!(left(&server), "");
}

#[test]
fn links_can_be_predicted_alone_and_a_page_be_written() {
    let server = MariaDb::start();
    let directory = tempfile::tempdir().expect("a directory");
    let page = directory.path().join("tune.html");
    let url = server.url();
    let path = page.to_str().expect("UTF-8");
    let arguments = [
        &[
            "tune",
            &url,
            "--predict",
            "--link",
            "rtt=10ms rate=100mbit",
            "--html",
            path,
        ][..],
        &SMALL,
    ]
    .concat();
    let assert = binary::bounded(&arguments).assert().success();
    let view = String::from_utf8_lossy(&assert.get_output().stdout).into_owned();
    let text = binary::unwrapped(&view);
    for words in [
        "Recommended to ",
        " insert here: ",
        " insert over rtt=10ms rate=100mbit: ",
        " update over ",
        "a full sweep would have taken",
        "(removed)",
    ] {
        assert!(text.contains(words), "'{words}' is missing in: {view}");
    }
    let page = std::fs::read_to_string(page).expect("the page is there");
    assert!(page.contains("class=\"ring\"") && page.ends_with("</html>\n"));
    let left =
        server.sql("select schema_name from information_schema.schemata where schema_name like 'longwire%'");
    assert_eq!(left.trim(), "");
}

#[test]
fn ctrl_c_removes_the_scratch_schema_and_sums_up() {
    let server = Postgres::start();
    let program = binary::program();
    let mut child = Command::new(program)
        .args([
            "tune",
            &server.url(),
            "--jobs",
            "insert",
            "--rows",
            "20000",
            "--ways",
            "row by row",
        ])
        .args(["--rounds", "1000", "--exhaustive"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut stderr = BufReader::new(child.stderr.take().expect("piped"));
    place_of_work(&mut stderr);
    assert_ne!(left(&server), "");
    let progress = stderr.lines().map(|line| line.expect("text"));
    let mut progress = progress.filter(|line| line.starts_with("longwire: insert"));
    progress.next().expect("it says how far it is");
    kill_process(Pid::from_child(&child), Signal::INT).expect("it runs");
    let mut view = String::new();
    child
        .stdout
        .take()
        .expect("piped")
        .read_to_string(&mut view)
        .expect("text");
    assert_eq!(child.wait().expect("it ends").code(), Some(130));
    assert!(view.contains("was ended before everything was tried"), "{view}");
    assert!(view.contains("(removed)"), "{view}");
    assert_eq!(left(&server), "");
}

#[test]
fn a_clean_up_that_fails_is_told_whatever_else_failed() {
    let mut server = Postgres::start();
    let mut child = Command::new(binary::program())
        .args(["tune", &server.url(), "--jobs", "insert", "--rows", "100000"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut stderr = BufReader::new(child.stderr.take().expect("piped"));
    let mut said = place_of_work(&mut stderr);
    let scratch = said
        .split_ascii_whitespace()
        .find(|word| word.starts_with("longwire_tune_"));
    let scratch = scratch.expect("its name").trim_end_matches(',').to_owned();
    std::thread::sleep(Duration::from_millis(300));
    server.kill();
    let mut view = String::new();
    child
        .stdout
        .take()
        .expect("piped")
        .read_to_string(&mut view)
        .expect("text");
    stderr.read_to_string(&mut said).expect("text");
    assert_eq!(child.wait().expect("it ends").code(), Some(2));
    let told = format!("the scratch schema {scratch} is left on the server");
    assert!(view.contains(&told) || said.contains(&told), "{view}{said}");
}

#[test]
fn rows_like_those_of_a_table_are_taken_and_the_table_is_not_touched() {
    let server = Postgres::start();
    server.sql("create table article (id int, name text); insert into article select n, 'article ' || n from generate_series(1, 50) n");
    let before =
        server.sql("select md5(string_agg(a::text, '' order by id)), max(xmin::text) from article a");
    let url = server.url();
    let arguments = [
        &[
            "tune",
            &url,
            "--like",
            "article",
            "--jobs",
            "insert",
            "--ways",
            "copy,row by row",
        ][..],
        &SMALL,
    ]
    .concat();
    let records = records(&arguments);
    assert_eq!(of_type(&records, "recommendation").len(), 1);
    let after = server.sql("select md5(string_agg(a::text, '' order by id)), max(xmin::text) from article a");
    assert_eq!(after, before);
    refused(
        &["tune", &url, "--like", "nothing_of_the_name"],
        &["cannot be read", "hint:"],
    );
    assert_eq!(left(&server), "");
}

#[test]
fn what_cannot_be_tuned_is_told() {
    let server = Postgres::start();
    let url = server.url();
    refused(&["tune", &url, "--rows", "0"], &["'0'", "--rows"]);
    refused(&["tune", &url, "--rows", "1000000000000"], &["--rows"]);
    refused(&["tune", &url, "--jobs", "delete"], &["insert, select or update"]);
    refused(
        &[
            "tune",
            &url,
            "--rows",
            "10",
            "--select-rows",
            "10",
            "--ways",
            "magic",
        ],
        &["no method 'magic'", "row by row", "copy"],
    );
    refused(&["tune", "http://127.0.0.1:1/"], &["http://"]);
    refused(&["tune", "postgres://127.0.0.1:1/x"], &["127.0.0.1:1"]);
    // A documentation address: without consent there is no connection.
    refused(
        &["tune", "postgres://192.0.2.1/x", "--rows", "10"],
        &["192.0.2.1", "not on this machine", "--yes"],
    );
    server.sql("create role guest login password 'guest'; revoke create on database postgres from public");
    let guest = format!("postgres://guest:guest@127.0.0.1:{}/postgres", server.port());
    refused(
        &["tune", &guest, "--rows", "10"],
        &["42501", "grant create on database"],
    );
    assert_eq!(left(&server), "");
}

/// The line with the scratch schema; a warning about the password argument may come first.
fn place_of_work(stderr: &mut impl BufRead) -> String {
    let mut lines = stderr.lines().map(|line| line.expect("text"));
    let place = lines.find(|line| line.contains("scratch schema longwire_tune_"));
    place.expect("it says where it works")
}

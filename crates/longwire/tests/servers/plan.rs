//! `longwire plan` on a small lab's real traffic, and its errors. Needs root, or unprivileged user
//! namespaces.

use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use testbed::binary::{done, longwire, of_type, program, records, run};
use testbed::{Postgres, Started};

/// A job with five queries per transaction.
const LAB: &str = r#"
hosts = ["job", "database"]
[links.network]
between = ["job", "database"]
[services.database]
host = "database"
kind = "postgres"
setup = "psql -qc 'create table stock (product int primary key, amount int)' -c 'insert into stock values (7, 0)'"
[workload]
kind = "sql"
host = "job"
target = "postgres://postgres@database/postgres"
statements = [
    "begin",
    "select amount from stock where product = 7",
    "update stock set amount = amount + 1 where product = 7",
    "commit",
]
[measure]
operations = 20
warmup = 2
"#;

/// The job and its database, at the lab's addresses.
const ESTATE: &str = r#"currency = "EUR"
places = ["here", "near", "far"]

[[link]]
between = ["here", "near"]
link = "2ms"

[[link]]
between = ["here", "far"]
link = "20ms"

[[link]]
between = ["near", "far"]
link = "19ms"

[[service]]
name = "job"
place = "here"
hosts = ["198.18.0.1"]
month = { here = 30, near = 20, far = 10 }

[[service]]
name = "database"
place = "here"
hosts = ["198.18.0.2"]
month = { here = 300, near = 200, far = 150 }

[[budget]]
operation = "select amount*"
median = "60ms"
held = "60ms"
"#;

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn captured(directory: &Path) -> PathBuf {
    fs::write(directory.join("lab.toml"), LAB).expect("the lab is written");
    let run = Command::new(program())
        .current_dir(directory)
        .args(["lab", "run", "lab.toml", "--directory", "kept"])
        .output()
        .expect("longwire runs");
    assert!(run.status.success(), "{}", text(&run.stderr));
    let baselines = fs::read_dir(directory.join("kept/baselines")).expect("there is a capture");
    let mut paths = baselines.map(|entry| entry.expect("read").path());
    // A marker of the lab's own directories is there as well.
    paths.find(|path| path.is_dir()).expect("one").join("link-1.pcap")
}

fn plan(directory: &Path, estate: &str, more: &[&str]) -> Output {
    fs::write(directory.join("estate.toml"), estate).expect("the estate is written");
    Command::new(program())
        .current_dir(directory)
        .args(["plan", "estate.toml"])
        .args(more)
        .output()
        .expect("longwire runs")
}

fn placement<'a>(lines: &'a [Value], kind: &str, words: &str) -> Vec<&'a Value> {
    let of_kind = of_type(lines, kind).into_iter();
    of_kind.filter(|record| record["placement"] == words).collect()
}

/// Both are cheapest far away. Neither may move alone, so both move at once or in stages.
#[test]
fn a_small_estate_is_planned_from_its_capture() {
    let directory = tempfile::tempdir().expect("a directory");
    let capture = captured(directory.path());
    let capture = capture.to_str().expect("a path");
    let out = plan(directory.path(), ESTATE, &[capture, "--json"]);
    assert_eq!(out.status.code(), Some(0), "{}", text(&out.stderr));
    let lines = records(&out);
    let answer = &of_type(&lines, "plan")[0];
    assert_eq!(answer["cheapest"], "job=far,database=far");
    assert_eq!(
        (&answer["predicted_placements"], &answer["possible_placements"]),
        (&9.into(), &9.into())
    );
    let apart = "job=here,database=far";
    let operations = placement(&lines, "placed_operation", apart);
    let operation = operations
        .iter()
        .find(|one| is_of_work(one))
        .expect("the transactions are there");
    let predicted = operation["predicted_ns"].as_u64().expect("a time");
    assert!(
        predicted >= 4 * 20_000_000,
        "four round trips of 20 ms: {predicted}"
    );
    assert!(!placement(&lines, "broken_budget", apart).is_empty());
    assert!(placement(&lines, "broken_budget", "job=far,database=far").is_empty());
    let moves: Vec<(&Value, &Value)> = of_type(&lines, "plan_move")
        .iter()
        .map(|step| (&step["service"], &step["to"]))
        .collect();
    assert_eq!(answer["order_found"], false, "{moves:?}");
    let held = of_type(&lines, "held_back");
    assert!(
        held.iter()
            .any(|one| one["service"] == "database" && one["place"] == "far" && one["budget"] != "p95")
    );
    // With a shorter link from near to far there is an order: job to near, database to far, job to
    // far.
    let nearer = ESTATE.replace("19ms", "10ms");
    let out = plan(directory.path(), &nearer, &[capture, "--json"]);
    let lines = records(&out);
    assert_eq!(of_type(&lines, "plan_move").len(), 3, "{}", text(&out.stdout));
    text_and_page(directory.path(), capture);
    links_are_measured(directory.path(), capture);
    nothing_fits(directory.path(), capture);
}

fn text_and_page(directory: &Path, capture: &str) {
    let out = plan(
        directory,
        ESTATE,
        &[capture, "--placement", "database=near", "--html", "plan.html"],
    );
    let said = text(&out.stdout);
    assert!(
        said.starts_with(
            "Cheapest of all 9 placements that keeps the 2 budgets: job to far, database to far, 160.00 EUR"
        ),
        "{said}"
    );
    assert!(said.contains("\ndatabase to near: 230.00 EUR"), "{said}");
    let page = fs::read_to_string(directory.join("plan.html")).expect("the page is written");
    assert!(page.contains("<svg") && page.contains("select amount from stock where product = ?"));
    assert!(
        !page.contains("product = 7") && !said.contains("product = 7"),
        "a literal is shown"
    );
}

fn is_of_work(operation: &Value) -> bool {
    let name = operation["operation_name"].as_str();
    name.is_some_and(|name| name.starts_with("select amount"))
}

fn thirty_ms_away(target: &str) -> (Started, String) {
    let (relay, address) =
        Started::listening(&mut longwire(&["relay", target, "--link", "30ms"]), "relaying ");
    (relay, address.to_string())
}

fn round_trips(records: &[Value]) -> Vec<u64> {
    let pings = of_type(records, "sample").into_iter();
    let pings = pings.filter(|sample| sample["first"] == false);
    let pings = pings.filter_map(|sample| sample["round_trip_ns"].as_u64());
    let echoes = of_type(records, "echo").into_iter();
    pings
        .chain(echoes.filter_map(|echo| echo["p50_ns"].as_u64()))
        .collect()
}

fn predicted_near(directory: &Path, capture: &str, link: &str) -> u64 {
    let estate = ESTATE.replace("link = \"2ms\"", link);
    let out = plan(directory, &estate, &[capture, "--json"]);
    let lines = records(&out);
    let operations = placement(&lines, "placed_operation", "job=here,database=near");
    let predicted = operations
        .iter()
        .filter(|one| is_of_work(one))
        .filter_map(|one| one["predicted_ns"].as_u64())
        .max();
    predicted.unwrap_or_else(|| panic!("{}", text(&out.stderr)))
}

/// Measures a link through a relay by echo and by ping; the output replaces the link in the file.
fn links_are_measured(directory: &Path, capture: &str) {
    let mut echo = longwire(&["echo", "--listen", "127.0.0.1:0"]);
    let (_echo, address) = Started::listening(&mut echo, " listens on ");
    let (_to_echo, echo) = thirty_ms_away(&format!("tcp://{address}"));
    let server = Postgres::start();
    let (_to_server, address) = thirty_ms_away(&format!("tcp://127.0.0.1:{}", server.port()));
    let target = format!("postgres://{address}");
    let measurements = [
        vec!["echo", &echo, "-T", "500ms", "--json"],
        vec!["ping", "--no-login", &target, "-n", "5", "-i", "1ms", "--json"],
    ];
    for arguments in measurements {
        let output = run(&arguments);
        done(&output);
        fs::write(directory.join("near.jsonl"), &output.stdout).expect("the records are written");
        let seen = round_trips(&records(&output));
        let (Some(min), Some(max)) = (seen.iter().min(), seen.iter().max()) else {
            panic!("no round trip: {}", text(&output.stdout));
        };
        assert!(*min >= 30_000_000, "{seen:?}");
        let predicted = predicted_near(directory, capture, "measured = \"near.jsonl\"");
        let [from, to] =
            [min, max].map(|rtt| predicted_near(directory, capture, &format!("link = \"{rtt}ns\"")));
        assert!(
            from >= 120_000_000 && (from..=to).contains(&predicted),
            "four round trips of {seen:?} ns: {predicted}"
        );
    }
    fs::write(
        directory.join("near.jsonl"),
        "64 bytes from 10.0.0.2: time=2 ms\n",
    )
    .expect("it is written");
    let estate = ESTATE.replace("link = \"2ms\"", "measured = \"near.jsonl\"");
    let out = plan(directory, &estate, &[capture]);
    assert_eq!(out.status.code(), Some(2));
    let said = text(&out.stderr);
    assert!(
        said.contains("estate.toml:6:12: near.jsonl: line 1 is not a record"),
        "{said}"
    );
}

/// Unreachable budgets are a negative answer; unknown hosts are an error with a hint.
fn nothing_fits(directory: &Path, capture: &str) {
    let strict = ESTATE.replace("\"60ms\"", "\"1ns\"");
    let out = plan(directory, &strict, &[capture]);
    assert_eq!(out.status.code(), Some(1), "{}", text(&out.stdout));
    assert!(text(&out.stdout).starts_with("No placement keeps the 2 budgets"));
    let others = ESTATE.replace("198.18.0.", "203.0.113.");
    let out = plan(directory, &others, &[capture]);
    assert_eq!(out.status.code(), Some(2));
    assert!(
        text(&out.stderr).contains("no connection between two services"),
        "{}",
        text(&out.stderr)
    );
}

#[test]
fn a_mistake_in_the_estate_has_its_line_and_column() {
    let directory = tempfile::tempdir().expect("a directory");
    let wrong = ESTATE.replacen("place = \"here\"", "place = \"her\"", 1);
    let out = plan(directory.path(), &wrong, &["nothing.pcap"]);
    assert_eq!(out.status.code(), Some(2));
    let said = text(&out.stderr);
    assert!(
        said.contains("estate.toml:18:9: there is no place 'her': use one of here, near, far"),
        "{said}"
    );
    let out = plan(
        directory.path(),
        ESTATE,
        &["nothing.pcap", "--placement", "database=paris"],
    );
    assert!(
        text(&out.stderr).contains("there is no place 'paris'; use one of here, near, far"),
        "{}",
        text(&out.stderr)
    );
}

/// A plan from tables equals the plan from their capture.
#[test]
fn a_folder_of_tables_gives_the_same_plan() {
    let directory = tempfile::tempdir().expect("a directory");
    let capture = captured(directory.path());
    let capture = capture.to_str().expect("a path");
    let written = Command::new(program())
        .current_dir(directory.path())
        .args(["read", "--parquet", "tables", capture])
        .output()
        .expect("longwire runs");
    assert!(written.status.success(), "{}", text(&written.stderr));
    let planned = |from: &str| {
        let out = plan(directory.path(), ESTATE, &[from, "--json"]);
        assert_eq!(out.status.code(), Some(0), "{}", text(&out.stderr));
        let mut lines = records(&out);
        lines.retain(|record| record["type"] != "conditions" && record["type"] != "warning");
        lines
    };
    let of_capture = planned(capture);
    assert!(of_capture.len() > 30);
    assert_eq!(planned("tables"), of_capture);
}

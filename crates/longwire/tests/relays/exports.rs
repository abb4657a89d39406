//! Exports to monitoring systems: a real Prometheus and a real collector get the same totals as
//! `read`.

mod agent;
mod configuration;
mod examples;
mod troubles;

use serde_json::Value;
use std::path::Path;
use std::process::{Command, Output};
use testbed::binary::{self, longwire, number};
use testbed::process::{free_port, run};
use testbed::waiting::{wait_for, wait_until};
use testbed::{Collector, Postgres, PrometheusServer, Started, http};

fn traffic(server: &Postgres, port: u16) {
    let mut prepare = server.client_at("pgbench", port);
    prepare.args(["-i", "-q"]);
    run(prepare);
    let mut bench = server.client_at("pgbench", port);
    bench.args(["-n", "-c", "3", "-t", "40", "-M", "prepared"]);
    run(bench);
    let mut wrong = server.client_at("psql", port);
    wrong.args(["-X", "-c", "select 1 / 0"]);
    assert!(!wrong.output().expect("psql starts").status.success());
}

fn watching(server: &Postgres, more: &[&str]) -> (Started, u16) {
    let url = server.url();
    let mut arguments = vec!["watch", &*url, "--json"];
    arguments.extend(more);
    let mut command = longwire(&arguments);
    command.stdout(std::process::Stdio::piped());
    command.env("OTEL_METRIC_EXPORT_INTERVAL", "200");
    let (started, address) = Started::listening(&mut command, "relaying ");
    (started, address.port())
}

fn summary(output: &Output) -> Value {
    let records = binary::records(output);
    records
        .into_iter()
        .find(|record| record["type"] == "summary")
        .expect("a summary")
}

fn statements(output: &Output) -> Vec<Value> {
    let records = binary::records(output).into_iter();
    // Series exclude connection setup.
    let is_statement =
        |record: &Value| record["type"] == "statement" && record["fingerprint"] != "(connection set-up)";
    records.filter(is_statement).collect()
}

fn recorded(path: &Path) -> Output {
    let output = longwire(&["read", &path.display().to_string(), "--json"]).output();
    output.expect("the binary starts")
}

#[test]
fn prometheus_has_the_totals_that_read_has_of_the_recording() {
    let server = Postgres::start();
    let directory = tempfile::tempdir().expect("a directory");
    let recording = directory.path().join("run.lwr");
    let scraped = free_port();
    let (file, address) = (recording.display().to_string(), format!("127.0.0.1:{scraped}"));
    let (watch, port) = watching(&server, &["-o", &file, "--prometheus", &address]);
    let prometheus = PrometheusServer::scraping(scraped);
    traffic(&server, port);
    // Connections close shortly after their programs exit.
    wait_until("all connections are closed", || {
        prometheus.number("longwire_connections_open") == Some(0.0)
    });
    let exchanges = || prometheus.number("sum(histogram_count(longwire_target_duration_seconds))");
    let mut before = None;
    wait_until("Prometheus has all", || {
        std::mem::replace(&mut before, exchanges()) == before && before.is_some()
    });
    let asked = |expression: &str| {
        prometheus
            .number(expression)
            .unwrap_or_else(|| panic!("{expression}"))
    };
    let counted = asked("sum(histogram_count(longwire_target_duration_seconds))");
    let turns = asked("sum(histogram_sum(longwire_target_turns))");
    let by_statement = prometheus.query("histogram_sum(longwire_statement_turns)");
    let server_time = asked("sum(histogram_sum(longwire_statement_server_seconds))");
    let errors = asked("sum(longwire_target_errors_total)");
    let text = http::get(scraped, "/metrics", "text/plain")
        .expect("it answers")
        .text();
    let output = watch.interrupt();
    for total in [summary(&output), summary(&recorded(&recording))] {
        assert_eq!(counted, number(&total, "exchanges") as f64);
        assert_eq!(turns, number(&total, "turns") as f64);
    }
    let read = statements(&recorded(&recording));
    let sum = |key: &str| -> u64 { read.iter().map(|statement| number(statement, key)).sum() };
    assert_eq!(errors, sum("errors") as f64);
    assert!(
        (server_time * 1e9 - sum("server_ns") as f64).abs() < 1_000.0,
        "{server_time}"
    );
    assert_eq!(by_statement.len(), read.len(), "{by_statement:?}");
    for series in &by_statement {
        let name = series["metric"]["statement"].as_str().expect("a label");
        let found = read.iter().find(|statement| labelled(name, statement));
        let found = found.unwrap_or_else(|| panic!("{name} is not in {read:?}"));
        assert_eq!(series["value"][1], number(found, "turns").to_string(), "{name}");
    }
    let line = text
        .lines()
        .find(|line| line.starts_with("longwire_target_duration_seconds_count"));
    assert_eq!(
        line.and_then(|line| line.rsplit(' ').next()?.parse().ok()),
        Some(counted)
    );
}

fn labelled(label: &str, statement: &Value) -> bool {
    let fingerprint = statement["fingerprint"].as_str().unwrap_or_default();
    match label.rsplit_once("... #") {
        Some((begin, _)) => fingerprint.starts_with(begin) && fingerprint.len() > begin.len(),
        None => fingerprint == label,
    }
}

#[test]
fn a_collector_has_the_same_totals_under_the_names_of_the_conventions() {
    let server = Postgres::start();
    let collector = Collector::start();
    let (watch, port) = watching(&server, &["--otlp", &collector.endpoint()]);
    traffic(&server, port);
    let output = watch.interrupt();
    let (total, read) = (summary(&output), statements(&output));
    let points = wait_for("the last export", || {
        let points = collector.last_points("longwire.target.duration");
        let count = points.first().map(|point| text_number(point, "count"));
        (count == Some(number(&total, "exchanges"))).then_some(points)
    });
    assert_eq!(points.len(), 1);
    let point = &points[0];
    assert_eq!(attribute(point, "db.system.name"), Some("postgresql".into()));
    assert_eq!(attribute(point, "server.address"), Some("127.0.0.1".into()));
    assert_eq!(
        attribute(point, "server.port"),
        Some(server.port().to_string().into())
    );
    let turns = collector.last_points("longwire.target.turns");
    assert_eq!(turns[0]["sum"].as_f64(), Some(number(&total, "turns") as f64));
    let durations = collector.last_points("db.client.operation.duration");
    let in_all: f64 = durations.iter().filter_map(|point| point["sum"].as_f64()).sum();
    let waited: u64 = read.iter().map(|statement| number(statement, "total_ns")).sum();
    assert!((in_all * 1e9 - waited as f64).abs() < 1_000.0, "{in_all}");
    let summaries: Vec<_> = durations
        .iter()
        .filter_map(|point| attribute(point, "db.query.summary"))
        .collect();
    for wanted in [
        "UPDATE pgbench_accounts",
        "SELECT pgbench_accounts",
        "INSERT pgbench_history",
        "BEGIN",
    ] {
        assert!(
            summaries.contains(&wanted.into()),
            "{wanted} is not in {summaries:?}"
        );
    }
    assert!(
        durations
            .iter()
            .all(|point| attribute(point, "db.query.text").is_none())
    );
    for point in &durations {
        let buckets = point["bucketCounts"].as_array().expect("explicit buckets");
        assert_eq!(buckets.len(), 10, "the advised bounds");
        let sum: u64 = buckets
            .iter()
            .filter_map(|count| count.as_str()?.parse::<u64>().ok())
            .sum();
        assert_eq!(sum, text_number(point, "count"));
    }
}

/// JSON of protobuf encodes numbers as text.
fn text_number(value: &Value, key: &str) -> u64 {
    let text = value[key].as_str();
    text.and_then(|text| text.parse().ok())
        .unwrap_or_else(|| panic!("{key} in {value}"))
}

fn attribute(of: &Value, key: &str) -> Option<Value> {
    let all = of["attributes"].as_array()?;
    let found = all.iter().find(|attribute| attribute["key"] == key)?;
    found["value"].as_object()?.values().next().cloned()
}

fn psql(server: &Postgres, port: u16, statement: &str) -> Command {
    let mut command = server.client_at("psql", port);
    command.args(["-X", "-q", "-c", statement]);
    command
}

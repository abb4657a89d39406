//! Predictions for pages with concurrent queries, from captures without distance, compared with
//! durations behind a link (`data/parallel/README.md`).

use serde_json::Value;
use std::path::{Path, PathBuf};
use testbed::binary;

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data/parallel")
        .join(name)
}

struct Page {
    capture: String,
    name: String,
    measured: [f64; 2],
}

fn pages() -> Vec<Page> {
    let text = std::fs::read_to_string(data("measured.tsv")).expect("measured.tsv is next to the captures");
    let mut pages: Vec<Page> = Vec::new();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let cells: Vec<&str> = line.split('\t').collect();
        let place = usize::from(cells[2] == "20");
        let at = pages
            .iter()
            .position(|page| page.capture == cells[0] && page.name == cells[1]);
        let at = at.unwrap_or_else(|| {
            pages.push(Page {
                capture: cells[0].to_owned(),
                name: cells[1].to_owned(),
                measured: [0.0; 2],
            });
            pages.len() - 1
        });
        pages[at].measured[place] = cells[3].parse().expect("milliseconds");
    }
    assert!(pages.len() > 20, "measured.tsv lists the pages");
    pages
}

fn predict(capture: &str, more: &[&str]) -> std::process::Output {
    let mut command = binary::longwire(&["predict", "--rtt", "5ms,20ms"]);
    let capture = data(&format!("{capture}.pcap.gz"));
    let output = command.args(more).arg(capture).output();
    let output = output.expect("the binary starts");
    binary::done(&output);
    output
}

fn predictions(capture: &str) -> Vec<Value> {
    let records = binary::records(&predict(capture, &["--json"])).into_iter();
    records.filter(|record| record["type"] == "prediction").collect()
}

fn prediction_of<'p>(predictions: &'p [Value], page: &str, rtt_ms: u64) -> &'p Value {
    // Looks like a token, so names omit it.
    let shown = if page == "seq5mixed" { "?" } else { page };
    let name = format!("GET /{shown}");
    let is_it = |one: &&Value| one["operation_name"] == *name && one["rtt_ns"] == rtt_ms * 1_000_000;
    predictions.iter().find(is_it).expect("the page is predicted")
}

fn number(record: &Value, key: &str) -> f64 {
    record[key].as_f64().expect("a number")
}

fn is_parallel(page: &str) -> bool {
    ["gather", "all", "par", "threads", "mixed", "chains", "slow"]
        .iter()
        .any(|word| page.starts_with(word))
}

#[test]
fn a_millisecond_costs_pages_with_queries_at_once_what_it_was_measured_to_cost() {
    for capture in ["asyncpg", "go", "node", "psycopg", "sqlalchemy"] {
        let predictions = predictions(capture);
        for page in pages().iter().filter(|page| page.capture == capture) {
            let at_20 = prediction_of(&predictions, &page.name, 20);
            let measured = (page.measured[1] - page.measured[0]) / 15.0;
            // Medians of eight: threads that wake up late allow 0.5 ms per ms, 7.5 ms in total.
            let error = number(at_20, "slope") - measured;
            assert!(
                error.abs() < f64::max(0.5, 0.1 * measured),
                "{capture} {}: slope off by {error:.2}",
                page.name
            );
            let error = number(at_20, "duration_ns") / 1e6 / page.measured[1] - 1.0;
            assert!(
                error.abs() < 0.1,
                "{capture} {}: off by {error:.3} at 20 ms",
                page.name
            );
        }
    }
}

#[test]
fn sequential_pages_on_several_connections_stay_sequential() {
    for (capture, page, turns) in [
        ("psycopg", "seq4", 12.0),
        ("psycopg", "seq5", 15.0),
        ("sqlalchemy", "seq4", 4.0),
        ("sqlalchemy", "seq5mixed", 5.0),
        ("sqlalchemy", "held", 6.0),
        ("node", "nested", 6.0),
    ] {
        let predictions = predictions(capture);
        let at_20 = prediction_of(&predictions, page, 20);
        assert_eq!(at_20["order"], "in_sequence", "{capture} {page}");
        let slope = number(at_20, "slope");
        // Slightly more than the round trips: a process wakes up more slowly after a longer sleep.
        assert!(
            (turns - 0.05..turns * 1.04).contains(&slope),
            "{capture} {page}: {slope}"
        );
        assert!(
            number(at_20, "low_ns") > turns * 19e6,
            "{capture} {page}: low holds too"
        );
    }
}

#[test]
fn what_ran_at_once_is_told_in_every_output() {
    for page in pages().iter().filter(|page| is_parallel(&page.name)) {
        let predictions = predictions(&page.capture);
        let order = &prediction_of(&predictions, &page.name, 20)["order"];
        assert!(order == "at_once" || order == "open", "{}: {order}", page.name);
    }
    let text = binary::unwrapped(&binary::stdout(&predict("node", &["--explain", "--all"])));
    assert!(
        text.contains("GET /all20 sends requests on several connections at once (seen in"),
        "{text}"
    );
    let text = binary::unwrapped(&binary::stdout(&predict("sqlalchemy", &["--all"])));
    assert!(
        text.contains("GET /threads4 may send requests on several connections at once"),
        "{text}"
    );
}

#[test]
fn each_millisecond_adds_the_slope_and_not_the_turns() {
    for capture in ["asyncpg", "node"] {
        let steepest = predictions(capture)
            .iter()
            .map(|prediction| {
                (
                    number(prediction, "slope"),
                    prediction["operation_name"].to_string(),
                )
            })
            .max_by(|one, other| one.0.total_cmp(&other.0))
            .expect("predictions");
        let text = binary::stdout(&predict(capture, &[]));
        let line = format!(
            "Each millisecond of round-trip time adds about {:.1} ms to {}",
            steepest.0,
            steepest.1.trim_matches('"')
        );
        assert!(text.contains(&line), "{line}: {text}");
    }
    let gathered = &predictions("asyncpg");
    let gathered = prediction_of(gathered, "gather20", 20);
    assert!(
        (number(gathered, "turns"), number(gathered, "slope").round()) == (40.0, 11.0),
        "{gathered}"
    );
}

/// Concurrent chains of the same statement: of a Node program with a pool, and of a Python program
/// that also runs the statement outside of requests.
#[test]
fn chains_take_as_long_as_the_longest_of_them_whatever_runs_beside_them() {
    let text = std::fs::read_to_string(data("chains.tsv")).expect("chains.tsv is next to the captures");
    for capture in ["chains-node", "chains-asyncio"] {
        let with = |rule| {
            let more = [
                "--json",
                "--on",
                "postgres",
                "--rtt",
                "10ms,40ms",
                "--operations",
                rule,
            ];
            let mut command = binary::longwire(&["predict"]);
            let output = command
                .args(more)
                .arg(data(&format!("{capture}.pcap.gz")))
                .output();
            let records = binary::records(&output.expect("the binary starts")).into_iter();
            let predictions = records.filter(|record| record["type"] == "prediction");
            predictions.collect::<Vec<_>>()
        };
        let (auto, http) = (with("auto"), with("http"));
        let lines = text.lines().filter(|line| line.starts_with(capture));
        for cells in lines.map(|line| line.split('\t').collect::<Vec<_>>()) {
            let rtt: u64 = cells[2].parse().expect("a round trip");
            let measured: f64 = cells[3].parse().expect("milliseconds");
            let (one, other) = (
                prediction_of(&auto, cells[1], rtt),
                prediction_of(&http, cells[1], rtt),
            );
            let duration = number(one, "duration_ns");
            let error = duration / 1e6 / measured - 1.0;
            assert!(error.abs() < 0.1, "{cells:?}: off by {error:.3}");
            let bounds = number(other, "low_ns")..=number(other, "high_ns");
            assert!(
                bounds.contains(&duration),
                "{cells:?}: {duration} by auto, {bounds:?} by http"
            );
        }
    }
}

#[test]
fn one_client_is_predicted_the_same_whatever_other_numbers_are_requested() {
    let of_one = |clients: &str, more: &[&str]| -> Vec<String> {
        let output = predict("go", &[&["--json", "--clients", clients][..], more].concat());
        let text = binary::stdout(&output);
        let records = text
            .lines()
            .filter(|line| line.contains("\"type\":\"prediction\""));
        let of_one = records.filter(|line| line.contains("\"clients\":1,"));
        of_one.map(str::to_owned).collect()
    };
    for more in [&[][..], &["--client-cores", "2"]] {
        let alone = of_one("1", more);
        assert!(!alone.is_empty());
        for clients in ["1,4", "4,1"] {
            assert_eq!(of_one(clients, more), alone, "{clients} {more:?}");
        }
    }
}

//! Compares the predicted effect of remedies with measurements after applying them
//! (bench/remedies.sh). The programs use real frameworks, drivers and servers. They were captured
//! next to the database and measured 2, 10 and 40 ms away.

use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use testbed::binary;

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data/remedies")
        .join(name)
}

struct Cell {
    rtt_ns: u64,
    mended_ms: f64,
}

struct Predicted {
    likely: f64,
    low: f64,
    high: f64,
}

fn apps() -> Vec<String> {
    let entries = fs::read_dir(data("")).expect("a folder of captures");
    let names = entries.filter_map(|entry| entry.expect("an entry").file_name().into_string().ok());
    let mut apps: Vec<String> = names
        .filter_map(|name| Some(name.strip_suffix(".json")?.to_owned()))
        .collect();
    apps.sort();
    apps
}

fn number(record: &Value, key: &str) -> f64 {
    record[key]
        .as_f64()
        .unwrap_or_else(|| panic!("no {key}: {record}"))
}

fn cells(truth: &Value) -> Vec<Cell> {
    let cells = truth["cells"].as_array().expect("cells");
    let cell = |cell: &Value| Cell {
        rtt_ns: (number(cell, "rtt_ms") * 1e6).round() as u64,
        mended_ms: number(cell, "mended_ms"),
    };
    cells.iter().map(cell).collect()
}

fn records(app: &str, truth: &Value, cells: &[Cell]) -> Vec<Value> {
    let rtts: Vec<String> = cells
        .iter()
        .map(|cell| format!("{}us", cell.rtt_ns / 1000))
        .collect();
    let capture = data(&format!("{app}.pcap.gz")).display().to_string();
    // Twenty pages without pauses do not show that the addresses are one machine's.
    let host = "web=10.88.1.2,10.88.2.1";
    let output = binary::run(&[
        "read",
        &capture,
        "--json",
        "--rtt",
        &rtts.join(","),
        "--host",
        host,
    ]);
    let text = String::from_utf8(output.stdout).expect("records are text");
    let (kind, statement) = (&truth["kind"], truth["statement"].as_str().expect("a text"));
    let is_meant = |record: &Value| match record["type"].as_str() {
        Some("finding") => {
            record["kind"] == *kind
                && record["fingerprint"]
                    .as_str()
                    .unwrap_or_default()
                    .contains(statement)
        }
        Some("prediction") => record["operation_name"] == "GET /page",
        _ => false,
    };
    text.lines()
        .map(|line| serde_json::from_str(line).expect("a record"))
        .filter(is_meant)
        .collect()
}

/// If each statement has a finding, all are fixed together and their savings add up.
fn predicted(records: &[Value], rtt_ns: u64) -> Option<Predicted> {
    let here = |kind: &'static str| {
        records
            .iter()
            .filter(move |record| record["type"] == kind && record["rtt_ns"] == rtt_ns)
    };
    let found: Vec<&Value> = here("finding").collect();
    let [likely, low, high] = match &found[..] {
        [] => return None,
        [one] => ["remedied_ns", "remedied_low_ns", "remedied_high_ns"].map(|key| number(one, key)),
        several => {
            let page = number(here("prediction").next()?, "duration_ns");
            ["saves_ns", "saves_high_ns", "saves_low_ns"].map(|key| {
                let each = several
                    .iter()
                    .map(|one| number(one, key) / number(one, "operations"));
                page - each.sum::<f64>()
            })
        }
    }
    .map(|ns| ns / 1e6);
    Some(Predicted { likely, low, high })
}

#[test]
fn mended_pages_take_what_was_predicted_of_them() {
    let (mut errors, mut outside, mut table) = (Vec::new(), 0, String::new());
    let apps = apps();
    assert!(apps.len() >= 6, "{apps:?}");
    for app in apps {
        let truth = fs::read_to_string(data(&format!("{app}.json"))).expect("the truth");
        let truth: Value = serde_json::from_str(&truth).expect("a record");
        let cells = cells(&truth);
        let records = records(&app, &truth, &cells);
        for cell in cells {
            let of_it = predicted(&records, cell.rtt_ns)
                .unwrap_or_else(|| panic!("{app}: no such finding: {records:#?}"));
            let error = 100.0 * (of_it.likely / cell.mended_ms - 1.0);
            let is_inside = (of_it.low..=of_it.high).contains(&cell.mended_ms);
            table += &format!(
                "{app:<11}{:>6.2} ms away: {:>7.2} ms for {:>7.2} ({error:+.1} %), {:.2} to {:.2}\n",
                cell.rtt_ns as f64 / 1e6,
                of_it.likely,
                cell.mended_ms,
                of_it.low,
                of_it.high
            );
            errors.push(error.abs());
            outside += usize::from(!is_inside);
        }
    }
    println!("{table}");
    errors.sort_by(f64::total_cmp);
    let (median, worst) = (errors[errors.len() / 2], errors[errors.len() - 1]);
    assert!(median <= 5.0, "median {median:.1} %\n{table}");
    assert!(worst <= 15.0, "worst {worst:.1} %\n{table}");
    assert!(outside <= OUTSIDE, "{outside} outside of their bounds\n{table}");
}

const OUTSIDE: usize = 2;

//! A prediction for the measured distance equals the measurement.

use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use testbed::binary;

const FOLDERS: [&str; 4] = ["captures", "evidence", "joined", "requests"];

fn captures() -> Vec<PathBuf> {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    let folders = FOLDERS
        .iter()
        .flat_map(|folder| std::fs::read_dir(data.join(folder)).expect("a folder of captures"));
    let paths = folders.map(|entry| entry.expect("an entry").path());
    let mut captures: Vec<PathBuf> = paths
        .filter(|path| path.to_string_lossy().contains(".pcap"))
        .collect();
    captures.sort();
    captures
}

fn records(words: &[&str]) -> Vec<Value> {
    let output = binary::run(&[words, &["--json", "--operations", "connection"]].concat());
    let text = String::from_utf8(output.stdout).expect("records are text");
    text.lines()
        .map(|line| serde_json::from_str(line).expect("a record"))
        .collect()
}

fn records_of<'a>(records: &'a [Value], kind: &'static str) -> impl Iterator<Item = &'a Value> {
    records.iter().filter(move |record| record["type"] == kind)
}

/// `None` if connections differ or are unknown.
fn only_rtt(records: &[Value]) -> Option<u64> {
    let mut rtts: Vec<u64> = records_of(records, "connection")
        .filter_map(|one| one["rtt_ns"].as_u64())
        .collect();
    rtts.sort_unstable();
    let (least, most) = (*rtts.first()?, *rtts.last()?);
    (most - least <= least / 5 + 50_000).then(|| rtts[rtts.len() / 2])
}

fn measured(records: &[Value]) -> BTreeMap<String, u64> {
    let mut by_name: BTreeMap<String, Vec<u64>> = BTreeMap::new();
    for operation in records_of(records, "operation") {
        let name = operation["operation_name"].as_str().expect("a name").to_owned();
        let duration = operation["duration_ns"].as_u64().expect("a duration");
        by_name.entry(name).or_default().push(duration);
    }
    let median = |mut all: Vec<u64>| {
        all.sort_unstable();
        u64::midpoint(all[(all.len() - 1) / 2], all[all.len() / 2])
    };
    let medians = by_name.into_iter().map(|(name, all)| (name, median(all)));
    medians
        .filter(|(_, median)| *median >= MIN_OPERATION_NS)
        .collect()
}

/// Shorter operations are dominated by instrument overhead.
const MIN_OPERATION_NS: u64 = 200_000;
const NEAR: f64 = 0.1;

#[test]
fn what_is_predicted_where_it_was_measured_is_what_was_measured() {
    let (mut count, mut off) = (0_u64, Vec::new());
    for capture in captures() {
        let path = capture.display().to_string();
        let here = records(&["read", &path, "--rtt", "none"]);
        let Some(rtt) = only_rtt(&here) else { continue };
        let measured = measured(&here);
        let predicted = records(&["predict", &path, "--rtt", &format!("{rtt}ns")]);
        for one in records_of(&predicted, "prediction") {
            let name = one["operation_name"].as_str().expect("a name");
            let Some(&measured) = measured.get(name) else {
                continue;
            };
            let Some(duration) = one["duration_ns"].as_u64() else {
                if one["no_duration"] == "wide" {
                    let [low, high] = ["low_ns", "high_ns"].map(|key| one[key].as_u64().expect("a bound"));
                    count += 1;
                    if !(low..=high).contains(&measured) {
                        off.push(format!("{path}: {name}: {measured} ns is not in {low} to {high}"));
                    }
                } else {
                    assert_eq!(one["no_duration"], "unlike", "{path}: {name}");
                }
                continue;
            };
            count += 1;
            let share = duration as f64 / measured as f64 - 1.0;
            if share.abs() > NEAR {
                off.push(format!(
                    "{path}: {name}: {:+.1} % of {measured} ns",
                    100.0 * share
                ));
            }
        }
    }
    assert!(count >= 40, "{count} operations to compare");
    assert!(
        off.is_empty(),
        "{} of {count} are off:\n{}",
        off.len(),
        off.join("\n")
    );
}

fn all_captures() -> Vec<PathBuf> {
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data")];
    let mut captures = Vec::new();
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).expect("a folder of captures") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.to_string_lossy().contains(".pcap") {
                captures.push(path);
            }
        }
    }
    captures.sort();
    captures
}

#[test]
fn what_the_model_does_not_explain_is_said_and_is_little() {
    let mut shares: Vec<(f64, PathBuf)> = Vec::new();
    for capture in all_captures() {
        let predicted = records(&["predict", &capture.display().to_string(), "--rtt", "10ms"]);
        let Some(first) = records_of(&predicted, "prediction").next() else {
            continue;
        };
        let share = first["unexplained_share"].as_f64().expect("a share");
        let warned = records_of(&predicted, "warning").any(|one| one["kind"] == "unexplained-wait");
        assert!(warned || share <= NEAR, "{}: nothing is said", capture.display());
        shares.push((share, capture));
    }
    shares.sort_by(|one, other| one.0.total_cmp(&other.0));
    let count = shares.len();
    assert!(count >= 40, "{count} captures with a prediction");
    let median = shares[count / 2].0;
    assert!(median <= 0.01, "median {median}");
    let large: Vec<_> = shares.iter().filter(|(share, _)| *share > NEAR).collect();
    assert!(20 * large.len() <= count, "of {count}: {large:#?}");
}

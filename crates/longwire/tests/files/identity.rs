//! Operations predicted for the distance at which they were measured take what was measured.

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

fn of<'a>(records: &'a [Value], kind: &'static str) -> impl Iterator<Item = &'a Value> {
    records.iter().filter(move |record| record["type"] == kind)
}

/// The round trip of all connections; absent where they differ, or none is known.
fn only_rtt(records: &[Value]) -> Option<u64> {
    let mut rtts: Vec<u64> = of(records, "connection")
        .filter_map(|one| one["rtt_ns"].as_u64())
        .collect();
    rtts.sort_unstable();
    let (least, most) = (*rtts.first()?, *rtts.last()?);
    (most - least <= least / 5 + 50_000).then(|| rtts[rtts.len() / 2])
}

/// Names with the median of what their operations took, in ns.
fn measured(records: &[Value]) -> BTreeMap<String, u64> {
    let mut by_name: BTreeMap<String, Vec<u64>> = BTreeMap::new();
    for operation in of(records, "operation") {
        let name = operation["operation_name"].as_str().expect("a name").to_owned();
        let duration = operation["duration_ns"].as_u64().expect("a duration");
        by_name.entry(name).or_default().push(duration);
    }
    let median = |mut all: Vec<u64>| {
        all.sort_unstable();
        u64::midpoint(all[(all.len() - 1) / 2], all[all.len() / 2])
    };
    let medians = by_name.into_iter().map(|(name, all)| (name, median(all)));
    medians.filter(|(_, median)| *median >= SHORTEST).collect()
}

/// Shorter operations are mostly the instrument's own.
const SHORTEST: u64 = 200_000;
/// What is known to be off, and why. None may be added without its cause.
const KNOWN: [(&str, &str); 1] = [(
    "window.pcap.gz",
    "its sender began with its whole window; predicted is slow start",
)];
/// How far off, as a share.
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
        for one in of(&predicted, "prediction") {
            let name = one["operation_name"].as_str().expect("a name");
            let Some(&measured) = measured.get(name) else {
                continue;
            };
            let duration = one["duration_ns"].as_u64().expect("a duration");
            count += 1;
            let share = duration as f64 / measured as f64 - 1.0;
            let is_known = KNOWN.iter().any(|(file, _)| path.ends_with(file));
            if (share.abs() > NEAR) != is_known {
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
        "{} of {count} are not as expected:\n{}",
        off.len(),
        off.join("\n")
    );
}

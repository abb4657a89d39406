//! Tables yield the same results as their source.

mod bucket;
mod whole;

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

const RUNS: [&str; 3] = [
    "../core/screen/tests/data/pages.lwr",
    "tests/data/requests/database-alone.pcap.gz",
    "tests/data/parallel/asyncpg.pcap.gz",
];

#[test]
fn a_folder_of_tables_gives_the_answers_of_what_it_was_written_from() {
    for run in RUNS {
        let run = data(run);
        let folder = tempfile::tempdir().expect("a folder");
        let original = records(&["read", "--json", "--parquet", text(folder.path()), text(&run)]);
        assert!(original.len() > 3, "{} has statements", run.display());
        let again = records(&["read", "--json", text(folder.path())]);
        for warning in warnings(&original) {
            let repeats = |text: &String| text.ends_with(&warning);
            assert!(warnings(&again).iter().any(repeats), "{warning}");
        }
        assert_eq!(comparable(again), comparable(original), "read {}", run.display());
        let predicted =
            |from: &Path| comparable(records(&["predict", "--json", "--rtt", "1ms,40ms", text(from)]));
        assert_eq!(
            predicted(folder.path()),
            predicted(&run),
            "predict {}",
            run.display()
        );
        let checked = |from: &Path| {
            comparable(records(&[
                "check",
                "--json",
                "--max-round-trips",
                "1000000",
                text(from),
            ]))
        };
        assert_eq!(checked(folder.path()), checked(&run), "check {}", run.display());
    }
}

#[test]
fn folders_of_several_runs_are_several_recordings() {
    let folder = tempfile::tempdir().expect("a folder");
    let run = data(RUNS[1]);
    let once = summary(&records(&[
        "read",
        "--json",
        "--parquet",
        text(folder.path()),
        text(&run),
    ]));
    succeeded(&[
        "read",
        "--parquet",
        text(folder.path()),
        "--parquet-host",
        "db/2",
        text(&run),
    ]);
    let both = summary(&records(&["read", "--json", text(folder.path())]));
    for key in ["exchanges", "connections", "turns"] {
        let count = |of: &Value| of[key].as_u64().expect("a count");
        assert_eq!(count(&both), 2 * count(&once), "{key}");
    }
    let hosts = files(folder.path());
    assert!(
        hosts.iter().any(|path| text(path).contains("/host=db%2F2/")),
        "{hosts:?}"
    );
}

#[test]
fn no_file_is_there_by_halves() {
    let folder = tempfile::tempdir().expect("a folder");
    let run = data(RUNS[1]);
    let parquet = ["read", "--json", "--parquet", text(folder.path()), text(&run)];
    let original = comparable(records(&parquet));
    let written = files(folder.path());
    assert!(
        written
            .iter()
            .all(|path| text(path).ends_with(".parquet") && text(path).contains("/date=")),
        "{written:?}"
    );

    // Left by a run killed while writing.
    let first = written.first().expect("a file");
    let bytes = std::fs::read(first).expect("it is readable");
    let left = first.with_file_name(".0123456789abcdef-1-0000.parquet.tmp");
    std::fs::write(left, &bytes[..bytes.len() / 2]).expect("it is written");
    assert_eq!(
        comparable(records(&["read", "--json", text(folder.path())])),
        original
    );

    // A truncated file is an error that names it, instead of missing rows.
    std::fs::write(first, &bytes[..bytes.len() / 2]).expect("it is written");
    let output = longwire(&["read", text(folder.path())]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success() && said.contains(text(first)), "{said}");
}

fn warnings(records: &[Value]) -> Vec<String> {
    let warnings = records.iter().filter(|record| record["type"] == "warning");
    warnings
        .map(|warning| warning["text"].as_str().expect("a text").to_owned())
        .collect()
}

/// Removes conditions (command and file names), packet counts (captures only) and warnings
/// (recordings add their name).
fn comparable(mut records: Vec<Value>) -> Vec<Value> {
    records.retain(|record| record["type"] != "conditions" && record["type"] != "warning");
    for record in &mut records {
        if let Some(keys) = record.as_object_mut() {
            keys.remove("packets");
        }
    }
    records
}

fn summary(records: &[Value]) -> Value {
    records.last().expect("a summary").clone()
}

fn records(arguments: &[&str]) -> Vec<Value> {
    let out = succeeded(arguments);
    let lines = out.lines().map(serde_json::from_str);
    lines.collect::<Result<_, _>>().expect("records")
}

fn succeeded(arguments: &[&str]) -> String {
    let output = longwire(arguments);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {said}");
    String::from_utf8(output.stdout).expect("text")
}

fn longwire(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_longwire"))
        .args(arguments)
        .output()
        .expect("it runs")
}

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

fn text(path: &Path) -> &str {
    path.to_str().expect("a path of the test")
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).expect("it is readable");
    let mut files = Vec::new();
    for entry in entries {
        let path = entry.expect("an entry").path();
        match path.is_dir() {
            true => files.extend(self::files(&path)),
            false => files.push(path),
        }
    }
    files.sort();
    files
}

//! Captures and recordings on a terminal of 24 lines and 80 columns.

use std::path::{Path, PathBuf};
use std::process::Command;
use testbed::require;

fn data(folder: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data")
        .join(folder)
}

/// Captures and recordings of the tests.
fn files() -> Vec<PathBuf> {
    let mut files = Vec::new();
    for folder in [
        "captures", "remedies", "symptoms", "waste", "requests", "evidence",
    ] {
        let entries = std::fs::read_dir(data(folder)).expect("a folder of captures");
        files.extend(entries.map(|entry| entry.expect("an entry").path()));
    }
    let is_read = |path: &PathBuf| {
        let name = path.to_string_lossy();
        [".pcap", ".pcapng", ".pcap.gz", ".lwr"]
            .iter()
            .any(|end| name.ends_with(end))
    };
    files.retain(is_read);
    files.sort();
    files
}

/// Standard output, as the terminal gets it.
fn shown(arguments: &[&str]) -> String {
    let quoted: Vec<String> = arguments.iter().map(|word| format!("'{word}'")).collect();
    let program = testbed::binary::program();
    let line = format!(
        "stty rows 24 cols 80; '{}' {} 2>/dev/null",
        program.display(),
        quoted.join(" ")
    );
    let mut terminal = Command::new(require("script"));
    terminal.args(["-qc", &line, "/dev/null"]).env("NO_COLOR", "1");
    let output = terminal.output().expect("script starts");
    String::from_utf8(output.stdout).expect("text").replace('\r', "")
}

#[test]
fn each_capture_is_answered_in_one_screen() {
    let files = files();
    assert!(files.len() > 60, "{files:?}");
    let mut faults = Vec::new();
    for file in files {
        let file = file.to_str().expect("a plain name");
        for arguments in [
            &["read", file][..],
            &["predict", file, "40ms"],
            &[
                "check",
                file,
                "--max-round-trips",
                "1",
                "--max-predicted",
                "1ms@40ms",
                "--forbid",
                "n+1",
                "--allow-unseen",
            ],
        ] {
            let text = shown(arguments);
            let lines = text.lines().count();
            let width = text.lines().map(|line| line.chars().count()).max().unwrap_or(0);
            if lines > 24 || width > 80 {
                faults.push(format!("{arguments:?}: {lines} lines, {width} columns\n{text}"));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

//! `estimate`: the transcripts of its pages, and figures that make no sense.

use std::path::Path;
use std::process::Command;
use testbed::binary::{done, program, refused, run, stdout};

/// The lines after a command are its output, as `LONGWIRE_BLESS=1` writes them.
#[test]
fn the_pages_show_what_it_prints() {
    let bless = std::env::var_os("LONGWIRE_BLESS").is_some();
    for (page, count) in [("estimate.md", 1), ("experiments.md", 4)] {
        let file = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../../docs")
            .join(page);
        let text = std::fs::read_to_string(&file).expect("the page is there");
        let (expected, commands) = with_output(&text);
        assert_eq!(commands, count, "{page}");
        if bless {
            std::fs::write(&file, expected).expect("the page can be written");
        } else {
            assert_eq!(text, expected, "{page}");
        }
    }
}

fn with_output(page: &str) -> (String, usize) {
    let mut out = String::new();
    let mut commands = 0;
    let mut is_output = false;
    for line in page.lines() {
        if let Some(command) = line.strip_prefix("$ longwire ") {
            commands += 1;
            is_output = true;
            out.push_str(line);
            out.push('\n');
            out.push_str(&printed(command));
            continue;
        }
        is_output &= line != "```";
        if !is_output {
            out.push_str(line);
            out.push('\n');
        }
    }
    (out, commands)
}

fn printed(command: &str) -> String {
    let script = format!("\"$0\" {command}");
    let mut shell = Command::new("sh");
    let output = shell.args(["-c", &script]).arg(program()).output().expect("sh");
    done(&output);
    stdout(&output)
}

#[test]
fn figures_that_make_no_sense_are_refused() {
    for (arguments, words) in [
        (&[][..], &["nothing to estimate", "--duration"][..]),
        (
            &["--duration", "12ms", "--trips", "4", "--measured-rtt", "10ms"],
            &["4 round trips of 10.0 ms take 40.0 ms"],
        ),
        (
            &["--trips", "2", "--link", "rtt=10ms loss=1%"],
            &["loss=1%", "predict"],
        ),
        (
            &[
                "--rows",
                "9",
                "--row-bytes",
                "9",
                "--buffer",
                "9,99",
                "--duration",
                "1s",
            ],
            &["one --buffer"],
        ),
        (&["--per-second", "0"], &["above 0"]),
        (&["--bytes", "1MB", "--ratio", "0.5"], &["at least 1"]),
        (
            &["--rows", "9", "--row-bytes", "0", "--buffer", "9"],
            &["at least 1 byte"],
        ),
    ] {
        refused(&[&["estimate"], arguments].concat(), words);
    }
}

#[test]
fn records_have_what_the_table_rounds() {
    let output = run(&[
        "estimate",
        "--duration",
        "12.3ms",
        "--trips",
        "27.2",
        "--rtt",
        "40ms",
        "--json",
    ]);
    done(&output);
    let records = stdout(&output);
    let record = records.lines().find(|line| line.contains(r#""type":"estimate""#));
    let record: serde_json::Value = serde_json::from_str(record.expect("a record")).expect("JSON");
    assert_eq!(record["duration_ns"], 1_100_300_000_u64);
    assert_eq!(record["work_ns"], 12_300_000);
    assert_eq!(record["round_trips"], 27.2);
}

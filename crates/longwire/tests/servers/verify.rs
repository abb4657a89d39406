//! Replays captures of real drivers over emulated links. Bounds allow for a slow, busy machine, and
//! errors are printed.

use serde_json::Value;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};
use testbed::binary::{self, done, records, run};
use testbed::floor::told_on_failure;
use testbed::process::require;

const PIPELINED: &str = "redis7-session.pcap";
const MANY_TURNS: &str = "mysqljdbc910-mariadb10.11-serverprep-cursor.pcap";

fn capture(name: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data/captures")
        .join(name);
    path.display().to_string()
}

fn predict(arguments: &[&str]) -> Output {
    let output = run(&[&["predict"], arguments].concat());
    done(&output);
    output
}

fn of_type(records: &[Value], name: &str) -> Vec<Value> {
    binary::of_type(records, name).into_iter().cloned().collect()
}

/// Verifies at both round-trip times, with bounds that always hold.
fn is_proved(level: &str, name: &str) {
    let file = capture(name);
    let output = predict(&[
        &file,
        "--verify",
        "--level",
        level,
        "--rtt",
        "1ms,20ms",
        "--operations",
        "connection",
        "--json",
    ]);
    let records = records(&output);
    let predictions = of_type(&records, "prediction");
    assert_eq!(predictions.len(), 2);
    for prediction in &predictions {
        let number = |key: &str| {
            prediction[key]
                .as_u64()
                .unwrap_or_else(|| panic!("{key}: {prediction}"))
        };
        let least = (prediction["turns"].as_f64().expect("turns") * number("rtt_ns") as f64) as u64;
        println!(
            "{level} {name}: {} of {}",
            prediction["error_share"],
            number("rtt_ns")
        );
        assert!(number("measured_operations") > 0 && number("measured_errors") == 0);
        // One round trip less: the client's kernel completes a stream's handshake at once.
        assert!(
            number("measured_ns") >= least - number("rtt_ns"),
            "faster than light: {prediction}"
        );
        // Without a median where six connections leave too wide an interval for one.
        let is_wide = prediction["no_duration"] == "wide";
        let predicted = number(if is_wide { "high_ns" } else { "duration_ns" });
        assert!(
            number("measured_ns") < 2 * predicted + 300_000_000,
            "{prediction}"
        );
        assert_eq!(prediction["error_share"].as_f64().is_none(), is_wide);
    }
    let links = of_type(&records, "link");
    assert_eq!(links.len(), 2);
    assert!(
        links.iter().all(|link| link["client_packets"].as_u64() > Some(0)),
        "{links:?}"
    );
    assert!(String::from_utf8_lossy(&output.stderr).contains("replaying 2 operations"));
}

#[test]
#[ignore = "timing: make test runs it alone"]
fn predictions_are_proved_with_packets() {
    let _floor = told_on_failure();
    is_proved("packet", PIPELINED);
    is_proved("packet", MANY_TURNS);
}

#[test]
#[ignore = "timing: make test runs it alone"]
fn predictions_are_proved_with_streams() {
    let _floor = told_on_failure();
    is_proved("stream", PIPELINED);
    is_proved("stream", MANY_TURNS);
}

#[test]
fn the_table_shows_both_and_the_links() {
    let file = capture(PIPELINED);
    let output = predict(&[&file, "--verify", "--rtt", "10ms", "--rate", "1mbit"]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    for words in [
        "predicted",
        "measured",
        "error",
        "Link client-server, requested rtt=10ms rate=1mbit",
    ] {
        assert!(text.contains(words), "'{words}' is missing in: {text}");
    }
}

#[test]
fn without_the_flag_nothing_is_replayed() {
    let output = predict(&[&capture(PIPELINED), "--json"]);
    let records = records(&output);
    assert!(of_type(&records, "link").is_empty());
    assert!(
        of_type(&records, "prediction")
            .iter()
            .all(|prediction| prediction["measured_ns"].is_null())
    );
}

#[test]
fn what_would_take_too_long_is_left_out_and_said() {
    let output = predict(&[
        &capture(MANY_TURNS),
        "--verify",
        "--level",
        "stream",
        "--rtt",
        "1s",
        "--operations",
        "connection",
        "--json",
    ]);
    let records = records(&output);
    assert!(
        of_type(&records, "prediction")
            .iter()
            .all(|prediction| prediction["measured_ns"].is_null())
    );
    let warnings = String::from_utf8_lossy(&output.stderr);
    assert!(warnings.contains("was not replayed: it would take"), "{warnings}");
}

#[test]
fn ctrl_c_ends_with_the_table_and_status_130() {
    for level in ["stream", "packet"] {
        let mut running = Command::new(binary::program())
            .args([
                "predict",
                &capture(MANY_TURNS),
                "--verify",
                "--level",
                level,
                "--rtt",
                "60ms",
                "--operations",
                "connection",
            ])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary is built");
        let mut stderr = running.stderr.take().expect("it is piped");
        let mut said = [0; 20];
        std::io::Read::read_exact(&mut stderr, &mut said).expect("it says that it replays");
        let killed = Command::new(require("kill"))
            .args(["-INT", &running.id().to_string()])
            .status()
            .expect("kill runs");
        assert!(killed.success());
        let began = Instant::now();
        let output = running.wait_with_output().expect("it ends");
        assert!(began.elapsed() < Duration::from_secs(20), "it goes on and on");
        assert_eq!(output.status.code(), Some(130), "{level}: {output:?}");
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(text.contains("turns") || text.contains("median"), "{text}");
    }
}

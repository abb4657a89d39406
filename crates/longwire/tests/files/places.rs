//! Places of the user's longwire.toml where a command takes a round-trip time or a link.

use std::path::Path;
use std::process::Output;
use testbed::binary::{bounded, longwire, of_type, records, shown, stderr};

const CAPTURE: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/tests/data/captures/pgjdbc4274-pg15-trust.pcap"
);

fn with_file(text: &str, arguments: &[&str]) -> Output {
    let home = tempfile::tempdir().expect("a directory");
    let folder = home.path().join(".config");
    std::fs::create_dir(&folder).expect("it is made");
    std::fs::write(folder.join("longwire.toml"), text).expect("it is written");
    let mut command = bounded(arguments);
    command.env_remove("XDG_CONFIG_HOME").env("HOME", home.path());
    command.output().expect("it runs")
}

const PLACES: &str = "[places]\nfrankfurt = \"12ms\"\nvirginia = \"90ms\"\n";

#[track_caller]
fn predicts(arguments: &[&str], expected: &[u64]) {
    let output = with_file(PLACES, arguments);
    assert!(output.status.success(), "{}", shown(&output));
    let mut rtts: Vec<_> = of_type(&records(&output), "prediction")
        .iter()
        .map(|record| record["rtt_ns"].as_u64().expect("a number") / 1_000_000)
        .collect();
    rtts.sort_unstable();
    rtts.dedup();
    assert_eq!(rtts, expected, "{arguments:?}");
}

#[test]
fn a_place_is_a_round_trip_time_and_a_link() {
    predicts(&["predict", "--json", CAPTURE, "frankfurt", "40ms"], &[12, 40]);
    predicts(
        &["predict", "--json", CAPTURE, "--rtt", "frankfurt,virginia"],
        &[12, 90],
    );
    predicts(
        &["predict", "--json", CAPTURE, "--link", "rtt=virginia rate=10mbit"],
        &[90],
    );
    predicts(&["read", "--json", CAPTURE, "--rtt", "virginia"], &[90]);
    predicts(&["read", "--json", CAPTURE], &[10, 40, 120]);
}

#[test]
fn every_command_with_a_link_takes_places() {
    for arguments in [
        &["link", "virginia", "--tc", "eth0"][..],
        &[
            "estimate",
            "--duration",
            "12ms",
            "--trips",
            "4",
            "--rtt",
            "virginia",
        ],
        &["check", CAPTURE, "--max-predicted", "1h@virginia"],
        &["check", CAPTURE, "--max-held", "1h@virginia"],
    ] {
        let output = with_file(PLACES, arguments);
        assert!(output.status.success(), "{arguments:?}: {}", shown(&output));
    }
    // They have parsed the link, and fail at the next step.
    for arguments in [
        &["relay", "tcp://127.0.0.1:1", "--link", "tcp=virginia"][..],
        &[
            "watch",
            "tcp://127.0.0.1:1",
            "--link",
            "virginia",
            "--rtt",
            "frankfurt",
        ],
        &["split", "postgres://127.0.0.1:1", "--link", "virginia"],
        &["tune", "postgres://127.0.0.1:1", "--rtt", "virginia"],
        &["tunnel", "advise", "nowhere.pcap", "--rtt", "virginia"],
    ] {
        let output = with_file(PLACES, arguments);
        assert!(!stderr(&output).contains("virginia"), "{}", shown(&output));
        let without = longwire(arguments).output().expect("it runs");
        assert!(
            stderr(&without).contains("virginia") || stderr(&without).contains("frankfurt"),
            "{}",
            shown(&without)
        );
    }
}

#[test]
fn an_unknown_place_and_a_fault_of_the_file_are_told() {
    let output = with_file(PLACES, &["read", CAPTURE, "--rtt", "frankfrt"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        stderr(&output).contains("your places are frankfurt, virginia"),
        "{}",
        shown(&output)
    );
    let broken = "[plcaes]\nfrankfurt = \"12ms\"\n";
    let output = with_file(broken, &["read", CAPTURE]);
    assert_eq!(output.status.code(), Some(2));
    for words in [
        "/.config/longwire.toml:1:2: unknown field `plcaes`, expected `places`",
        "hint: docs/flags.md#places",
    ] {
        assert!(stderr(&output).contains(words), "{}", shown(&output));
    }
    assert!(with_file(broken, &["--version"]).status.success());
}

#[test]
fn the_folder_of_xdg_comes_first() {
    let folder = tempfile::tempdir().expect("a directory");
    std::fs::write(folder.path().join("longwire.toml"), "[places]\nhere = \"12ms\"\n")
        .expect("it is written");
    for (folder, status) in [(folder.path(), 0), (Path::new("relative"), 2)] {
        let mut command = bounded(&["link", "here", "--tc", "eth0"]);
        command.env("XDG_CONFIG_HOME", folder).env("HOME", "/nonexistent");
        assert_eq!(command.output().expect("it runs").status.code(), Some(status));
    }
}

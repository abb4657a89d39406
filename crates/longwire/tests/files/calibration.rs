//! Predictions with the file of a calibration, and files that are none.

use std::fs;
use std::path::Path;
use testbed::binary::{self, done, of_type, refused, run, stderr, stdout, unwrapped};

const CAPTURE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/remedies/django.pcap.gz");

const SEVERAL: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../tests/golden/zabbix/near-1.pcap.zst"
);

/// Of both sides after rests that are longer by 20 ms.
fn calibration(host: &str, factor: [f64; 3]) -> String {
    let [factor, low, high] = factor;
    let rest = |side: &str| {
        format!(
            r#"{{"side":"{side}","longer_ns":20000000,"samples":400,"work_ns":200000,"additional_ns":100000,"factor":{factor},"factor_low":{low},"factor_high":{high}}}"#
        )
    };
    format!(
        r#"{{"calibration":1,"host":"{host}","kernel":"Linux 6.1","work":"./app","rests":[{},{}]}}"#,
        rest("client"),
        rest("server")
    )
}

fn predicted(arguments: &[&str]) -> [f64; 3] {
    let output = run(&[&["predict"], arguments, &["--link", "10ms", "--json"]].concat());
    done(&output);
    let records = binary::records(&output);
    let sum = |key: &str| -> f64 {
        let predictions = of_type(&records, "prediction");
        predictions.iter().filter_map(|record| record[key].as_f64()).sum()
    };
    ["duration_ns", "low_ns", "high_ns"].map(sum)
}

#[test]
fn a_calibration_replaces_the_assumed_allowance_and_its_interval() {
    let folder = tempfile::tempdir().expect("a directory");
    let file = folder.path().join("calibration.json");
    let path = file.display().to_string();
    let with = |factor| {
        fs::write(&file, calibration("here", factor)).expect("written");
        predicted(&[CAPTURE, "--calibration", &path])
    };
    let [assumed, _, assumed_high] = predicted(&[CAPTURE]);
    assert_eq!(predicted(&[CAPTURE, "--wake-up", "assumed"])[0], assumed);
    let [none, ..] = predicted(&[CAPTURE, "--wake-up", "none"]);
    let [nothing, low, high] = with([0.0, 0.0, 0.0]);
    let [half, ..] = with([0.5, 0.4, 0.6]);
    assert_eq!(with([1.0, 0.0, 2.0])[0], assumed);
    assert_eq!(nothing, none);
    assert!(none < half && half < assumed, "{none} {half} {assumed}");
    assert!(high - low < assumed_high - low);
}

#[test]
fn one_next_to_the_capture_is_found_and_said() {
    let folder = tempfile::tempdir().expect("a directory");
    let capture = folder.path().join("app.pcap.gz");
    fs::copy(CAPTURE, &capture).expect("copied");
    let capture = capture.display().to_string();
    let text = calibration("db-host", [0.0, 0.0, 0.1]);
    fs::write(folder.path().join("longwire-calibration.json"), text).expect("written");
    let output = run(&["predict", &capture, "40ms", "--explain"]);
    done(&output);
    assert!(
        stderr(&output).contains("measured on db-host"),
        "{}",
        stderr(&output)
    );
    let explained = unwrapped(&stdout(&output));
    assert!(explained.contains("as a calibration measured"));
    assert!(
        explained.contains("The calibration's scatter") && !explained.contains("Assumed;"),
        "{explained}"
    );
    let output = run(&["read", &capture]);
    assert!(
        stderr(&output).contains("measured on db-host"),
        "{}",
        stderr(&output)
    );
    let output = run(&["predict", &capture, "40ms", "--wake-up", "none"]);
    assert!(!stderr(&output).contains("db-host"), "{}", stderr(&output));
}

#[test]
fn records_and_pages_name_it_and_budgets_are_judged_with_it() {
    let folder = tempfile::tempdir().expect("a directory");
    let path = |name: &str| folder.path().join(name).display().to_string();
    let (file, page) = (path("other.json"), path("page.html"));
    fs::write(&file, calibration("here", [0.0, 0.0, 0.0])).expect("written");
    let with = |arguments: &[&str]| {
        let given = ["--calibration", &file, "--json", "--html", &page];
        let records = binary::records(&run(&[arguments, &given].concat()));
        assert_eq!(
            of_type(&records, "conditions")[0]["calibration"],
            *file,
            "{arguments:?}"
        );
        let page = fs::read_to_string(&page).expect("the page");
        assert!(page.contains("<dt>calibration</dt>"), "{arguments:?}");
        records
    };
    let without = |arguments: &[&str]| binary::records(&run(&[arguments, &["--json"]].concat()));
    with(&["read", CAPTURE]);
    let predict = ["predict", CAPTURE, "40ms"];
    let names = |records: &[serde_json::Value]| of_type(records, "conditions")[0]["calibration"].clone();
    assert!(names(&without(&predict)).is_null());
    let check = ["check", CAPTURE, "--max-predicted", "1ms@40ms", "--allow-unseen"];
    let sum = |records: &[serde_json::Value], kind: &str, key: &str| -> f64 {
        let figures = of_type(records, kind);
        figures.iter().filter_map(|record| record[key].as_f64()).sum()
    };
    let [judged, predicted] = [
        sum(&with(&check), "check", "predicted_ns"),
        sum(&with(&predict), "prediction", "duration_ns"),
    ];
    assert_eq!(judged, predicted);
    assert!(judged < sum(&without(&check), "check", "predicted_ns"));
}

#[test]
fn a_file_that_cannot_be_written_is_said_before_anything_is_measured() {
    let folder = tempfile::tempdir().expect("a directory");
    let missing = folder.path().join("no/calibration.json").display().to_string();
    refused(
        &["calibrate", "postgres://127.0.0.1:1/shop", "-o", &missing],
        &["could not write", "no/calibration.json"],
    );
    let file = folder.path().join("calibration.json");
    let path = file.display().to_string();
    refused(
        &["calibrate", "postgres://127.0.0.1:1/shop", "-o", &path],
        &["127.0.0.1:1"],
    );
    assert!(!file.exists());
}

#[test]
fn any_name_is_explained_and_one_without_a_prediction_is_said() {
    let records = binary::records(&run(&["predict", SEVERAL, "40ms", "--json"]));
    let predictions = of_type(&records, "prediction");
    assert!(predictions.len() > 1 && of_type(&records, "not_predicted").is_empty());
    for prediction in &predictions {
        let name = prediction["operation_name"].as_str().expect("a name");
        let output = run(&["predict", SEVERAL, "40ms", &format!("--explain={name}")]);
        done(&output);
        let explained = unwrapped(&stdout(&output));
        assert!(
            explained.contains(&format!("The longest operation, {name}")),
            "{explained}"
        );
    }
    refused(
        &["predict", SEVERAL, "40ms", "--explain=no such page"],
        &[
            "no such page",
            predictions[0]["operation_name"].as_str().expect("a name"),
        ],
    );
    let output = run(&["predict", SEVERAL, "40ms", "--on", "redis", "--json"]);
    let records = binary::records(&output);
    let refused = of_type(&records, "not_predicted");
    assert_eq!(refused.len(), predictions.len());
    for record in refused {
        assert!(
            record["refused"].as_str().is_some_and(|why| why.contains("--on")),
            "{record}"
        );
    }
}

#[test]
fn files_that_are_no_calibration_are_refused() {
    let folder = tempfile::tempdir().expect("a directory");
    let file = folder.path().join("calibration.json");
    let path = file.display().to_string();
    let with = |text: &str, words: &[&str]| {
        fs::write(&file, text).expect("written");
        refused(&["predict", CAPTURE, "10ms", "--calibration", &path], words);
    };
    let whole = calibration("here", [0.5, 0.4, 0.6]);
    with(&whole[..whole.len() / 2], &["damaged", "calibration.json"]);
    with("", &["damaged"]);
    with("{\"type\":\"conditions\"}", &["not a calibration"]);
    let without_rests = r#"{"calibration":1,"work":"a","rests":[]}"#;
    with(without_rests, &["no rests", "longwire calibrate"]);
    with(
        &whole.replace("\"calibration\":1", "\"calibration\":7"),
        &["version 7", "version 1"],
    );
    with(&whole.replace("\"client\"", "\"proxy\""), &["proxy"]);
    with(
        &whole.replace("\"factor\":0.5", "\"factor\":0.7"),
        &["0.7", "calibration.json"],
    );
    with(&whole.replace("\"factor\":0.5", "\"factor\":1e999"), &["damaged"]);
    with(&whole.replace("\"factor_low\":0.4,", ""), &["neither"]);
    with(&whole.replace("\"server\"", "\"client\""), &["ascending"]);
    let missing = folder.path().join("none.json").display().to_string();
    refused(&["plan", CAPTURE, CAPTURE, "--calibration", &missing], &[]);
    refused(
        &["predict", CAPTURE, "10ms", "--calibration", &missing],
        &["none.json"],
    );
    refused(
        &[
            "predict",
            CAPTURE,
            "10ms",
            "--calibration",
            &path,
            "--wake-up",
            "none",
        ],
        &["--wake-up"],
    );
}

#[test]
fn a_time_too_short_for_a_measurement_is_refused() {
    for time in ["0s", "4.9s"] {
        refused(&["calibrate", "-T", time], &["at least 5.00 s"]);
    }
}

#[test]
fn one_of_another_machine_than_the_recording_is_refused_or_left_out() {
    let folder = tempfile::tempdir().expect("a directory");
    let recording = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/symptoms/pages.lwr");
    let copy = folder.path().join("pages.lwr");
    fs::copy(recording, &copy).expect("copied");
    let copy = copy.display().to_string();
    let file = folder.path().join("longwire-calibration.json");
    fs::write(&file, calibration("no-such-machine", [0.5, 0.4, 0.6])).expect("written");
    let path = file.display().to_string();
    refused(
        &["predict", &copy, "10ms", "--calibration", &path],
        &["no-such-machine", "its machine alone"],
    );
    let output = run(&["predict", &copy, "10ms"]);
    done(&output);
    assert!(stderr(&output).contains("it is not used"), "{}", stderr(&output));
}

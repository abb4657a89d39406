//! Runs labs with real hosts, links and services. Needs root, or unprivileged user namespaces.

use serde_json::Value;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;
use testbed::binary::{of_type, program, records};
use testbed::floor::told_on_failure;

/// PostgreSQL fetching one row at a time, near and far.
const SELECT: &str = r#"
hosts = ["application", "database"]

[links.network]
between = ["application", "database"]

[services.database]
host = "database"
kind = "postgres"

[workload]
kind = "sql"
host = "application"
target = "postgres://postgres@database/postgres"
statements = ["select 1"]

[measure]
operations = 20
warmup = 2

[[sweep]]
links.network.rtt = ["0ms", "10ms", "30ms"]
"#;

/// Short points without network traffic.
pub(super) const SLEEP: &str = r#"
hosts = ["application", "database"]

[links.network]
between = ["application", "database"]

[workload]
kind = "command"
host = "application"
command = "sleep 0.2"

[measure]
operations = 2
warmup = 0

[[sweep]]
links.network.rtt = ["1ms", "2ms", "3ms", "4ms"]
"#;

struct Lab {
    directory: TempDir,
}

impl Lab {
    fn new(text: &str) -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        fs::write(directory.path().join("lab.toml"), text).expect("the lab is written");
        Self { directory }
    }

    fn command(&self) -> Command {
        let mut command = Command::new(program());
        command
            .current_dir(self.directory.path())
            .args(["lab", "run", "lab.toml", "--directory", "kept"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    fn run(&self) -> Output {
        self.command().output().expect("longwire runs")
    }

    /// Sends `signal` once `mark` is on stderr, and waits for the end.
    fn run_until(&self, mark: &str, signal: &str) -> (Option<i32>, String) {
        let mut child = self.command().spawn().expect("longwire runs");
        wait_for(&mut child, mark);
        let id = child.id().to_string();
        let sent = Command::new("kill")
            .args([signal, &id])
            .status()
            .expect("kill runs");
        assert!(sent.success());
        let mut out = String::new();
        let mut stdout = child.stdout.take().expect("piped");
        stdout.read_to_string(&mut out).expect("text");
        (child.wait().expect("it ends").code(), out)
    }
}

fn wait_for(child: &mut Child, mark: &str) {
    let mut said = String::new();
    let mut stderr = BufReader::new(child.stderr.take().expect("piped"));
    while !said.contains(mark) {
        let read = stderr.read_line(&mut said).expect("text");
        assert!(read > 0, "it ended before it said {mark}: {said}");
    }
    // Drains stderr to avoid a closed pipe.
    std::thread::spawn(move || stderr.read_to_string(&mut String::new()));
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
#[ignore = "timing: make test runs it alone"]
fn a_lab_measures_what_it_predicts() {
    let _floor = told_on_failure();
    let lab = Lab::new(SELECT);
    let output = lab.command().arg("--json").output().expect("longwire runs");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let records = records(&output);
    assert_eq!(records[0]["type"], "conditions");
    let (points, predictions) = (of_type(&records, "point"), of_type(&records, "prediction"));
    assert_eq!((points.len(), predictions.len()), (3, 3));
    for (point, rtt) in points.iter().zip([0_u64, 10, 30]) {
        assert_eq!(point["settings"]["links.network.rtt"], format!("{rtt}ms"));
        assert_eq!(point["measured_operations"], 20);
        let measured = point["measured_ns"].as_u64().expect("measured");
        assert!(measured >= rtt * 1_000_000, "{measured} ns at {rtt} ms");
    }
    for (prediction, rtt) in predictions.iter().zip([0_u64, 10, 30]) {
        let predicted = prediction["duration_ns"].as_u64().expect("predicted");
        assert!(
            (rtt * 1_000_000..(rtt + 10) * 1_000_000).contains(&predicted),
            "{prediction}"
        );
        assert!(prediction["error_share"].is_number(), "{prediction}");
    }
    let slope = of_type(&records, "slope")[0];
    assert_eq!(
        (&slope["link_name"], &slope["counted_turns"]),
        (&Value::from("network"), &Value::from(1.0))
    );
    let turns = slope["measured_turns"].as_f64().expect("a slope");
    assert!((0.9..1.5).contains(&turns), "{turns} round trips of a statement");
    assert_eq!(of_type(&records, "lab")[0]["predicted_points"], 2);
    assert_eq!(records.last().expect("records")["type"], "summary");

    // A second run starts nothing and shows the same results.
    let again = lab.run();
    assert_eq!(again.status.code(), Some(0));
    assert_eq!(text(&again.stderr), "");
    assert!(
        text(&again.stdout).starts_with("Lab lab: 3 points"),
        "{}",
        text(&again.stdout)
    );
}

/// The same statements over a longer path, through longwire as a service of the lab.
const VARIANTS: &str = r#"
hosts = ["application", "database"]

[links.network]
between = ["application", "database"]

[services.database]
host = "database"
kind = "postgres"

[services.relay]
host = "application"
command = "exec $LONGWIRE_PROGRAM relay postgres://database:5432/ --listen 127.0.0.1:7000 --link rtt=20ms"
ready = { port = 7000 }

[workload]
kind = "sql"
host = "application"
target = "postgres://postgres@database/postgres"
statements = ["select 1"]
clients = 2

[measure]
operations = 20
warmup = 2
settle = 2
repeat = 2

[variants]
straight = { }
relayed = { against = "straight", predict = false, workload.target = "postgres://postgres@localhost:7000/postgres" }

[[sweep]]
links.network.rtt = ["5ms"]
variant = ["straight", "relayed"]
"#;

#[test]
#[ignore = "timing: make test runs it alone"]
fn variants_are_compared_round_by_round() {
    let _floor = told_on_failure();
    let lab = Lab::new(VARIANTS);
    let output = lab.command().arg("--json").output().expect("longwire runs");
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let records = records(&output);
    let points = of_type(&records, "point");
    assert_eq!(points.len(), 2);
    assert_eq!(points[1]["settings"]["variant"], "relayed");
    assert_eq!(points[1]["compared_with_point"], 1);
    let times = points[1]["times"].as_f64().expect("compared");
    assert!((0.05..0.6).contains(&times), "{times} of 5 ms with 20 ms more");
    assert_eq!(
        of_type(&records, "prediction").len(),
        1,
        "the relayed way is not predicted"
    );
    let rounds = of_type(&records, "round");
    assert_eq!(rounds.len(), 4);
    for round in &rounds {
        assert_eq!(round["operations"], 20);
        assert!(round["server_payload_bytes"].as_u64() > Some(0), "{round}");
        assert!(
            round["server_wire_bytes"].as_u64() > round["server_payload_bytes"].as_u64(),
            "{round}"
        );
        assert!(round["services"]["relay"]["processor_ns"].is_u64(), "{round}");
    }

    let again = lab.run();
    let out = text(&again.stdout);
    for said in [
        "variant",
        "95 %",
        "error %",
        "a minute",
        "times (min to max)",
        "cpu database",
        "relayed",
    ] {
        assert!(out.contains(said), "{said}: {out}");
    }
}

#[test]
fn what_was_done_when_it_was_interrupted_is_not_done_again() {
    let lab = Lab::new(SLEEP);
    let (status, out) = lab.run_until("1 of 4", "-INT");
    assert_eq!(status, Some(130), "{out}");
    assert!(out.starts_with("Lab lab: 1 of 4 points"), "{out}");
    // One file per point, plus longwire's marker file.
    let kept = fs::read_dir(lab.directory.path().join("kept/points"))
        .expect("points")
        .filter(|entry| {
            entry
                .as_ref()
                .is_ok_and(|entry| entry.file_name() != ".made-by-longwire")
        })
        .count();
    assert_eq!(kept, 1);

    let output = lab.run();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert!(
        text(&output.stderr).contains("3 of 3"),
        "{}",
        text(&output.stderr)
    );
    assert!(!text(&output.stderr).contains("4 of"), "{}", text(&output.stderr));

    // A changed lab counts as a different lab.
    let path = lab.directory.path().join("lab.toml");
    fs::write(&path, SLEEP.replace("sleep 0.2", "sleep 0.1")).expect("written");
    let output = lab.run();
    assert!(
        text(&output.stderr).contains("4 of 4"),
        "{}",
        text(&output.stderr)
    );
}

#[test]
fn operations_that_fail_are_told() {
    let slow = SELECT
        .replace("[measure]", "timeout = \"15ms\"\n[measure]")
        .replace("\"10ms\", ", "");
    let output = Lab::new(&slow).run();
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(output.status.code(), Some(1), "{out}{err}");
    assert!(out.contains("failed: "), "{out}");
}

#[test]
fn a_service_that_never_gets_ready_is_told_with_its_log() {
    let service = "[services.web]\nhost = \"database\"\ncommand = \"echo one line of its log; sleep 600\"\n\
                   ready = { port = 8080, timeout = \"2s\" }\n\n[workload]";
    let output = Lab::new(&SLEEP.replace("[workload]", service)).run();
    let err = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{err}");
    for said in ["web", "port 8080", "one line of its log"] {
        assert!(err.contains(said), "{said}: {err}");
    }
}

#[test]
fn a_workload_that_does_not_work_at_all_is_told() {
    let output = Lab::new(&SLEEP.replace("sleep 0.2", "exit 3")).run();
    let err = text(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{err}");
    assert!(
        err.contains("the workload does not work without any distance") && err.contains('3'),
        "{err}"
    );
}

#[test]
fn nothing_is_left_when_it_is_killed() {
    // A duration that no other process on this machine sleeps for.
    let seconds = format!("{}.5", 900_000 + std::process::id());
    let service =
        format!("[services.sleeper]\nhost = \"database\"\ncommand = \"exec sleep {seconds}\"\n\n[workload]");
    for signal in ["-INT", "-KILL"] {
        let lab = Lab::new(&SLEEP.replace("[workload]", &service));
        lab.run_until("1 of 4", signal);
        let begun = Instant::now();
        while runs(&seconds) {
            assert!(
                begun.elapsed() < Duration::from_secs(10),
                "sleep {seconds} outlived {signal}"
            );
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

fn runs(word: &str) -> bool {
    let processes = fs::read_dir("/proc").expect("/proc is there");
    processes.flatten().any(|process| {
        let line = fs::read(Path::new(&process.path()).join("cmdline")).unwrap_or_default();
        line.split(|&byte| byte == 0)
            .any(|argument| argument == word.as_bytes())
    })
}

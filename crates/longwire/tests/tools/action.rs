//! Runs the steps of `action.yml` like GitHub, with bash and the runner's variables, for kept and
//! broken budgets.

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;
use testbed::{binary, python};

pub(super) struct Runner {
    folder: tempfile::TempDir,
    action: Value,
    /// Where pip looks for packages.
    index: String,
}

pub(super) struct Ran {
    pub(super) status: i32,
    pub(super) log: String,
    summary: String,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

impl Runner {
    fn new() -> Self {
        Self::with_index("http://nothing.invalid/simple")
    }

    pub(super) fn with_index(index: &str) -> Self {
        let programs = python::environment(&["PyYAML==6.0.2"]);
        let to_json = "import json, sys, yaml; json.dump(yaml.safe_load(open(sys.argv[1])), sys.stdout)";
        let output = Command::new(programs.join("python"))
            .args(["-c", to_json])
            .arg(root().join("action.yml"))
            .output()
            .expect("python starts");
        assert!(output.status.success(), "{}", binary::stderr(&output));
        Self {
            folder: tempfile::tempdir().expect("a directory"),
            action: serde_json::from_slice(&output.stdout).expect("JSON"),
            index: index.to_owned(),
        }
    }

    fn filled(&self, text: &str, given: &[(&str, &str)]) -> String {
        let mut text = text.to_owned();
        let inputs = self.action["inputs"].as_object().expect("it has inputs");
        for (name, input) in inputs {
            let given = given
                .iter()
                .find(|(asked, _)| asked == name)
                .map(|(_, value)| *value);
            let value = given.or_else(|| input["default"].as_str());
            let place = format!("${{{{ inputs.{name} }}}}");
            if text.contains(&place) {
                text = text.replace(&place, value.unwrap_or_else(|| panic!("{name} is required")));
            }
        }
        assert!(!text.contains("${{"), "an input that is not declared: {text}");
        text
    }

    pub(super) fn run(&self, given: &[(&str, &str)]) -> Ran {
        for (name, _) in given {
            assert!(self.action["inputs"].get(name).is_some(), "{name} is an input");
        }
        let file = |name: &str| self.folder.path().join(name);
        std::fs::write(file("summary"), "").expect("it is written");
        std::fs::write(file("path"), "").expect("it is written");
        let (mut log, mut status) = (String::new(), 0);
        for step in self.action["runs"]["steps"].as_array().expect("steps") {
            assert_eq!(step["shell"], "bash");
            let script = step["run"].as_str().expect("each step is a script");
            assert!(
                !script.contains("${{"),
                "inputs come in variables, never in the script"
            );
            let added = std::fs::read_to_string(file("path")).expect("text");
            let path: Vec<&str> = added.lines().chain(["/usr/bin", "/bin"]).collect();
            let mut bash = Command::new("bash");
            // Same as GitHub's `shell: bash`.
            bash.args(["--noprofile", "--norc", "-e", "-o", "pipefail", "-c", script])
                .env_clear()
                .env("PATH", path.join(":"))
                .env("PIP_INDEX_URL", &self.index)
                .env("PIP_RETRIES", "0")
                .env("RUNNER_TEMP", self.folder.path())
                .env("GITHUB_PATH", file("path"))
                .env("GITHUB_STEP_SUMMARY", file("summary"))
                .current_dir(self.folder.path());
            for (name, value) in step["env"].as_object().into_iter().flatten() {
                bash.env(name, self.filled(value.as_str().expect("text"), given));
            }
            let output = bash.output().expect("bash starts");
            log += &binary::shown(&output);
            status = output.status.code().expect("it ends by itself");
            if status != 0 {
                break;
            }
        }
        Ran {
            status,
            log,
            summary: std::fs::read_to_string(file("summary")).expect("text"),
        }
    }
}

pub(super) fn capture() -> String {
    let file =
        root().join("crates/longwire/tests/data/captures/mysqljdbc910-mariadb10.11-serverprep-cursor.pcap");
    file.display().to_string()
}

fn program() -> String {
    binary::program().display().to_string()
}

#[test]
fn a_budget_that_is_kept_ends_with_0_and_a_summary() {
    let ran = Runner::new().run(&[
        ("files", &capture()),
        ("args", "--max-round-trips 1000 --operations connection"),
        ("package", &program()),
    ]);
    assert_eq!(ran.status, 0, "{}", ran.log);
    assert!(
        ran.summary.contains("0 budgets broken, 1 kept"),
        "{}",
        ran.summary
    );
    assert!(ran.summary.starts_with("### longwire check\n```\n") && ran.summary.ends_with("```\n"));
    assert!(!ran.log.contains("::error"), "{}", ran.log);
}

#[test]
fn a_budget_that_is_broken_ends_with_1_an_annotation_and_a_summary() {
    let runner = Runner::new();
    let budget = runner.folder.path().join("longwire.toml");
    std::fs::write(&budget, "max-round-trips = 1\n").expect("it is written");
    let ran = runner.run(&[
        ("files", &capture()),
        ("budget", budget.to_str().expect("a plain name")),
        ("args", "--operations connection"),
        ("package", &program()),
    ]);
    assert_eq!(ran.status, 1, "{}", ran.log);
    assert!(ran.summary.contains("1 budget broken, 0 kept"), "{}", ran.summary);
    assert!(
        !ran.summary.contains("::error"),
        "commands are for the log: {}",
        ran.summary
    );
    assert!(
        ran.log.contains("::error title=longwire max-round-trips%3A "),
        "{}",
        ran.log
    );
}

#[test]
fn what_cannot_be_checked_ends_with_2() {
    let runner = Runner::new();
    let given = [
        ("files", "missing.lwr"),
        ("args", "--max-round-trips 1"),
        ("package", &*program()),
    ];
    assert_eq!(runner.run(&given).status, 2);
    let without = runner.run(&[("files", "missing.lwr")]);
    assert_eq!(without.status, 2, "{}", without.log);
    assert!(
        without.log.contains("::error::longwire is not in PATH"),
        "{}",
        without.log
    );
}

#[test]
fn nothing_of_an_input_is_run_or_expanded() {
    let runner = Runner::new();
    let trap = runner.folder.path().join("trap");
    let hostile = format!("$(touch {0}) `touch {0}`; touch {0} *", trap.display());
    let ran = runner.run(&[("files", &capture()), ("args", &hostile), ("package", &program())]);
    assert_ne!(ran.status, 0);
    assert!(!trap.exists(), "an input was run");
    let ran = runner.run(&[("files", &hostile), ("budget", &hostile), ("package", &program())]);
    assert_ne!(ran.status, 0);
    assert!(!trap.exists(), "an input was run");
}

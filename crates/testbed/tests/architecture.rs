//! Allowed dependencies between crates, and rules for all files.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// Allowed dependencies inside the workspace. Data flows in one direction; a new entry is a
/// decision, explained in ARCHITECTURE.md.
const ARROWS: &[(&str, &[&str])] = &[
    ("model", &[]),
    ("tls_keys", &["model"]),
    ("wire", &["model", "tls_keys"]),
    ("capture", &["model"]),
    ("analysis", &["model"]),
    ("link", &["model"]),
    ("predict", &["model", "link"]),
    ("plan", &["model", "link", "predict", "check"]),
    ("report", &["model"]),
    ("check", &["model", "analysis", "link", "report"]),
    ("screen", &["model", "analysis", "link", "report"]),
    ("tunnel", &["model", "link", "predict"]),
    ("sys", &["model"]),
    ("key_log", &[]),
    ("telemetry", &["model", "analysis", "sys"]),
    ("tables", &["sys"]),
    ("toxiproxy", &["model", "link", "sys"]),
    ("client", &["model", "sys", "wire"]),
    ("relay", &["model", "link", "sys", "wire"]),
    ("netns", &["model", "link", "sys"]),
    ("probe", &["model", "sys", "wire", "client"]),
    ("load", &["model", "sys", "wire", "client"]),
    (
        "tune",
        &[
            "model", "analysis", "link", "predict", "report", "pipeline", "sys", "client", "relay",
        ],
    ),
    (
        "tunnel_io",
        &[
            "model", "analysis", "sys", "wire", "client", "load", "tunnel", "pipeline",
        ],
    ),
    ("demo", &["model"]),
    ("servers", &[]),
    ("testbed", &["servers"]),
    (
        "pipeline",
        &[
            "model",
            "wire",
            "tls_keys",
            "capture",
            "analysis",
            "link",
            "predict",
            "report",
            "tunnel",
            "sys",
            "telemetry",
            "tables",
        ],
    ),
    (
        "live",
        &[
            "model",
            "analysis",
            "link",
            "predict",
            "report",
            "screen",
            "pipeline",
            "telemetry",
            "key_log",
            "relay",
            "sys",
        ],
    ),
    (
        "agent",
        &[
            "model",
            "analysis",
            "report",
            "pipeline",
            "telemetry",
            "relay",
            "sys",
            "live",
        ],
    ),
    (
        "lab",
        &[
            "model", "analysis", "link", "predict", "report", "sys", "pipeline", "load", "netns", "servers",
        ],
    ),
    (
        "proof",
        &[
            "model", "link", "predict", "report", "pipeline", "relay", "netns", "client", "probe", "script",
            "load", "sys",
        ],
    ),
    (
        "longwire",
        &[
            "model",
            "pipeline",
            "live",
            "agent",
            "telemetry",
            "lab",
            "analysis",
            "link",
            "predict",
            "check",
            "plan",
            "proof",
            "report",
            "screen",
            "tunnel",
            "sys",
            "client",
            "relay",
            "netns",
            "probe",
            "load",
            "tune",
            "tunnel_io",
            "key_log",
            "toxiproxy",
            "demo",
        ],
    ),
];

/// A dependency of tests and benchmarks only.
const FOR_TESTS_ONLY: &str = "testbed";

/// A separate constant, so that this file does not match its own check.
const UNSAFE: &str = "unsafe";

/// Further dependencies of tests: producers of traffic for the code under test.
const ARROWS_OF_TESTS: &[(&str, &str)] = &[
    ("probe", "relay"),
    ("tune", "load"),
    ("report", "tables"),
    ("screen", "pipeline"),
    ("screen", "predict"),
    ("longwire", "wire"),
    ("longwire", "capture"),
    ("longwire", "tls_keys"),
];

#[test]
fn no_crate_knows_another_it_should_not() {
    let allowed: BTreeMap<&str, &[&str]> = ARROWS.iter().copied().collect();
    let packages = packages();
    let names: BTreeSet<&str> = packages
        .iter()
        .filter_map(|package| package["name"].as_str())
        .collect();
    let listed: BTreeSet<&str> = allowed.keys().copied().collect();
    assert_eq!(names, listed, "the crates of the workspace and those in ARROWS");

    let mut wrong = Vec::new();
    for package in &packages {
        let name = text(&package["name"]);
        for dependency in package["dependencies"]
            .as_array()
            .expect("cargo lists every package's dependencies")
        {
            let to = text(&dependency["name"]);
            let in_tests = dependency["kind"] == "dev";
            let known = allowed[name].contains(&to)
                || (in_tests && (to == FOR_TESTS_ONLY || ARROWS_OF_TESTS.contains(&(name, to))));
            if names.contains(to) && !known {
                wrong.push(format!("{name} -> {to}"));
            }
        }
    }
    assert!(wrong.is_empty(), "arrows against the flow: {}", wrong.join(", "));
}

/// Pure parts of crates that touch the world: beginnings of their paths.
const PURE: &[&str] = &[
    "load/src/script",
    "tables/src/date.rs",
    "tables/src/error.rs",
    "tables/src/nullable.rs",
    "tables/src/reader.rs",
    "tables/src/row",
    "tables/src/schema.rs",
    "tables/src/writer.rs",
    "telemetry/src/metrics",
    "telemetry/src/otlp",
    "toxiproxy/src/toxics",
];

const WORLD: &[&str] = &[
    "sys::",
    "std::net",
    "std::process",
    "std::thread",
    "std::env",
    "std::fs",
    "io::std",
    "std::os",
    "Instant::",
    "SystemTime",
    "print!",
    "println!",
    "libc::",
    "rustix::",
    "ureq::",
    "tempfile::",
];

#[test]
fn pure_parts_of_crates_touch_nothing() {
    let crates = root().join("crates");
    let mut wrong = Vec::new();
    let mut seen = BTreeSet::new();
    for path in files(&crates) {
        let name = path
            .strip_prefix(&crates)
            .expect("it is below crates")
            .display()
            .to_string();
        let Some(part) = PURE.iter().find(|part| name.starts_with(**part)) else {
            continue;
        };
        seen.insert(*part);
        let text = rust(&path).unwrap_or_default();
        let code = text.lines().filter(|line| !line.trim_start().starts_with("//"));
        for line in code {
            let of_crate = line.split("crate::").skip(1).find(|module| {
                let module = format!("{}/src/{module}", name.split('/').next().unwrap_or_default());
                !PURE.iter().any(|part| module.starts_with(part))
            });
            if of_crate.is_some() || WORLD.iter().any(|word| line.contains(word)) {
                wrong.push(format!("{name}: {}", line.trim()));
            }
        }
    }
    assert!(wrong.is_empty(), "not pure: {wrong:#?}");
    assert_eq!(seen, PURE.iter().copied().collect(), "parts that are there");
}

#[test]
fn every_crate_says_what_it_is_for() {
    for (name, _) in ARROWS {
        let readme = root().join("crates").join(name).join("README.md");
        let text =
            std::fs::read_to_string(&readme).unwrap_or_else(|error| panic!("{}: {error}", readme.display()));
        assert!(
            text.starts_with(&format!("# {name}\n")),
            "{} starts with its name",
            readme.display()
        );
    }
}

#[test]
fn no_file_names_a_path_of_this_machine() {
    let home = std::env::var("HOME").ok().filter(|home| home.len() > 1);
    let mut words = vec![root().display().to_string()];
    words.extend(home.map(|home| format!("{home}/")));
    let mut found = Vec::new();
    for path in files(&root()) {
        let Ok(text) = std::fs::read_to_string(&path) else {
            continue;
        };
        for (number, line) in text.lines().enumerate() {
            for word in words.iter().filter(|word| line.contains(word.as_str())) {
                found.push(format!("{}:{}: {word}", path.display(), number + 1));
            }
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

#[test]
fn unsafe_code_is_where_its_page_says() {
    let mut blocks = BTreeMap::new();
    for path in files(&root()) {
        if path.extension().is_none_or(|extension| extension != "rs") {
            continue;
        }
        let text =
            std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let uses = |what: &str| text.matches(&format!("{UNSAFE} {what}")).count();
        let name = path.strip_prefix(root()).expect("it is a file of the project");
        let name = name.display().to_string();
        assert!(
            uses("{") > 0
                || ["fn", "impl", "trait", "extern"]
                    .iter()
                    .all(|what| uses(what) == 0)
                    && !text.contains(&format!("#[{UNSAFE}(")),
            "{name}: unsafe, and without a block that could have a row"
        );
        if uses("{") > 0 {
            blocks.insert(name, uses("{"));
        }
    }
    let page =
        std::fs::read_to_string(root().join("contributing/unsafe.md")).expect("contributing/unsafe.md");
    let mut rows = BTreeMap::new();
    for line in page.lines() {
        if let Some((name, _)) = line.strip_prefix("| `").and_then(|rest| rest.split_once('`')) {
            *rows.entry(name.to_owned()).or_insert(0) += 1;
        }
    }
    assert_eq!(
        blocks, rows,
        "unsafe blocks of each file, and rows of contributing/unsafe.md"
    );
}

/// `cargo test` skips tests marked so, and `make timing` runs them: no other tests may have the
/// mark.
#[test]
fn only_timing_tests_are_left_to_make_timing_and_each_tells_the_machines_floor() {
    let mut wrong = Vec::new();
    for path in files(&root().join("crates")) {
        let Some(text) = rust(&path) else { continue };
        let lines: Vec<&str> = text.lines().map(str::trim).collect();
        for (index, line) in lines.iter().enumerate() {
            let told = || {
                let mut rest = lines[index..].iter().skip_while(|line| !line.starts_with("fn "));
                rest.nth(1)
                    .is_some_and(|line| line.ends_with("told_on_failure();"))
            };
            let is_timing = line.starts_with("#[ignore = \"timing: ");
            if line.starts_with("#[ignore") && !(is_timing && told()) {
                wrong.push(format!("{}:{}", path.display(), index + 1));
            }
        }
    }
    assert!(wrong.is_empty(), "ignored, and no timing test: {wrong:#?}");
    for (file, step) in [
        ("scripts/gate.py", "--profile timing --run-ignored only"),
        (
            ".config/nextest.toml",
            "[profile.timing]\ninherits = \"default\"\ntest-threads = 1\n",
        ),
    ] {
        let text = std::fs::read_to_string(root().join(file)).expect("it is there");
        assert!(text.contains(step), "{step:?} is missing in {file}");
    }
}

/// `cargo nextest` runs no documentation tests.
#[test]
fn no_documentation_holds_a_test() {
    let mut found = Vec::new();
    for path in files(&root().join("crates")) {
        let Some(text) = rust(&path) else { continue };
        let mut is_open = false;
        for (index, line) in text.lines().enumerate() {
            let comment = line.trim_start();
            let comment = comment
                .strip_prefix("///")
                .or_else(|| comment.strip_prefix("//!"));
            let Some(language) = comment.and_then(|text| text.trim_start().strip_prefix("```")) else {
                continue;
            };
            let is_rust = ["", "rust", "no_run", "should_panic", "compile_fail"].contains(&language.trim());
            if !is_open && is_rust {
                found.push(format!("{}:{}", path.display(), index + 1));
            }
            is_open = !is_open;
        }
    }
    assert!(
        found.is_empty(),
        "code that nothing runs; write ```text: {found:#?}"
    );
}

fn rust(path: &Path) -> Option<String> {
    let is_rust = path.extension().is_some_and(|extension| extension == "rs");
    is_rust.then(|| std::fs::read_to_string(path).expect("source is text"))
}

fn packages() -> Vec<Value> {
    let cargo = std::env::var_os("CARGO").expect("cargo sets CARGO for its tests");
    let output = Command::new(cargo)
        .args(["metadata", "--no-deps", "--offline", "--format-version", "1"])
        .current_dir(root())
        .output()
        .expect("cargo can be started again");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("cargo metadata writes JSON");
    metadata["packages"]
        .as_array()
        .expect("cargo metadata lists packages")
        .clone()
}

fn text(value: &Value) -> &str {
    value
        .as_str()
        .expect("cargo metadata names packages and dependencies")
}

/// Files of the project, without build output and `.git`.
fn files(root: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut directories = vec![root.to_owned()];
    while let Some(directory) = directories.pop() {
        let entries = std::fs::read_dir(&directory);
        let entries = entries.unwrap_or_else(|error| panic!("{}: {error}", directory.display()));
        for entry in entries.flatten() {
            let (name, path) = (entry.file_name(), entry.path());
            let is_directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
            // A module folder `target` is source; build output is next to a project file of cargo
            // or Maven.
            let is_project = ["Cargo.toml", "pom.xml"]
                .iter()
                .any(|file| directory.join(file).exists());
            let is_built = name == "target" && is_project;
            if is_directory && !is_built && name != ".git" {
                directories.push(path);
            } else if !is_directory {
                files.push(path);
            }
        }
    }
    files
}

fn root() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    root.canonicalize().expect("the crate is inside the workspace")
}

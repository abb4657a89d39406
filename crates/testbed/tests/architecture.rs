//! Allowed dependencies between crates, and rules for all files.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// A separate constant, so that this file does not match its own check.
const UNSAFE: &str = "unsafe";

/// Arrows between crates stand in their Cargo.toml. `LONGWIRE_BLESS=1 cargo test -p longwire-testbed --test
/// architecture` makes the table of ARCHITECTURE.md from them.
#[test]
fn the_table_of_crates_is_made_of_their_manifests() {
    let page = root().join("ARCHITECTURE.md");
    let text = std::fs::read_to_string(&page).expect("ARCHITECTURE.md");
    let begin = text.find(HEAD).expect("a table of crates") + HEAD.len();
    let end = begin + text[begin..].find("\n\n").expect("text after the table") + 1;
    let made = table(&crates());
    if std::env::var_os("LONGWIRE_BLESS").is_some_and(|value| value == "1") {
        let text = [&text[..begin], &made, &text[end..]].concat();
        return std::fs::write(&page, text).expect("ARCHITECTURE.md can be written");
    }
    assert_eq!(
        text[begin..end],
        made,
        "where that is meant: LONGWIRE_BLESS=1 cargo test -p longwire-testbed --test architecture"
    );
}

const HEAD: &str = "| crate | purpose | uses |\n|---|---|---|\n";

#[test]
fn pure_crates_use_pure_crates_only_and_testbed_is_for_tests() {
    let crates = crates();
    let mut wrong = Vec::new();
    for (name, of) in &crates {
        wrong.extend(of.uses.iter().filter(|to| *to == TESTBED).map(|_| name.clone()));
        let world = of.uses.iter().filter(|to| of.is_pure && !crates[*to].is_pure);
        wrong.extend(world.map(|to| format!("{name} -> {to}")));
    }
    assert!(wrong.is_empty(), "arrows against the flow: {}", wrong.join(", "));
}

/// Pure parts of crates that touch the world: beginnings of their paths.
const PURE: &[&str] = &[
    "load/src/script",
    "tables/src/date",
    "tables/src/error",
    "tables/src/nullable",
    "tables/src/reader",
    "tables/src/row",
    "tables/src/schema",
    "tables/src/writer",
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
fn each_box_of_the_drawings_names_a_file() {
    let page = std::fs::read_to_string(root().join("ARCHITECTURE.md")).expect("ARCHITECTURE.md");
    let mut boxes = 0;
    for (title, folder) in [
        ("## The way of a byte", "crates/core"),
        ("## The way of an operation", "crates/core/predict/src"),
    ] {
        let (_, section) = page.split_once(title).expect("the section");
        let drawing = section.split("```").nth(1).expect("a drawing");
        assert!(
            drawing.lines().count() <= 24 && drawing.lines().all(|line| line.chars().count() <= 80),
            "{title}: a screen"
        );
        let mut above = vec![PathBuf::new(); 3];
        for line in drawing.lines().map(cells).filter(|cells| cells.len() == 3) {
            for (cell, above) in line.iter().zip(&mut above) {
                // A long path goes on in the next line, and a further file is next to the first.
                if cell.ends_with(".rs") && !cell.contains(' ') {
                    let places = [root().join(folder).join(cell), above.join(cell)];
                    assert!(places.iter().any(|place| place.exists()), "{title}: {cell}");
                    boxes += 1;
                }
                let path = root().join(folder).join(cell);
                *above = if cell.ends_with('/') {
                    path
                } else {
                    path.parent().expect("a folder").to_owned()
                };
            }
        }
    }
    assert!(boxes >= 20, "{boxes} files in boxes");
}

/// Texts of the boxes in a line of a drawing.
fn cells(line: &str) -> Vec<&str> {
    let cells = line.split(['│', '├', '┤', '─', '>', '<']).map(str::trim);
    cells.filter(|cell| !cell.is_empty()).collect()
}

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
        let name = name.split_once('/').map_or(name.as_str(), |(_, name)| name);
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
    for package in packages() {
        let name = name_of(&package["name"]);
        let readme = Path::new(text(&package["manifest_path"])).with_file_name("README.md");
        let text =
            std::fs::read_to_string(&readme).unwrap_or_else(|error| panic!("{}: {error}", readme.display()));
        assert!(
            text.starts_with(&format!("# {name}\n")),
            "{} starts with its name",
            readme.display()
        );
    }
}

/// A dependency of tests and benchmarks only.
const TESTBED: &str = "testbed";

struct Crate {
    purpose: String,
    /// The folder of `crates` that holds it; empty for `crates` itself.
    folder: String,
    /// In `crates/core`, where clippy.toml bans clocks, sockets and files.
    is_pure: bool,
    uses: BTreeSet<String>,
    uses_in_tests: BTreeSet<String>,
}

fn crates() -> BTreeMap<String, Crate> {
    let packages = packages();
    let names: BTreeSet<String> = packages.iter().map(|package| name_of(&package["name"])).collect();
    let of_package = |package: &Value| {
        let dependencies = package["dependencies"]
            .as_array()
            .expect("cargo lists every package's dependencies");
        let of_kind = |in_tests: bool| {
            let of_kind = dependencies
                .iter()
                .filter(|one| (one["kind"] == "dev") == in_tests);
            let own = of_kind
                .map(|one| name_of(&one["name"]))
                .filter(|to| names.contains(to));
            own.collect::<BTreeSet<_>>()
        };
        let manifest = Path::new(text(&package["manifest_path"]));
        let folder = manifest
            .ancestors()
            .nth(2)
            .and_then(Path::file_name)
            .unwrap_or_default();
        let folder = folder.to_string_lossy().replace("crates", "");
        let found = Crate {
            purpose: text(&package["description"]).to_owned(),
            is_pure: folder == "core",
            folder,
            uses: of_kind(false),
            uses_in_tests: &of_kind(true) - &of_kind(false),
        };
        (name_of(&package["name"]), found)
    };
    packages.iter().map(of_package).collect()
}

/// By folder; the crates that know least come first.
fn table(crates: &BTreeMap<String, Crate>) -> String {
    let mut names: Vec<&String> = crates.keys().collect();
    let last = |folder: &str| if folder.is_empty() { "~" } else { folder }.to_owned();
    names.sort_by_key(|name| (last(&crates[*name].folder), depth(crates, name)));
    let mut table = String::new();
    for name in names {
        let Crate {
            purpose,
            folder,
            uses,
            ..
        } = &crates[name];
        let place = if folder.is_empty() {
            name.clone()
        } else {
            format!("{folder}/{name}")
        };
        let others: BTreeSet<String> = crates
            .keys()
            .filter(|other| *other != name && !uses.contains(*other))
            .cloned()
            .collect();
        let mut used = match uses.len() {
            0 => "nothing".to_owned(),
            count if count > others.len() => format!("all but {}", listed(&others)),
            _ => listed(uses),
        };
        let in_tests: BTreeSet<String> = &crates[name].uses_in_tests - &BTreeSet::from([TESTBED.to_owned()]);
        if !in_tests.is_empty() {
            used += &format!("; in tests {}", listed(&in_tests));
        }
        table += &format!("| `{place}` | {purpose} | {used} |\n");
    }
    table
}

fn depth(crates: &BTreeMap<String, Crate>, name: &str) -> usize {
    let uses = crates[name].uses.iter();
    uses.map(|to| depth(crates, to) + 1).max().unwrap_or_default()
}

fn listed(names: &BTreeSet<String>) -> String {
    let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    names.join(", ")
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

/// The name of a package in code, `tls_keys` for `longwire-tls-keys`.
fn name_of(package: &Value) -> String {
    let name = text(package);
    name.strip_prefix("longwire-").unwrap_or(name).replace('-', "_")
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

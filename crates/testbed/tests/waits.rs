//! Every place of the way from a packet to an operation that holds an item has a row in
//! `contributing/waits.md`, with its bound and the functions that release it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

const PAGE: &str = "contributing/waits.md";

/// The crates of the way.
const CRATES: &[&str] = &["core/capture", "core/wire", "io/pipeline", "core/analysis"];

/// Types of items on their way; a field that stores one in these collections is a wait.
const ITEMS: &[&str] = &[
    "Fact",
    "Box<Exchange>",
    "Back",
    "ExchangeBuilder",
    "Member",
    "OperationStep",
    "Record",
    "Answered",
    "Waiting",
    "Note",
    "ConnectionEvent<'static>",
    "(Head, Vec<u8>)",
];

const COLLECTIONS: &[&str] = &["Vec<", "VecDeque<", "Option<", "Map<", "PendingReplies<"];

/// Fields of such a type that hold no item back: parts of an item, or copies of it for an output.
const NO_WAITS: &[(&str, &str)] = &[
    ("core/analysis/src/operations/member.rs", "steps"),
    ("core/analysis/src/operations/dependencies.rs", "steps"),
    ("core/analysis/src/operations/requests.rs", "handshake"),
    ("core/analysis/src/operations/requests/runs.rs", "members"),
    ("core/capture/src/source.rs", "current"),
];

struct Row {
    file: String,
    place: String,
    bound: String,
    release: String,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn rows() -> Vec<Row> {
    let page = std::fs::read_to_string(root().join(PAGE)).expect("there is the page");
    let rows = page.lines().filter(|line| line.starts_with("| `"));
    rows.map(|line| {
        let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
        assert_eq!(cells.len(), 5, "place, item, for, at most, released by: {line}");
        assert!(cells.iter().all(|cell| !cell.is_empty()), "an empty cell: {line}");
        let place = names(cells[0]);
        Row {
            file: place[0].to_owned(),
            place: place[1].to_owned(),
            bound: cells[3].to_owned(),
            release: cells[4].to_owned(),
        }
    })
    .collect()
}

/// The words in backticks.
fn names(cell: &str) -> Vec<&str> {
    cell.split('`').skip(1).step_by(2).collect()
}

/// Sources of a crate without tests, by their paths from `crates/`.
fn sources(name: &str) -> Vec<(String, String)> {
    let crates = root().join("crates");
    let mut found = Vec::new();
    let mut folders = vec![crates.join(name).join("src")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten() {
            let path = entry.expect("it is read").path();
            if path.is_dir() && !path.ends_with("tests") {
                folders.push(path);
            } else if path.extension().is_some_and(|kind| kind == "rs") && !path.ends_with("tests.rs") {
                let text = std::fs::read_to_string(&path).expect("it is read");
                let shown = path.strip_prefix(&crates).expect("it is below");
                found.push((shown.display().to_string(), text));
            }
        }
    }
    assert!(!found.is_empty(), "no sources of {name}");
    found
}

/// The line of a field in the definition of a type.
fn field<'t>(text: &'t str, of: &str, name: &str) -> Option<&'t str> {
    let begin = text.find(&format!("struct {of}"))?;
    let body = &text[begin..];
    let body = &body[..body.find("\n}").unwrap_or(body.len())];
    body.lines().find(|line| {
        let line = line.trim_start();
        let line = line.strip_prefix("pub").map_or(line, |rest| {
            rest.split_once(") ").map_or(rest, |(_, rest)| rest).trim_start()
        });
        line.starts_with(&format!("{name}: "))
    })
}

#[test]
fn each_row_is_a_place_with_a_bound_and_a_release_in_the_sources() {
    let mut wrong = Vec::new();
    for row in rows() {
        let (package, _) = row.file.split_once("/src/").expect("a file of a crate");
        let all = sources(package);
        let Some((_, text)) = all.iter().find(|(name, _)| *name == row.file) else {
            wrong.push(format!("{}: no such file", row.file));
            continue;
        };
        let is_there = match row.place.split_once('.') {
            Some((of, name)) => field(text, of, name).is_some(),
            None => text.contains(&format!("struct {}(", row.place)),
        };
        if !is_there {
            wrong.push(format!("{}: no {}", row.file, row.place));
        }
        let is_defined = |start: &str| all.iter().any(|(_, text)| text.contains(start));
        for name in names(&row.bound) {
            if ![": ", " {"].iter().any(|end| {
                is_defined(&format!("const {name}{end}")) || is_defined(&format!("struct {name}{end}"))
            }) {
                wrong.push(format!("{}: no constant {name}", row.file));
            }
        }
        for name in names(&row.release) {
            if !is_defined(&format!("fn {name}(")) && !is_defined(&format!("fn {name}<")) {
                wrong.push(format!("{}: no function {name}", row.file));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn each_field_that_holds_an_item_has_a_row() {
    let rows: BTreeSet<(String, String)> = rows()
        .into_iter()
        .map(|row| {
            let (_, name) = row.place.split_once('.').unwrap_or(("", &row.place));
            (row.file.clone(), name.to_owned())
        })
        .collect();
    let mut missing = Vec::new();
    for (file, text) in CRATES.iter().flat_map(|name| sources(name)) {
        for line in text.lines() {
            let Some(name) = held_item(line) else { continue };
            let is_listed = rows.contains(&(file.clone(), name.to_owned()));
            if !is_listed && !NO_WAITS.contains(&(file.as_str(), name)) {
                missing.push(format!("{file}: {}", line.trim()));
            }
        }
    }
    assert!(
        missing.is_empty(),
        "without a row in {PAGE}:\n{}",
        missing.join("\n")
    );
}

/// The name of a field that is a collection of items.
fn held_item(line: &str) -> Option<&str> {
    if !line.starts_with("    ") || line.starts_with("        ") || line.contains("fn ") {
        return None;
    }
    let (before, kind) = line.trim().split_once(": ")?;
    let name = before.rsplit(' ').next()?;
    let kind = kind.strip_suffix(',')?;
    // A function takes items, and holds none.
    if kind.contains("dyn Fn") {
        return None;
    }
    // Channels have rows in queues.md.
    let is_collection = COLLECTIONS.iter().any(|collection| kind.contains(collection));
    let holds = is_collection
        && !kind.contains("Sender<")
        && !kind.contains("Receiver<")
        && ITEMS.iter().any(|item| {
            kind.match_indices(item).any(|(at, _)| {
                kind[..at].ends_with(['<', '(', ' ']) && kind[at + item.len()..].starts_with(['>', ',', ')'])
            })
        });
    holds.then_some(name)
}

#[test]
fn a_field_that_holds_items_is_found_and_others_are_not() {
    for line in [
        "    waiting: Vec<Fact>,",
        "    queue: PendingReplies<ExchangeBuilder, MAX_PENDING_REPLIES>,",
        "    kept: HashMap<(IpAddr, Protocol, Fingerprint), VecDeque<Back>>,",
        "    last: Option<(Box<Exchange>, Protocol, u64)>,",
        "    pub(super) members: Vec<Member>,",
        "    events: Vec<(ConnectionId, ConnectionEvent<'static>, Range<usize>)>,",
    ] {
        assert!(held_item(line).is_some(), "{line}");
    }
    for line in [
        "    facts: u64,",
        "    members: Members,",
        "        let waiting: Vec<Fact> = x;",
        "    fn a(b: Vec<Fact>),",
    ] {
        assert!(held_item(line).is_none(), "{line}");
    }
}

//! Every queue between threads has a row in `contributing/queues.md`, with its bound and its
//! overflow behaviour.

#[path = "queues/finder.rs"]
mod finder;

use finder::queues_in;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

const PAGE: &str = "contributing/queues.md";
const TITLE: &str = "## Queues between threads";

const NOT_DELIVERED: [&str; 4] = ["tests", "benches", "examples", "testbed"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Sources of all delivered crates without tests, with their paths from the root.
fn sources() -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut folders = vec![root().join("crates")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten() {
            let path = entry.expect("it is read").path();
            let name = path
                .file_name()
                .expect("it has one")
                .to_string_lossy()
                .into_owned();
            if path.is_dir() && !NOT_DELIVERED.contains(&name.as_str()) {
                folders.push(path);
            } else if name.ends_with(".rs") && name != "tests.rs" {
                let text = std::fs::read_to_string(&path).expect("it is read");
                let shown = path
                    .strip_prefix(root())
                    .expect("it is below")
                    .display()
                    .to_string();
                found.push((shown, text));
            }
        }
    }
    found
}

/// Table rows per file.
fn rows() -> BTreeMap<String, usize> {
    let page = std::fs::read_to_string(root().join(PAGE)).expect("there is the page");
    let (_, section) = page.split_once(TITLE).expect("there is the section");
    let section = section.split("\n## ").next().expect("there is a first");
    let mut rows = BTreeMap::new();
    for line in section.lines().filter(|line| line.starts_with("| `")) {
        let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
        assert_eq!(cells.len(), 4, "file, what it carries, bound, policy: {line}");
        assert!(cells.iter().all(|cell| !cell.is_empty()), "an empty cell: {line}");
        *rows
            .entry(format!("crates/{}", cells[0].trim_matches('`')))
            .or_default() += 1;
    }
    rows
}

#[test]
fn every_queue_between_threads_has_a_row() {
    let found: BTreeMap<String, Vec<String>> = sources()
        .into_iter()
        .map(|(path, text)| (path, queues_in(&text)))
        .filter(|(_, queues)| !queues.is_empty())
        .collect();
    let rows = rows();
    let missing: Vec<String> = found
        .iter()
        .filter(|(path, queues)| rows.get(*path).copied().unwrap_or(0) != queues.len())
        .map(|(path, queues)| format!("{path}: {} rows for {queues:?}", rows.get(path).unwrap_or(&0)))
        .collect();
    let unneeded: Vec<&String> = rows.keys().filter(|path| !found.contains_key(*path)).collect();
    assert!(
        missing.is_empty() && unneeded.is_empty(),
        "the table of {PAGE} is not that of the sources:\n{}\nrows without a queue: {unneeded:?}",
        missing.join("\n")
    );
}

fn count(source: &str) -> usize {
    queues_in(source).len()
}

#[test]
fn a_channel_is_found_by_whatever_name() {
    for source in [
        "use std::sync::mpsc; fn f() { let (a, b) = mpsc::channel::<u8>(); }",
        "use std::sync::{Arc, mpsc}; fn f() { let (a, b) = mpsc::sync_channel(1); }",
        "fn f() { let (a, b) = std::sync::mpsc::channel(); }",
        "use std::sync::mpsc::{self, Receiver, channel}; fn f() { let (a, b) = channel::<()>(); }",
        "use std::sync::mpsc::channel as line; fn f() { let (a, b) = line(); }",
        "use std::sync::mpsc as post; fn f() { let (a, b) = post::channel(); }",
        "use std::{sync::{mpsc::{channel as\n line}}, io}; fn f() { let (a, b) =\n line\n(); }",
        "use std::sync as s; fn f() { let (a, b) = s::mpsc::channel(); }",
        "use std::sync::mpsc::*; fn f() { let (a, b) = channel(); }",
        "use std::sync::mpsc::channel; static S: LazyLock<X> = LazyLock::new(channel);",
        "use crossbeam_channel::unbounded; fn f() { let (a, b) = unbounded(); }",
        "fn f() { let (a, b) = crossbeam::channel::bounded(3); }",
        "use tokio::sync::mpsc::unbounded_channel; fn f() { let (a, b) = unbounded_channel(); }",
        "use tokio::sync::oneshot; fn f() { let (a, b) = oneshot::channel::<u8>(); }",
        "fn f() { let (a, b) = flume::unbounded(); }",
        "use crossbeam::queue::SegQueue; struct A { b: SegQueue<u8> }",
    ] {
        assert_eq!(count(source), 1, "{source}: {:?}", queues_in(source));
    }
}

#[test]
fn a_hand_made_queue_is_found() {
    for source in [
        "struct A { waiting: Mutex<VecDeque<u8>> }",
        "struct A(Mutex<State>); struct State(VecDeque<u8>);",
        "struct A { waiting: Arc<std::sync::Mutex<Vec<Job>>> }",
        "struct A { waiting: RwLock<Option<BinaryHeap<Job>>> }",
        "type Jobs = Vec<Job>; struct A { waiting: Mutex<Jobs> }",
        "struct A { state: Mutex<State>, changed: Condvar } struct State { jobs: Vec<Job> }",
        "struct A { state: Mutex<State> } struct State<T> { jobs: VecDeque<T> }",
        "struct A { by_name: Mutex<HashMap<String, Vec<Job>>> }",
        "fn f() { let jobs = Mutex::new(Vec::new()); }",
        "fn f() { let jobs = Mutex::new(VecDeque::with_capacity(3)); }",
        "use std::sync::Mutex as Lock; struct A { waiting: Lock<VecDeque<u8>> }",
    ] {
        assert_eq!(count(source), 1, "{source}: {:?}", queues_in(source));
    }
}

#[test]
fn what_is_no_queue_between_threads_is_not_found() {
    for source in [
        "fn f(a: &mut Wires) { a.channel(3); }",
        "fn channel() -> u8 { 3 } fn f() { self::channel(); }",
        "// let (a, b) = std::sync::mpsc::channel();",
        "/* std::sync::mpsc::channel() */ fn f() { let text = \"std::sync::mpsc::channel()\"; }",
        "struct A { waiting: VecDeque<u8>, lock: Mutex<u8> }",
        "struct A { one: Mutex<State> } struct State { names: Vec<u8> }",
        "use std::sync::mpsc::{Receiver, Sender}; struct A(Receiver<u8>, Sender<u8>);",
        "type Job = (u8, Vec<u8>); struct A { jobs: Mutex<Sender<Job>> }",
        "fn f() {} #[cfg(test)]\nmod tests { fn f() { std::sync::mpsc::channel(); } }",
    ] {
        assert_eq!(count(source), 0, "{source}: {:?}", queues_in(source));
    }
    let behind = "#[cfg(test)]\nmod tests;\nfn f() { std::sync::mpsc::channel(); }";
    assert_eq!(count(behind), 1, "a module in another file hides nothing");
}

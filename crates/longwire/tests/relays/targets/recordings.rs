//! Recordings of several relays, read together.

use crate::targets::shop::{Shop, assert_pages, operations, request_pages};
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use testbed::binary::{done, longwire, number, of_type, records, refused, stdout};
use testbed::{Capture, Started};

fn lines(recording: &Path) -> Vec<String> {
    let file = std::fs::File::open(recording).expect("it was written");
    let plain = zstd::Decoder::new(file).expect("it is compressed");
    BufReader::new(plain)
        .lines()
        .map(|line| line.expect("text"))
        .collect()
}

fn part(lines: &[String], wanted: impl Fn(u64) -> bool) -> Vec<u8> {
    let parsed = |line: &String| serde_json::from_str::<Value>(line).expect("a record");
    let port = |record: &Value| {
        let server = record["server"].as_str()?;
        server.rsplit(':').next()?.parse::<u64>().ok()
    };
    let ours: Vec<u64> = lines
        .iter()
        .map(parsed)
        .filter(|record| record["type"] == "opened" && port(record).is_some_and(&wanted))
        .map(|record| number(&record, "connection"))
        .collect();
    let of_others = |line: &String| {
        let record = parsed(line);
        let key = if record["type"] == "connection" {
            "id"
        } else {
            "connection"
        };
        record[key]
            .as_u64()
            .is_some_and(|connection| !ours.contains(&connection))
    };
    let kept = lines.iter().filter(|line| !of_others(line));
    kept.flat_map(|line| format!("{line}\n").into_bytes()).collect()
}

/// Operations found by `read` in order of start, without numbers that depend on the number of
/// files.
fn read_operations(files: &[PathBuf]) -> Vec<Value> {
    let mut command = longwire(&["read", "--json"]);
    let output = command.args(files).output().expect("the binary starts");
    done(&output);
    let mut found: Vec<Value> = of_type(&records(&output), "operation")
        .into_iter()
        .cloned()
        .collect();
    for operation in &mut found {
        operation.as_object_mut().expect("an object").remove("id");
    }
    found.sort_by_key(|operation| (number(operation, "at_ns"), number(operation, "turns")));
    found
}

#[test]
fn parts_of_a_recording_read_together_are_the_whole() {
    const PAGES: usize = 6;
    let shop = Shop::start();
    let folder = tempfile::tempdir().expect("a temporary directory");
    let file = |name: &str| folder.path().join(name);
    let whole = file("whole.lwr");
    shop.watched(&["-o", whole.to_str().expect("text")], PAGES);
    let all = lines(&whole);
    let (http, cache) = (u64::from(shop.port), u64::from(shop.cache.port()));
    let parts = [
        ("http.lwr", part(&all, |port| port == http)),
        ("cache.lwr", part(&all, |port| port == cache)),
        ("database.lwr", part(&all, |port| port != http && port != cache)),
    ];
    let parts = parts.map(|(name, content)| {
        std::fs::write(file(name), content).expect("it can be written");
        file(name)
    });
    let expected = read_operations(&[whole]);
    assert_eq!(operations(&expected).len(), PAGES, "{expected:#?}");
    assert_eq!(read_operations(&parts), expected);
    let [http, cache, database] = parts;
    assert_eq!(read_operations(&[database, http, cache]), expected);
}

#[test]
fn recordings_of_two_relays_at_one_time_are_one_run() {
    const PAGES: usize = 4;
    let shop = Shop::start();
    let folder = tempfile::tempdir().expect("a temporary directory");
    let file = |name: &str| folder.path().join(name).display().to_string();
    let mut command = longwire(&["watch", "--quiet", &shop.http(), "-o", &file("http.lwr")]);
    let (front, relay) = Started::listening(command.stdout(Stdio::piped()), "relaying ");
    let behind = longwire(&["watch", "--quiet", "-o", &file("behind.lwr")])
        .args([shop.database.url(), shop.cache.url()])
        .arg("--")
        .args(shop.application(PAGES))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    shop.wait_until_it_listens();
    request_pages(relay.port(), PAGES);
    done(&behind.wait_with_output().expect("it ends"));
    assert_eq!(front.interrupt().status.code(), Some(130));
    let read = longwire(&[
        "read",
        "--json",
        "--exchanges",
        &file("http.lwr"),
        &file("behind.lwr"),
    ])
    .output()
    .expect("the binary starts");
    done(&read);
    assert_pages(&records(&read), PAGES);
    // Read separately, requests have no database work, and the database has no requests.
    let alone = longwire(&["read", "--operations", "http", &file("behind.lwr")])
        .output()
        .expect("the binary starts");
    done(&alone);
    let text = stdout(&alone);
    assert!(
        text.contains("no answered HTTP request was seen") && text.contains("longwire watch http://"),
        "{text}"
    );
}

#[test]
fn a_capture_of_the_application_and_a_recording_of_its_database_are_one_run() {
    const PAGES: usize = 4;
    let shop = Shop::start();
    let folder = tempfile::tempdir().expect("a temporary directory");
    let recording = folder.path().join("behind.lwr");
    let capture = Capture::start(shop.port);
    let behind = longwire(&["watch", "--quiet", "-o"])
        .arg(&recording)
        .args([shop.database.url(), shop.cache.url()])
        .arg("--")
        .args(shop.application(PAGES))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    shop.wait_until_it_listens();
    request_pages(shop.port, PAGES);
    done(&behind.wait_with_output().expect("it ends"));
    let capture = capture.stop();
    let read = longwire(&["read", "--json", "--exchanges"])
        .args([&recording, &capture.path()])
        .output()
        .expect("the binary starts");
    done(&read);
    assert_pages(&records(&read), PAGES);
}

#[test]
fn a_damaged_part_is_reported_and_the_others_are_read() {
    let shop = Shop::start();
    let folder = tempfile::tempdir().expect("a temporary directory");
    let whole = folder.path().join("whole.lwr");
    shop.watched(&["-o", whole.to_str().expect("text")], 2);
    let all = lines(&whole);
    let http = u64::from(shop.port);
    let (front, behind) = (folder.path().join("http.lwr"), folder.path().join("behind.lwr"));
    std::fs::write(&front, part(&all, |port| port == http)).expect("it can be written");
    let mut cut = part(&all, |port| port != http);
    cut.truncate(cut.len() * 2 / 3);
    std::fs::write(&behind, cut).expect("it can be written");
    let read = longwire(&["read", "--json"])
        .args([&front, &behind])
        .output()
        .expect("the binary starts");
    done(&read);
    let seen = records(&read);
    assert_eq!(operations(&seen).len(), 2);
    let warnings = of_type(&seen, "warning");
    let of_behind = warnings.iter().filter(|warning| {
        let text = warning["text"].as_str().unwrap_or_default();
        text.contains("behind.lwr") && text.contains("cut short")
    });
    assert_eq!(of_behind.count(), 1, "{warnings:?}");
    assert!(
        !warnings.iter().any(|warning| ["http.lwr", "cut short"]
            .iter()
            .all(|what| warning["text"].to_string().contains(what))),
        "{warnings:?}"
    );
    std::fs::write(&behind, "{\"type\":\"opened\"}\n").expect("it can be written");
    let paths = [&front, &behind].map(|path| path.display().to_string());
    refused(
        &["read", &paths[0], &paths[1]],
        &["behind.lwr", "no recording that can be read"],
    );
}

//! Pages of real captures, of a `watch` run, and of a web page with its database.

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Output;
use std::time::Duration;
use testbed::binary::run;
use testbed::browser::{END, HOME};
use testbed::{Browser, Postgres, require};

fn capture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data/captures")
        .join(name)
}

fn page(command: &str, file: &Path, more: &[&str]) -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().expect("a private directory can be made");
    let html = directory.path().join("report.html");
    let mut arguments = vec![
        command,
        file.to_str().expect("test data has plain names"),
        "--html",
    ];
    arguments.push(html.to_str().expect("a temporary name is plain"));
    arguments.extend(more);
    let output = run(&arguments);
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    (directory, html)
}

fn text(html: &Path) -> String {
    std::fs::read_to_string(html).expect("the page was written as UTF-8")
}

#[test]
fn every_capture_has_a_page_of_bounded_size() {
    let directory = capture("");
    let files = std::fs::read_dir(directory).expect("the captures are next to this test");
    let mut pages = 0;
    for file in files.flatten() {
        let (_kept, html) = page("read", &file.path(), &[]);
        let text = text(&html);
        assert!(
            text.starts_with("<!DOCTYPE html>") && text.ends_with("</html>\n"),
            "{}",
            file.path().display()
        );
        assert!(
            text.len() < 300_000,
            "{}: {} bytes",
            file.path().display(),
            text.len()
        );
        for reference in ["http://", "https://", "NaN", "inf "] {
            assert!(
                !text.contains(reference),
                "{}: {reference}",
                file.path().display()
            );
        }
        pages += 1;
    }
    assert!(pages > 30, "{pages} captures");
}

#[test]
fn the_sliders_tell_what_predict_tells() {
    let file = capture("mysqljdbc910-mariadb10.11-serverprep-cursor.pcap");
    let (_kept, html) = page("read", &file, &["--operations", "connection"]);
    let browser = Browser::start(1280, 900);
    browser.open(&html);
    // Slider positions between the grid's links; the last two are on the bend caused by TCP
    // windows.
    let mut seen = Vec::new();
    for (notch, rate, stop) in [
        (146, None, END),
        (139, None, END),
        (166, Some("1mbit"), HOME),
        (65, Some("1mbit"), HOME),
    ] {
        browser.press("#s-rate", stop);
        browser.run(&format!(
            "const slider = document.querySelector('#s-rtt'); slider.value = {notch}; slider.dispatchEvent(new Event('input'));"
        ));
        let rtt = browser.text("#v-rtt").replace(' ', "");
        let mut arguments = vec!["predict", "--operations", "connection", "--json", "--rtt", &rtt];
        arguments.extend(rate.iter().flat_map(|rate| ["--rate", rate]));
        arguments.push(file.to_str().expect("a plain name"));
        let told = predicted(&run(&arguments));
        seen.push(model::parse_duration(&rtt).expect("a round trip"));
        let shown = browser.text("#o-duration");
        let shown = model::parse_duration(&shown)
            .unwrap_or_else(|error| panic!("{error}"))
            .as_secs_f64();
        assert!(
            (shown / told - 1.0).abs() < 0.03,
            "{rtt} {rate:?}: {shown} on the page, {told} predicted"
        );
    }
    assert!(
        seen[0] > Duration::from_millis(30) && seen[3] < Duration::from_millis(10),
        "{seen:?}"
    );
    assert_eq!(browser.console(), [""; 0]);
}

fn predicted(output: &Output) -> f64 {
    let records = String::from_utf8_lossy(&output.stdout);
    let record = records
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("a record"))
        .find(|record| record["type"] == "prediction")
        .expect("something is predicted");
    record["duration_ns"].as_f64().expect("a number") / 1e9
}

#[test]
fn predict_writes_the_links_that_were_asked_for() {
    let file = capture("pgjdbc4274-pg15-trust.pcap");
    let (_kept, html) = page("predict", &file, &["--rtt", "7ms,33ms", "--rate", "3mbit"]);
    let text = text(&html);
    assert!(text.contains("<caption>Requested links</caption>"));
    let cell = "data-label=\"rtt\">33.0 ms</td><td class=\"n\" data-label=\"rate\">3.00 Mbit/s</td>";
    assert!(text.contains(cell), "the asked link is in a table");
    assert!(
        text.contains("[3000000,3000000]") && text.contains("33000000"),
        "and under the sliders"
    );
}

#[test]
fn kept_literals_stay_out_of_the_page() {
    let file = capture("kb860-pg15-simple.pcap");
    let exchanges = run(&[
        "read",
        "--json",
        "--exchanges",
        "--keep-literals",
        file.to_str().expect("a plain name"),
    ]);
    let records = String::from_utf8_lossy(&exchanges.stdout);
    let literals: Vec<String> = records
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("a record"))
        .filter_map(|record| {
            let literal = record["literal"].as_str()?;
            (Some(literal) != record["fingerprint"].as_str()).then(|| literal.to_owned())
        })
        .filter(|literal| literal.contains('\''))
        .collect();
    assert!(literals.len() > 10, "the capture has literals: {records}");
    let (_kept, html) = page("read", &file, &["--keep-literals"]);
    let text = text(&html).replace("&#39;", "'");
    for literal in literals {
        let value = literal.split('\'').nth(1).expect("it has a quoted value");
        assert!(
            !text.contains(&literal) && !text.contains(&format!("'{value}'")),
            "{literal}"
        );
    }
}

#[test]
fn a_page_that_cannot_be_written_is_told_before_the_run() {
    let file = capture("redis7-session.pcap");
    let output = run(&[
        "read",
        file.to_str().expect("a plain name"),
        "--html",
        "/nowhere/report.html",
    ]);
    let message = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{message}");
    assert!(
        message.contains("could not create the page /nowhere/report.html"),
        "{message}"
    );
    assert!(output.stdout.is_empty());
}

#[test]
fn a_page_written_again_holds_nothing_of_the_one_before() {
    let directory = tempfile::tempdir().expect("a private directory can be made");
    let html = directory.path().join("report.html");
    std::fs::write(&html, "x".repeat(1 << 20)).expect("the file can be written");
    let file = capture("redis7-session.pcap");
    let arguments = [
        "read",
        file.to_str().expect("a plain name"),
        "--html",
        html.to_str().expect("a plain name"),
    ];
    assert!(run(&arguments).status.success());
    let text = text(&html);
    assert!(
        text.ends_with("</html>\n") && text.len() < 300_000,
        "{} bytes",
        text.len()
    );
}

#[test]
fn watch_writes_the_page_of_its_run() {
    let server = Postgres::start();
    let directory = tempfile::tempdir().expect("a private directory can be made");
    let html = directory.path().join("report.html");
    let psql = require("psql");
    let output = run(&[
        "watch",
        &server.url(),
        "--html",
        html.to_str().expect("a plain name"),
        "--",
        psql.to_str().expect("a plain name"),
        "{url}",
        "-c",
        "select 'a secret'",
        "-c",
        "select count(*) from pg_class where relname = 'another'",
    ]);
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert!(String::from_utf8_lossy(&output.stderr).contains("the page is in"));
    let browser = Browser::start(360, 780);
    browser.open(&html);
    let text = text(&html);
    assert!(
        text.contains("from pg_class where relname = ?"),
        "the statement is there"
    );
    assert!(
        !text.contains("a secret")
            && !text.contains("&#39;another&#39;")
            && !text.contains(Postgres::PASSWORD)
    );
    browser.press("#s-rtt", END);
    assert_eq!(browser.text("#v-rtt"), "200 ms");
    assert_eq!(browser.console(), [""; 0]);
    assert_eq!(
        browser.run("return document.documentElement.scrollWidth"),
        Value::from(360)
    );
}

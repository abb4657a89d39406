//! Budgets as view, JUnit XML and GitHub commands. Hostile names cannot break the formats.

#![allow(
    clippy::disallowed_types,
    reason = "a parser of XML that is not ours is another program"
)]

mod samples;

use report::text::{check_view, github_view, junit_view};
use std::io::Write;
use std::process::{Command, Stdio};

#[test]
fn the_view_has_a_line_for_each_broken_budget_and_its_remedy() {
    let style = report::Style {
        width: 200,
        ..report::Style::default()
    };
    let text = check_view(&samples::checked(), &style);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(
        lines[..9],
        [
            "app.pcap: 4 operations of 2 names; 4 budgets broken, 1 kept, 1 not judged",
            "GET /basket: max-predicted: 1.30 s at rtt=40ms, allowed are 200 ms",
            "    n+1 (SELECT name FROM article WHERE id = ?): Ask for all of them at once.",
            "GET /basket: forbidden n+1 of SELECT name FROM article WHERE id = ?: ran 90 times, 90 round trips, and in 1 other place",
            "    Ask for all of them at once.",
            "GET /basket: max-held: 524 ms at rtt=40ms by UPDATE article SET stock = stock - ? WHERE id = ?, allowed are 100 ms",
            "    Write last, and commit at once.",
            "GET /<a>&\"b\"\\u{1b}[0m: max-round-trips: 2 round trips, allowed is 1",
            "not judged: forbid of GET /secret: statements of 12 of 12 round trips were not seen (encrypted); open TLS with --keys",
        ]
    );
    assert!(text.contains("new in GET /basket: n+1 of SELECT name"), "{text}");
}

#[test]
fn a_parser_of_xml_reads_the_junit_report() {
    let xml = junit_view(&samples::checked());
    // Python's parser (expat) conforms; its result is printed for comparison.
    let program = "import sys, xml.etree.ElementTree as tree\n\
        root = tree.fromstring(sys.stdin.buffer.read())\n\
        print(root.get('tests'), root.get('failures'), root.get('errors'))\n\
        for case in root.iter('testcase'):\n    \
        failures = case.findall('failure') + case.findall('error')\n    \
        print(ascii(case.get('name')), len(failures), failures[0].get('type'))\n";
    let mut python = Command::new("python3")
        .args(["-c", program])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("there is python3");
    let mut stdin = python.stdin.take().expect("a pipe");
    stdin.write_all(xml.as_bytes()).expect("it reads");
    drop(stdin);
    let output = python.wait_with_output().expect("it ends");
    assert!(output.status.success(), "{xml}");
    assert_eq!(
        String::from_utf8_lossy(&output.stdout),
        "3 2 1\n'GET /basket' 1 max-predicted\n'GET /<a>&\"b\"\\ufffd[0m' 1 max-round-trips\n'GET /secret' 1 forbid\n"
    );
}

#[test]
fn each_annotation_is_one_line() {
    let text = github_view(&samples::checked());
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 5);
    assert!(
        lines
            .iter()
            .all(|line| line.starts_with("::error title=longwire "))
    );
    assert!(
        lines[0].contains("title=longwire max-predicted%3A GET /basket::GET /basket: max-predicted: 1.30 s"),
        "{text}"
    );
    assert!(
        lines[0]
            .ends_with("200 ms%0An+1 (SELECT name FROM article WHERE id = ?): Ask for all of them at once.")
    );
    assert!(
        lines[4].contains("GET /secret: not judged: statements of 12 of 12"),
        "{text}"
    );
    assert!(!text.contains('\u{1b}'));
}

//! `longwire demo` run by a user: output, verification, page, end.

use serde_json::Value;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;
use testbed::binary::{bounded, done, program, refused, shown, stderr, stdout};
use testbed::floor::told_on_failure;
use testbed::process::require;

fn demo(directory: &Path, arguments: &[&str]) -> (String, String) {
    let output = bounded(&["demo"])
        .current_dir(directory)
        .args(arguments)
        .output()
        .expect("the binary starts");
    done(&output);
    (stdout(&output), stderr(&output))
}

fn directory() -> TempDir {
    tempfile::tempdir().expect("a directory")
}

#[test]
#[ignore = "timing: make test runs it alone"]
fn each_page_waits_once_a_statement_and_three_times_to_get_there_near_and_far() {
    let _floor = told_on_failure();
    let directory = directory();
    let (text, _) = demo(directory.path(), &["--json"]);
    let records: Vec<Value> = text
        .lines()
        .map(|line| serde_json::from_str(line).expect("a record"))
        .collect();
    let of_type = |name: &'static str| records.iter().filter(move |record| record["type"] == name);
    let turns = |name: &str| -> Vec<u64> {
        of_type("operation")
            .filter(|operation| operation["operation_name"] == name)
            .map(|operation| operation["turns"].as_u64().expect("a number"))
            .collect()
    };
    let statements: u64 = of_type("statement")
        .map(|statement| statement["calls"].as_u64().expect("a number"))
        .sum();
    let (chatty, joined) = (turns("page, 1 + N look-ups"), turns("page, one join"));
    assert_eq!((chatty.len(), joined.len()), (40, 40));
    assert_eq!(chatty.iter().chain(&joined).sum::<u64>(), statements + 2 * 80);
    assert!(joined.iter().all(|turns| *turns == 3), "{joined:?}");
    let mut proved = 0;
    for prediction in of_type("prediction") {
        let number = |key: &str| prediction[key].as_u64().expect("a number");
        let turns = if prediction["operation_name"] == "page, one join" {
            joined[0]
        } else {
            chatty[0]
        };
        // The page cannot be faster than its round trips. On a link without limits, little else
        // grows with distance.
        let least = turns * number("rtt_ns");
        assert!(number("duration_ns") >= least, "{prediction}");
        assert!(number("low_ns") <= number("duration_ns") && number("duration_ns") <= number("high_ns"));
        if let Some(measured) = prediction["measured_ns"].as_u64() {
            proved += 1;
            println!("{prediction}");
            assert!(measured >= least, "faster than light: {prediction}");
            assert!(measured < 2 * least + 200_000_000, "{prediction}");
            assert!(prediction["error_share"].as_f64().is_some(), "{prediction}");
        }
    }
    assert_eq!((of_type("prediction").count(), proved), (8, 4));
    assert_eq!(of_type("link").count(), 2);
}

#[test]
fn the_story_names_the_finding_proves_the_remedy_and_leaves_a_page_again_and_again() {
    let directory = directory();
    for _ in 0..2 {
        let (text, _) = demo(directory.path(), &[]);
        for words in [
            "n+1: this statement",
            "select name from authors where id = ?",
            "proved over an emulated link",
            "at 40.0 ms, measured:",
            "times faster",
            "longwire-demo.html",
        ] {
            assert!(text.contains(words), "'{words}' is missing in: {text}");
        }
        assert!(text.lines().count() <= 40, "the story fits one screen: {text}");
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        let page = std::fs::read_to_string(directory.path().join("longwire-demo.html")).expect("the page");
        assert!(page.contains("page, 1 + N look-ups") && page.ends_with("</html>\n"));
    }
}

#[test]
fn a_file_of_somebody_else_stays_as_it_is_and_is_warned_of() {
    let directory = directory();
    let path = directory.path().join("longwire-demo.html");
    std::fs::write(&path, "my notes").expect("it is written");
    let (text, warnings) = demo(directory.path(), &[]);
    assert!(
        warnings.contains("longwire-demo.html already exists"),
        "{warnings}"
    );
    assert!(warnings.contains("--html"), "{warnings}");
    assert!(
        text.contains("times faster") && !text.contains("longwire-demo.html"),
        "{text}"
    );
    assert_eq!(std::fs::read_to_string(&path).expect("it is there"), "my notes");
}

#[test]
fn a_page_that_is_asked_for_where_it_cannot_be_is_refused_at_once() {
    refused(&["demo", "--html", "/no/such/directory/page.html"], &[]);
}

#[test]
fn a_page_that_could_not_be_written_is_an_error_and_the_story_is_still_told() {
    let directory = directory();
    // The default page cannot be created (dangling link); the requested one cannot be filled (full
    // disk).
    std::os::unix::fs::symlink("no/such/folder", directory.path().join("longwire-demo.html"))
        .expect("a link");
    for arguments in [&["demo"][..], &["demo", "--html", "/dev/full"]] {
        let output = bounded(arguments).current_dir(directory.path()).output();
        let output = output.expect("the binary starts");
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", shown(&output));
        let said = stderr(&output);
        assert!(said.contains("the page ") && said.contains("--html"), "{said}");
        assert!(stdout(&output).contains("times faster"), "{}", shown(&output));
    }
}

#[test]
fn the_user_may_end_it_and_sees_what_there_is() {
    let directory = directory();
    let running = Command::new(program())
        .arg("demo")
        .current_dir(directory.path())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the binary is built");
    // The page's file is created after the signal handlers.
    let began = Instant::now();
    while !directory.path().join("longwire-demo.html").exists() {
        assert!(began.elapsed() < Duration::from_secs(30), "it never begins");
        std::thread::sleep(Duration::from_millis(5));
    }
    let killed = Command::new(require("kill"))
        .args(["-INT", &running.id().to_string()])
        .status()
        .expect("kill runs");
    assert!(killed.success());
    let began = Instant::now();
    let output = running.wait_with_output().expect("it ends");
    assert!(began.elapsed() < Duration::from_secs(20), "it goes on and on");
    assert_eq!(output.status.code(), Some(130));
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("1. Measured at distance 0"), "{text}");
    assert!(text.contains("page, one join"), "{text}");
}

//! Pages of `check` and of commands that query a server show the figures of the records.

use std::path::Path;
use std::process::Output;
use testbed::binary::{self, done, longwire, number, of_type, records, run, stderr};
use testbed::{Postgres, Started};

fn with_page(arguments: &[&str]) -> (Output, String, String) {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("page.html");
    let path = path.to_str().expect("a temporary name is plain");
    let output = run(&[arguments, &["--json", "--html", path]].concat());
    let page = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{error}: {}", stderr(&output)));
    assert!(page.starts_with("<!DOCTYPE html>") && page.ends_with("</html>\n"));
    for reference in ["http://", "https://", "NaN"] {
        assert!(!page.contains(reference), "{reference}");
    }
    let answer = page
        .split("<p class=\"answer\">")
        .nth(1)
        .and_then(|rest| rest.split('<').next());
    let answer = answer.expect("it answers").to_owned();
    (output, page, answer)
}

#[test]
fn ping_shows_how_far_it_is() {
    let server = Postgres::start();
    let (output, page, answer) = with_page(&["ping", &server.url(), "-n", "30", "-i", "5ms"]);
    done(&output);
    let records = records(&output);
    let summary = of_type(&records, "summary").remove(0);
    let answered = number(summary, "answered");
    assert_eq!(answered, 30, "{summary}");
    assert!(answer.contains("(median of 30)"), "{answer}");
    assert!(page.contains("How times are distributed"), "the drawing");
}

#[test]
fn opening_connections_is_shown_step_by_step() {
    let server = Postgres::start();
    let (output, page, _) = with_page(&["ping", &server.url(), "--connect", "-n", "5", "-i", "5ms"]);
    done(&output);
    let records = records(&output);
    let legs = of_type(&records, "leg");
    assert!(!legs.is_empty());
    for leg in legs {
        let name = leg["name"].as_str().expect("a leg has a name");
        assert!(page.contains(&format!(">{name}</th>")), "{name}");
    }
}

#[test]
fn load_shows_its_throughput_and_keeps_literals_to_itself() {
    let server = Postgres::start();
    let statement = "select 'confidential', 4711";
    let (output, page, answer) = with_page(&[
        "load",
        &server.url(),
        "--statement",
        statement,
        "-r",
        "-c",
        "2",
        "-T",
        "3",
    ]);
    done(&output);
    assert!(
        answer.contains(" transactions a second with 2 clients: half took at most "),
        "{answer}"
    );
    assert!(
        page.contains("Operations a second over time"),
        "three seconds are a course"
    );
    assert!(
        !page.contains("confidential") && !page.contains("4711"),
        "a literal"
    );
    let records = records(&output);
    let summary = of_type(&records, "summary").remove(0);
    let succeeded = number(summary, "operations");
    let digits: String = page_number(&page, "succeeded");
    assert_eq!(digits, succeeded.to_string());
}

/// The first figure below a heading, without thousands separators; the first column is the row's
/// name.
fn page_number(page: &str, heading: &str) -> String {
    let behind = page
        .split(&format!("<th scope=\"col\">{heading}</th>"))
        .nth(1)
        .expect("the heading");
    let row = behind.split("<th scope=\"row\"").nth(1).expect("a row");
    let (_, cell) = row.split_once('>').expect("a cell");
    cell.chars()
        .take_while(|c| *c != '<')
        .filter(char::is_ascii_digit)
        .collect()
}

#[test]
fn split_shows_the_parts_of_a_transaction() {
    let server = Postgres::start();
    let (output, page, answer) = with_page(&[
        "split",
        &server.url(),
        "-c",
        "1,4",
        "-T",
        "500ms",
        "--rounds",
        "3",
    ]);
    done(&output);
    assert!(answer.starts_with("A transaction of 1 client takes "), "{answer}");
    let records = records(&output);
    assert_eq!(
        page.matches("<div class=\"whole\">").count(),
        of_type(&records, "split").len()
    );
    assert!(page.contains("Predicted elsewhere"));
}

#[test]
fn echo_shows_each_combination() {
    let mut command = longwire(&["echo", "--listen", "127.0.0.1:0"]);
    let (_listening, address) = Started::listening(&mut command, " listens on ");
    let address = address.to_string();
    let (output, page, answer) = with_page(&["echo", &address, "--request", "16,4096", "-T", "500ms"]);
    done(&output);
    assert!(
        answer.starts_with("A round trip of 16 bytes there") || answer.starts_with("A round trip of 16 B"),
        "{answer}"
    );
    let records = records(&output);
    assert_eq!(of_type(&records, "echo").len(), 2);
    assert!(page.contains("16/16 bytes, 1 at once") && page.contains("4096/16 bytes, 1 at once"));
}

#[test]
fn check_shows_which_budgets_are_broken() {
    let server = Postgres::start();
    let directory = tempfile::tempdir().expect("a directory");
    let file = recording(&server, directory.path());
    let budgets = [
        "check",
        &file,
        "--operations",
        "transaction",
        "--max-round-trips",
        "2",
        "--max-predicted",
        "10s@1ms",
    ];
    let (output, page, answer) = with_page(&budgets);
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    let records = binary::records(&output);
    let verdicts = of_type(&records, "check");
    let broken = verdicts.iter().filter(|verdict| verdict["kept"] == false).count();
    assert!(broken > 0 && broken < verdicts.len(), "{verdicts:?}");
    assert!(
        answer.starts_with(&format!("{broken} of {} budgets ", verdicts.len())),
        "{answer}"
    );
    assert_eq!(page.matches(">broken</b>").count(), broken);
    assert!(page.contains("<b class=\"bad\">broken</b>"));
    let kept = [
        "check",
        &file,
        "--operations",
        "transaction",
        "--max-round-trips",
        "200",
    ];
    let (output, page, answer) = with_page(&kept);
    done(&output);
    assert!(answer.ends_with("kept."), "{answer}");
    assert!(!page.contains("class=\"bad\""));
}

fn recording(server: &Postgres, directory: &Path) -> String {
    let file = directory.join("run.lwr").display().to_string();
    let script = directory.join("page.sql").display().to_string();
    let lookups = "select 1;\n".repeat(5);
    std::fs::write(&script, format!("begin;\n{lookups}commit;\n")).expect("it is written");
    let url = server.url();
    let watch = [
        "watch",
        &url,
        "-q",
        "-o",
        &file,
        "--",
        "psql",
        "-X",
        "-q",
        "-o",
        "/dev/null",
        "-f",
        &script,
    ];
    done(&run(&watch));
    file
}

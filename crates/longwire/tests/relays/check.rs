//! Checks budgets on recordings of real traffic.

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Output;
use testbed::Postgres;
use testbed::binary::{self, run, stderr, stdout, unwrapped};

struct Recorded {
    directory: tempfile::TempDir,
    server: Postgres,
}

impl Recorded {
    fn new() -> Self {
        let server = Postgres::start();
        server.sql("CREATE TABLE article AS SELECT i, 'name ' || i AS name FROM generate_series(1, 100) i");
        Self {
            directory: tempfile::tempdir().expect("a directory"),
            server,
        }
    }

    fn page(&self, name: &str, articles: u32) -> PathBuf {
        let file = self.directory.path().join(name);
        let lookups: String = (1..=articles)
            .map(|article| format!("select name from article where i = {article};\n"))
            .collect();
        let script = self.directory.path().join("page.sql");
        std::fs::write(&script, format!("begin;\n{lookups}commit;\n")).expect("it is written");
        let watched = run(&[
            "watch",
            &self.server.url(),
            "-q",
            "-o",
            &file.display().to_string(),
            "--",
            "psql",
            "-X",
            "-q",
            "-o",
            "/dev/null",
            "-f",
            &script.display().to_string(),
        ]);
        assert!(watched.status.success(), "{}", stderr(&watched));
        file
    }
}

fn check(file: &Path, arguments: &[&str]) -> Output {
    let file = file.display().to_string();
    let mut all = vec!["check", &*file, "--operations", "transaction"];
    all.extend(arguments);
    run(&all)
}

fn records(output: &Output, kind: &str) -> Vec<Value> {
    let all = binary::records(output).into_iter();
    all.filter(|record| record["type"] == kind).collect()
}

#[test]
fn budgets_are_kept_or_broken_by_what_was_recorded() {
    let recorded = Recorded::new();
    let (short, long) = (recorded.page("short.lwr", 2), recorded.page("long.lwr", 30));
    let outcome = |file: &Path, arguments: &[&str]| {
        let output = check(file, arguments);
        (output.status.code(), stdout(&output), stderr(&output))
    };

    let (status, text, errors) = outcome(
        &short,
        &["--max-round-trips", "5", "--max-predicted", "250ms@40ms"],
    );
    assert_eq!(status, Some(0), "{text}{errors}");
    assert!(text.contains("0 budgets broken, 4 kept"), "{text}");

    let (status, text, _) = outcome(
        &long,
        &["--max-round-trips", "5", "--max-predicted", "250ms@40ms"],
    );
    assert_eq!(status, Some(1));
    assert!(
        text.contains("max-round-trips: 32 round trips, allowed are 5"),
        "{text}"
    );
    assert!(
        text.contains("select name from article where i = ?: max-predicted: 1."),
        "{text}"
    );

    // The general budget is for login; the page has its own.
    let named = ["--max-round-trips", "5", "--max-round-trips", "select name*=32"];
    assert_eq!(outcome(&long, &named).0, Some(0));

    let baseline = short.display().to_string();
    let (status, text, _) = outcome(&long, &["--baseline", &baseline, "--max-round-trips", "+27"]);
    assert_eq!(status, Some(1), "{text}");
    assert!(
        text.contains("max-round-trips: 32 round trips, allowed are 31"),
        "{text}"
    );
    let since = check(&long, &["--baseline", &baseline, "--json"]);
    assert_eq!(since.status.code(), Some(0), "a baseline alone only reports");
    let changes = records(&since, "change");
    let page = changes
        .iter()
        .find(|change| change["operation_name"] == "select name from article where i = ?");
    let page = page.expect("the page is there");
    assert_eq!((&page["turns_before"], &page["turns"]), (&4.into(), &32.into()));
    let more = page["predicted_ns"].as_u64().expect("a time")
        - page["predicted_before_ns"].as_u64().expect("a time");
    assert!(
        (1_000_000_000..1_400_000_000).contains(&more),
        "28 round trips of 40 ms: {page}"
    );
}

#[test]
fn forbidden_waste_is_found_and_its_remedy_told() {
    let recorded = Recorded::new();
    let (short, long) = (recorded.page("short.lwr", 1), recorded.page("long.lwr", 30));
    assert_eq!(
        check(&short, &["--forbid", "n+1,row-by-row"]).status.code(),
        Some(0)
    );
    let output = check(
        &long,
        &[
            "--forbid",
            "n+1,row-by-row",
            "--max-round-trips",
            "5",
            "--baseline",
            &short.display().to_string(),
        ],
    );
    let text = unwrapped(&stdout(&output));
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(
        text.contains("select name from article where i = ?: forbidden n+1 of select name from article where i = ?: ran 30 times, 30 round trips"),
        "{text}"
    );
    assert!(!text.contains("forbid: row-by-row"), "{text}");
    assert!(
        text.contains(" n+1 (select name from article where i = ?): "),
        "the remedy: {text}"
    );
    assert!(
        text.contains("new in select name from article where i = ?: n+1 of select name"),
        "{text}"
    );
    let elsewhere = check(&long, &["--forbid", "connecting*=n+1"]);
    assert_eq!(elsewhere.status.code(), Some(0), "{}", stdout(&elsewhere));

    let inserts: String = (1..=30)
        .map(|i| format!("insert into article values ({i}, 'x');"))
        .collect();
    let file = recorded
        .directory
        .path()
        .join("inserts.lwr")
        .display()
        .to_string();
    let mut words = vec!["watch".to_owned(), recorded.server.url()];
    words.extend(["-q", "-o", &file, "--", "psql", "-X", "-q", "-c", "begin"].map(str::to_owned));
    for insert in inserts.split_inclusive(';').chain(["commit"]) {
        words.extend(["-c".to_owned(), insert.to_owned()]);
    }
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    assert!(run(&words).status.success());
    let output = check(Path::new(&file), &["--forbid", "n+1,row-by-row"]);
    let text = stdout(&output);
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(
        text.contains("forbidden row-by-row of insert into article"),
        "{text}"
    );
}

#[test]
fn reports_for_machines_say_the_same() {
    let recorded = Recorded::new();
    let file = recorded.page("page.lwr", 10);
    let xml = recorded.directory.path().join("longwire.xml");
    let junit = xml.display().to_string();
    let output = check(
        &file,
        &[
            "--max-round-trips",
            "select name*=5",
            "--junit",
            &junit,
            "--github",
        ],
    );
    assert_eq!(output.status.code(), Some(1), "{}", stderr(&output));
    let xml = std::fs::read_to_string(&xml).expect("it was written");
    assert!(xml.contains("tests=\"2\" failures=\"1\""), "{xml}");
    assert!(
        xml.contains(
            "<testcase classname=\"longwire.transaction\" name=\"select name from article where i = ?\""
        ),
        "{xml}"
    );
    let text = stdout(&output);
    assert!(
        text.contains("::error title=longwire max-round-trips%3A select name from article where i = ?::select name from article where i = ?: max-round-trips: 12 round trips, allowed are 5"),
        "{text}"
    );
}

#[test]
fn budgets_in_a_file_come_before_those_of_the_command_line() {
    let recorded = Recorded::new();
    let file = recorded.page("page.lwr", 10);
    let budgets = recorded.directory.path().join("longwire.toml");
    std::fs::write(
        &budgets,
        "max-round-trips = 5\n[[operation]]\nname = 'select name*'\nmax-round-trips = 12\n",
    )
    .expect("it is written");
    let budgets = budgets.display().to_string();
    assert_eq!(check(&file, &["--budgets", &budgets]).status.code(), Some(0));
    let stricter = check(
        &file,
        &["--budgets", &budgets, "--max-round-trips", "select name*=11"],
    );
    assert_eq!(stricter.status.code(), Some(1));
}

#[test]
fn what_cannot_be_checked_is_not_green() {
    let recorded = Recorded::new();
    let file = recorded.page("page.lwr", 2);
    let refused = |arguments: &[&str], reason: &str| {
        let output = check(&file, arguments);
        assert_eq!(
            output.status.code(),
            Some(2),
            "{arguments:?}: {}",
            stdout(&output)
        );
        assert!(
            stderr(&output).contains(reason),
            "{arguments:?}: {}",
            stderr(&output)
        );
    };
    refused(&[], "nothing to check");
    refused(&["--max-round-trips", "GET /chekout=5"], "matches no operation");
    refused(&["--max-round-trips", "+2"], "--baseline");
    refused(&["--max-round-trips", "many"], "not a number of round trips");
    refused(&["--max-predicted", "200ms"], "200ms@40ms");
    refused(&["--max-predicted", "200@40ms"], "unit");
    refused(&["--forbid", "n+2"], "n+1, row-by-row");
    refused(
        &["--budgets", "/nonexistent.toml", "--max-round-trips", "5"],
        "/nonexistent.toml",
    );
    refused(&["--baseline", "/nonexistent.lwr"], "/nonexistent.lwr");
    let missing = run(&["check", "/nonexistent.lwr", "--max-round-trips", "5"]);
    assert_eq!(missing.status.code(), Some(2));
}

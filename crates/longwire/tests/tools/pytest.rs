//! docs/examples/pytest/conftest.py under real pytest: work of a test is separate from work of
//! its fixtures.

use serde_json::Value;
use std::path::Path;
use std::process::Command;
use testbed::binary::longwire;
use testbed::{Postgres, python};

#[test]
fn turns_of_fixtures_are_not_those_of_a_test() {
    let programs = python::environment(&["pytest==8.4.2", "psycopg[binary]==3.2.13"]);
    let server = Postgres::start();
    server.sql("CREATE TABLE article AS SELECT i, 'name ' || i AS name FROM generate_series(1, 100) i");
    let folder = tempfile::tempdir().expect("a directory");
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/pytest/test_shop.py");
    std::fs::copy(tests, folder.path().join("test_shop.py")).expect("it is copied");
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/examples/pytest/conftest.py");
    std::fs::copy(example, folder.path().join("conftest.py")).expect("it is copied");
    let recording = folder.path().join("tests.lwr");
    let watched = longwire(&[])
        .args(["watch", &server.url(), "-q", "-o"])
        .arg(&recording)
        .arg("--")
        .arg(programs.join("pytest"))
        .args(["-q", "-p", "no:cacheprovider"])
        .current_dir(folder.path())
        .output()
        .expect("the binary starts");
    let said = String::from_utf8_lossy(&watched.stderr) + String::from_utf8_lossy(&watched.stdout);
    assert!(watched.status.success(), "{said}");
    let checked = longwire(&[])
        .arg("check")
        .arg(&recording)
        .args(["--operations", "marked", "--max-round-trips", "0", "--json"])
        .output()
        .expect("the binary starts");
    let text = String::from_utf8_lossy(&checked.stdout).into_owned();
    let turns: Vec<(String, u64)> = text
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("each line is a record"))
        .filter(|record| record["type"] == "check")
        .map(|record| {
            let name = record["operation_name"].as_str().expect("a name").to_owned();
            (name, record["turns"].as_u64().expect("its round trips"))
        })
        .collect();
    let of = |test: &str| (format!("test_shop.py::{test}"), 1);
    let expected = [
        (format!("test_shop.py::{}", "test_basket"), 24),
        of("test_count"),
        of("test_that_fails"),
    ];
    assert_eq!(turns, expected, "{text}");
    let outside = Command::new(programs.join("pytest"))
        .args(["-q", "--collect-only", "-p", "no:cacheprovider"])
        .current_dir(folder.path())
        .output()
        .expect("pytest starts");
    assert!(outside.status.success(), "the file does nothing without longwire");
}

//! PyMongo with mongo-java-server.

use super::{Store, answers, is_right, pages_wait, seen};
use serde_json::Value;
use testbed::binary::{done, longwire, number, of_type, records, run};
use testbed::{Capture, Mongodb, python};

const PYMONGO: [&str; 1] = ["pymongo==4.10.1"];

#[test]
fn a_page_of_pymongo() {
    let server = Mongodb::start();
    let store = store(&server);
    is_right(&store, &["n+1 of find items {_id}", "$in"]);
    answers(&server.url());
}

/// An emulated link shows a reply one way after its client had it, here later than the page's.
#[test]
fn the_last_command_of_a_page_is_its_own_on_a_long_link() {
    let server = Mongodb::start();
    let far = store(&server).far("400ms", &[("/once", 1)]);
    pages_wait(&far, "/once", 1, 400_000_000);
}

#[test]
fn commands_within_tls_are_seen_with_the_program_s_keys() {
    let server = Mongodb::start_with_tls();
    let store = store(&server);
    let folder = tempfile::tempdir().expect("a directory");
    let keys = folder.path().join("keys.log").display().to_string();
    let capture = Capture::start(server.port());
    let mut program = longwire(&["keys", "-o", &keys, "--"]);
    program
        .args(store.program(testbed::process::free_port(), 0))
        .env("AUTHORITY", server.authority())
        .env("LONGWIRE_MONGODB_PORT", server.port().to_string());
    let output = program.output().expect("it starts");
    done(&output);
    let counted: Value = serde_json::from_slice(&output.stdout).expect("what the driver counted");
    let capture = capture.stop();
    let file = capture.path().display().to_string();
    let output = run(&["read", "--json", "--exchanges", "--keys", &keys, &file]);
    done(&output);
    let read = records(&output);
    let sums = ["requests", "replies"].map(|key| number(&counted, key));
    assert_eq!(seen(&read, "mongodb"), sums);
    let connections = of_type(&read, "connection");
    let opened = |connection: &Value| connection["protocol"] == "mongodb" && connection["encrypted"] == true;
    assert!(
        !connections.is_empty() && connections.iter().all(|one| opened(one)),
        "{connections:?}"
    );
}

fn store(server: &Mongodb) -> Store<'static> {
    Store {
        protocol: "mongodb",
        scheme: "mongodb",
        port: server.port(),
        script: "mongodb.py",
        python: python::environment(&PYMONGO).join("python3"),
    }
}

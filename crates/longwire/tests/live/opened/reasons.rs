//! Connections that cannot be decrypted are counted with their reasons, in text and records.

use super::{ENCRYPTIONS, Run};
use serde_json::Value;
use std::path::Path;
use std::process::Command;
use testbed::binary::{self, of_type, shown, unwrapped};
use testbed::{Postgres, process, require};

fn run_of(server: &Postgres, encryption: (&str, &str)) -> Run {
    Run::new("postgres", server.port(), Postgres::PASSWORD, Some(encryption))
}

fn read_files(files: &[&Path], keys: &Path) -> (String, Vec<Value>) {
    let files: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
    let keys = keys.display().to_string();
    let mut arguments = vec!["read", "--keys", &keys];
    arguments.extend(files.iter().map(String::as_str));
    let text = shown(&binary::run(&arguments));
    arguments.push("--json");
    (text, binary::records(&binary::run(&arguments)))
}

fn warnings(records: &[Value]) -> String {
    let texts = of_type(records, "warning").into_iter();
    texts.map(|warning| format!("{}\n", warning["text"])).collect()
}

#[test]
fn reasons_why_connections_stay_closed_are_counted() {
    let server = Postgres::options().tls().start();
    let [good, unknown, late] = [ENCRYPTIONS[4]; 3].map(|encryption| run_of(&server, encryption));
    let ccm = run_of(&server, ("1.2", "ECDHE-ECDSA-AES128-CCM"));
    let directory = tempfile::tempdir().expect("a directory");
    // Keys of all but one connection, and one capture without its first packets.
    let keys = directory.path().join("keys");
    let lines = [&good, &late, &ccm].map(|run| std::fs::read_to_string(run.keys()).expect("keys"));
    std::fs::write(&keys, lines.concat()).expect("it is written");
    let joined = directory.path().join("joined.pcap");
    let mut editcap = Command::new(require("editcap"));
    editcap.arg(late.capture.path()).arg(&joined).arg("1-14");
    process::run(editcap);
    // So much later that the others are only kept for late packets.
    let later = directory.path().join("later.pcap");
    let mut editcap = Command::new(require("editcap"));
    editcap.args(["-t", "10"]).arg(ccm.capture.path()).arg(&later);
    process::run(editcap);

    let captures = [&good, &unknown].map(|run| run.capture.path());
    let files = [&*captures[0], &*captures[1], &*joined, &*later];
    let (text, records) = read_files(&files, &keys);
    for said in [unwrapped(&text), warnings(&records)] {
        assert!(
            said.contains("1 of 4 TLS connections opened with the keys in"),
            "{said}"
        );
        let reasons = "counted as opaque: 1 without keys in it, \
            1 with a cipher that is not opened (AES-GCM, ChaCha20-Poly1305, AES-CBC and 3DES are), 1 that began before the capture";
        assert!(said.contains(reasons), "{said}");
    }
    let reasons: Vec<String> = of_type(&records, "connection")
        .iter()
        .map(|connection| connection["opaque_reason"].to_string())
        .collect();
    for (reason, count) in [
        ("null", 1),
        ("keys are not in the key log", 1),
        ("by a cipher that is not opened", 1),
        ("beginning of the handshake was not seen", 1),
    ] {
        let found = reasons.iter().filter(|found| found.contains(reason)).count();
        assert_eq!(found, count, "{reason}: {reasons:?}");
    }
}

#[test]
fn a_damaged_record_is_counted_and_what_follows_is_opened() {
    let server = Postgres::options().tls().start();
    let run = run_of(&server, ENCRYPTIONS[4]);
    let whole = run.read_records(Some(&run.keys()));
    let mut bytes = std::fs::read(run.capture.path()).expect("a capture");
    // The first eight statements have records of equal length.
    let record = [23, 3, 3, 0];
    let starts: Vec<usize> = (0..bytes.len() - 100)
        .filter(|at| bytes[*at..].starts_with(&record) && bytes[*at + 4] == STATEMENT)
        .collect();
    assert_eq!(starts.len(), 8);
    bytes[starts[3] + 10] ^= 1;
    let directory = tempfile::tempdir().expect("a directory");
    let damaged = directory.path().join("damaged.pcap");
    std::fs::write(&damaged, bytes).expect("it is written");
    let (text, records) = read_files(&[&damaged], run.keys().as_ref());
    for said in [text, warnings(&records)] {
        assert!(said.contains("1 TLS record is not authentic"), "{said}");
        assert!(!said.contains("opened with the keys in"), "{said}");
    }
    let calls = |records: &[Value]| -> u64 {
        let statements = of_type(records, "statement");
        statements
            .iter()
            .filter_map(|statement| statement["calls"].as_u64())
            .sum()
    };
    let turns = |records: &[Value]| of_type(records, "connection")[0]["turns"].clone();
    assert_eq!((calls(&whole), calls(&records)), (10, 9));
    assert_eq!(turns(&records), turns(&whole));
}

/// Length of the record of `select 0 as number`: message type and length, text, NUL; record type
/// and tag.
const STATEMENT: u8 = 1 + 4 + 18 + 1 + 1 + 16;

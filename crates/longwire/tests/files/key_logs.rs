//! Real-world key logs, and CBC suites: captures of PostgreSQL 15 over TLS.

use serde_json::Value;
use std::path::{Path, PathBuf};
use testbed::binary::{records, refused, run, stderr};

fn data(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/key_logs");
    folder.join(name).display().to_string()
}

fn read_capture(capture: &str, keys: &Path) -> (Vec<String>, String) {
    let output = run(&[
        "read",
        "--json",
        &data(capture),
        "--keys",
        &keys.display().to_string(),
    ]);
    assert!(output.status.success(), "{}", stderr(&output));
    let records = records(&output);
    let statements = testbed::binary::statements(&records).into_iter();
    let text = |record: &Value| record["fingerprint"].as_str().expect("a statement").to_owned();
    (statements.map(text).collect(), stderr(&output))
}

fn written(folder: &tempfile::TempDir, bytes: &[u8]) -> PathBuf {
    let path = folder.path().join("keys.log");
    std::fs::write(&path, bytes).expect("written");
    path
}

#[test]
fn one_mangled_line_is_skipped_and_counted() {
    let keys = PathBuf::from(data("mangled-line.keys"));
    let (statements, said) = read_capture("tls-sessions.pcap", &keys);
    assert!(!statements.is_empty(), "{said}");
    assert!(said.contains("has 1 line that a key log does not have"), "{said}");
    assert!(said.contains("the first is line 3"), "{said}");
    let secret = std::fs::read_to_string(&keys).expect("a key log");
    let third = secret.lines().nth(2).expect("the line").to_owned();
    assert!(!said.contains(&third), "{said}");
}

#[test]
fn byte_order_marks_and_wide_characters_are_no_fault_of_a_key_log() {
    let folder = tempfile::tempdir().expect("a folder");
    let lines = std::fs::read_to_string(data("mangled-line.keys")).expect("a key log");
    let good: Vec<&str> = lines
        .lines()
        .enumerate()
        .filter(|(at, _)| *at != 2)
        .map(|(_, line)| line)
        .collect();
    let plain = good.join("\r\n") + "\r\n";
    let (expected, said) = read_capture("tls-sessions.pcap", &written(&folder, plain.as_bytes()));
    assert!(!expected.is_empty() && !said.contains("skipped"), "{said}");
    let wide: Vec<u8> = plain.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let turned: Vec<u8> = plain.encode_utf16().flat_map(u16::to_be_bytes).collect();
    for bytes in [
        [b"\xef\xbb\xbf".as_slice(), plain.as_bytes()].concat(),
        [b"\xff\xfe".as_slice(), &wide].concat(),
        [b"\xfe\xff".as_slice(), &turned].concat(),
    ] {
        let (statements, said) = read_capture("tls-sessions.pcap", &written(&folder, &bytes));
        assert_eq!(statements, expected, "{said}");
        assert!(!said.contains("skipped"), "{said}");
    }
}

#[test]
fn a_file_without_a_line_of_a_key_log_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let capture = std::fs::read(data("tls-sessions.pcap")).expect("a capture");
    for bytes in [&b"GET / HTTP/1.1\n\n"[..], b"# a comment\nnonsense\n", &capture] {
        let keys = written(&folder, bytes).display().to_string();
        refused(
            &["read", &data("tls-sessions.pcap"), "--keys", &keys],
            &["is no key log", "line "],
        );
    }
}

#[test]
fn statements_inside_suites_in_cbc_mode_are_seen_with_keys() {
    let keys = PathBuf::from(data("tls12-cbc-postgres.keys"));
    let (statements, said) = read_capture("tls12-cbc-postgres.pcap", &keys);
    assert!(!statements.is_empty(), "{said}");
    assert!(!said.contains("opaque"), "{said}");
}

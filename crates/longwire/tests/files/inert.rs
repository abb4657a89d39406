//! Observed data is displayed without being interpreted by terminals, CI log parsers or readers.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use testbed::binary::{longwire, run, stderr, stdout};

fn text(path: &Path) -> &str {
    path.to_str().expect("a path in UTF-8")
}

fn capture() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/captures/pgjdbc4274-pg15-trust.pcap")
}

fn records() -> String {
    stdout(&run(&["read", "--json", "--exchanges", text(&capture())]))
}

fn refusing(message: &'static str) -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("loopback has free ports");
    let port = listener.local_addr().expect("it is bound").port();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.expect("a client came");
            let mut asked = [0; 1024];
            let mut read = stream.read(&mut asked).unwrap_or(0);
            if asked[..read].ends_with(&[4, 210, 22, 47]) {
                stream.write_all(b"N").expect("it is read");
                read = stream.read(&mut asked).unwrap_or(0);
            }
            assert!(read > 0, "a start-up message");
            let fields = format!("SFATAL\0C28000\0M{message}\0\0");
            let mut reply = vec![b'E'];
            reply.extend((fields.len() as u32 + 4).to_be_bytes());
            reply.extend(fields.as_bytes());
            stream.write_all(&reply).expect("it is read");
        }
    });
    port
}

/// Lines that a terminal, CI or reader could interpret as something other than observed data.
fn obeyed(output: &str) -> Vec<&str> {
    let is_obeyed = |line: &&str| {
        let trimmed = line.trim_start();
        trimmed.starts_with("::")
            || line.contains("##[")
            || line.contains('\u{1b}')
            || line.contains('\u{9b}')
            || trimmed.starts_with("longwire: all is well")
    };
    output.lines().filter(is_obeyed).collect()
}

const HOSTILE: &str =
    "no\nlongwire: all is well\r\n::error::x\n  ::add-mask::y\n##[group]z\u{1b}[2J\u{9b}31m";

#[test]
fn an_error_message_of_a_server_forges_no_line_of_ours() {
    let port = refusing(HOSTILE);
    let target = format!("postgres://app@127.0.0.1:{port}/shop?sslmode=disable");
    for words in [
        vec!["ping", &target, "-n", "1"],
        vec!["load", &target, "-t", "1", "-b", "select-only"],
        vec!["split", &target, "-T", "1s"],
        vec!["tune", &target],
    ] {
        let output = run(&words);
        assert!(!output.status.success(), "{words:?}");
        let all = stdout(&output) + &stderr(&output);
        assert!(
            all.contains("all is well"),
            "the message is shown: {words:?}: {all}"
        );
        assert!(obeyed(&all).is_empty(), "{words:?}: {all}");
    }
}

#[test]
fn read_and_check_print_no_line_that_a_ci_obeys_but_their_own() {
    let folder = tempfile::tempdir().expect("a directory");
    let file = folder.path().join("::add-mask::a\n::error::b.jsonl");
    let fingerprint = "\"fingerprint\":\"";
    let hostile = records()
        .replace(
            fingerprint,
            &format!("{fingerprint}::error::x\\n::warning::y ##[group]z \\u009b31m "),
        )
        .replace(
            "\"type\":\"summary\"",
            "\"type\":\"warning\",\"schema\":1,\"text\":\"\\n::debug::w\"}\n{\"type\":\"summary\"",
        );
    fs::write(&file, &hostile).expect("it is written");
    for words in [
        vec!["read"],
        vec!["read", "--json"],
        vec!["predict", "--rtt", "10ms"],
        vec!["check", "--max-round-trips", "1", "--operations", "transaction"],
        vec!["check", "--max-round-trips", "::x=1"],
    ] {
        let output = run(&[&words[..], &[text(&file)]].concat());
        let all = stdout(&output) + &stderr(&output);
        assert!(!all.is_empty(), "{words:?}");
        assert!(obeyed(&all).is_empty(), "{:?}: {all}", obeyed(&all));
    }
    let own = run(&[
        "check",
        text(&file),
        "--github",
        "--max-round-trips",
        "1",
        "--operations",
        "transaction",
    ]);
    let own = stdout(&own);
    let annotations: Vec<&str> = own
        .lines()
        .filter(|line| line.trim_start().starts_with("::"))
        .collect();
    assert!(!annotations.is_empty());
    for annotation in annotations {
        assert!(
            annotation.starts_with("::error title=longwire max-round-trips%3A"),
            "{annotation}"
        );
    }
}

#[test]
fn pages_and_recordings_are_for_their_owner() {
    let folder = tempfile::tempdir().expect("a directory");
    let page = folder.path().join("page.html");
    assert!(
        run(&["read", text(&capture()), "--html", text(&page)])
            .status
            .success()
    );
    let recording = folder.path().join("run.lwr");
    let port = refusing("no");
    let target = format!("postgres://app@127.0.0.1:{port}/shop?sslmode=disable");
    let watched = run(&["watch", &target, "-q", "-o", text(&recording), "--", "true"]);
    assert_eq!(watched.status.code(), Some(1), "{}", stderr(&watched));
    for path in [page, recording] {
        let rights = path.metadata().expect("it is there").permissions().mode();
        assert_eq!(rights & 0o777, 0o600, "{}", path.display());
    }
}

/// As longwire writes recordings: without a checksum a flipped bit may leave valid records.
fn with_checksum(records: &[u8]) -> Vec<u8> {
    let mut encoder = zstd::Encoder::new(Vec::new(), 3).expect("an encoder");
    encoder.include_checksum(true).expect("a checksum");
    encoder.write_all(records).expect("memory takes it");
    encoder.finish().expect("memory takes it")
}

#[test]
fn a_cut_or_damaged_recording_is_no_green_check() {
    let folder = tempfile::tempdir().expect("a directory");
    let whole = records();
    let place = |name: &str| folder.path().join(name);
    let lines: Vec<&str> = whole.split_inclusive('\n').collect();
    let half = lines.len() / 2;
    let compressed = with_checksum(whole.as_bytes());
    let mut flipped = compressed.clone();
    flipped[compressed.len() / 2] ^= 0x55;
    let capture = fs::read(capture()).expect("it can be read");
    let broken: [(&str, Vec<u8>); 7] = [
        ("between-lines.jsonl", lines[..half].concat().into_bytes()),
        ("in-a-line.jsonl", whole.as_bytes()[..whole.len() / 2].to_vec()),
        ("no-summary.jsonl", lines[..lines.len() - 1].concat().into_bytes()),
        (
            "garbage.jsonl",
            [&lines[..half], &["{]\n"], &lines[half..]]
                .concat()
                .concat()
                .into_bytes(),
        ),
        ("cut.lwr", compressed[..compressed.len() * 2 / 3].to_vec()),
        ("flipped.lwr", flipped),
        ("cut.pcap", capture[..capture.len() - 9].to_vec()),
    ];
    let good = place("good.lwr");
    fs::write(&good, &compressed).expect("it is written");
    let budget = ["--max-round-trips", "1000"];
    let checked = |words: &[&str]| run(&[&["check"], words, &budget].concat());
    assert_eq!(
        checked(&[text(&good)]).status.code(),
        Some(0),
        "{}",
        stderr(&checked(&[text(&good)]))
    );
    for (name, bytes) in broken {
        let path = place(name);
        fs::write(&path, bytes).expect("it is written");
        for words in [vec![text(&path)], vec![text(&good), "--baseline", text(&path)]] {
            let output = checked(&words);
            assert_eq!(output.status.code(), Some(2), "{name}: {}", stdout(&output));
            assert!(stderr(&output).contains(name), "{}", stderr(&output));
        }
    }
}

#[test]
fn a_reader_that_left_does_not_make_a_check_green() {
    for format in [&["--json"][..], &["--github"], &[]] {
        let file = capture();
        let mut command = longwire(&["check", text(&file), "--max-round-trips", "1"]);
        let mut child = command
            .args(format)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary starts");
        drop(child.stdout.take());
        drop(child.stderr.take());
        assert_eq!(child.wait().expect("it ends").code(), Some(1), "{format:?}");
    }
}

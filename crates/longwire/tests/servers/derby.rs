//! `longwire watch` with a real Derby and its client: reported rows match the program's count.

use serde_json::Value;
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use testbed::JavaProgram;
use testbed::java::jars;

/// Derby's server ends at the end of its stdin.
struct Derby {
    server: Child,
    _directory: tempfile::TempDir,
}

impl Derby {
    fn start(program: &JavaProgram, jars: &[PathBuf], port: u16) -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let mut server = program.command(jars);
        let server = server
            .args(["serve", &port.to_string()])
            .current_dir(directory.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("Java starts");
        let deadline = Instant::now() + Duration::from_secs(60);
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(Instant::now() < deadline, "Derby's server does not listen");
            std::thread::sleep(Duration::from_millis(20));
        }
        Self {
            server,
            _directory: directory,
        }
    }
}

impl Drop for Derby {
    fn drop(&mut self) {
        self.server.stdin.take();
        let _ = self.server.wait();
    }
}

fn records_of<'a>(records: &'a [Value], kind: &'a str) -> impl Iterator<Item = &'a Value> {
    records.iter().filter(move |record| record["type"] == kind)
}

/// Rows, round trips and fetches of exchanges with this fingerprint prefix.
fn sums(records: &[Value], fingerprint: &str) -> [u64; 3] {
    let exchanges: Vec<&Value> = records_of(records, "exchange")
        .filter(|record| {
            let name = record["fingerprint"].as_str();
            name.is_some_and(|name| name.starts_with(fingerprint))
        })
        .collect();
    ["/rows", "/turns", "/asked/fetches"].map(|key| {
        let value = |record: &&Value| record.pointer(key).and_then(Value::as_u64).unwrap_or(0);
        exchanges.iter().map(value).sum()
    })
}

#[test]
fn rows_are_those_the_program_counted() {
    let coordinates = ["derby", "derbynet", "derbyshared", "derbytools", "derbyclient"];
    let coordinates = coordinates.map(|name| format!("org.apache.derby:{name}:10.16.1.1"));
    let jars = jars(&coordinates.each_ref().map(String::as_str));
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/servers/derby/DerbySession.java");
    let program = JavaProgram::compile(&source, &[]);
    let port = testbed::process::free_port();
    let _derby = Derby::start(&program, &jars, port);
    let client = program.command(&jars);
    let output = Command::new(testbed::binary::program())
        .args(["watch", "--json", "--exchanges"])
        .arg(format!("drda://127.0.0.1:{port}/shop"))
        .args(["--", "sh", "-c", "exec \"$@\" work \"$LONGWIRE_PORT\"", "sh"])
        .arg(client.get_program())
        .args(client.get_args())
        .stdin(Stdio::null())
        .output()
        .expect("the binary starts");
    let said = String::from_utf8_lossy(&output.stdout);
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}{errors}");
    // With records on stdout, the program's output is on stderr.
    for line in [
        "inserted 300",
        "all 300",
        "some 7",
        "none 0",
        "few 3",
        "changed 25",
        "state 42X05",
    ] {
        assert!(
            errors.lines().any(|said| said == line),
            "'{line}' is not in\n{errors}"
        );
    }
    for secret in ["pass-word-7", "lwuser"] {
        let told = said.contains(secret) || errors.contains(secret);
        assert!(!told, "{secret} is reported");
    }
    let records: Vec<Value> = said
        .lines()
        .filter(|line| line.starts_with('{'))
        .map(|line| serde_json::from_str(line).expect("a record"))
        .collect();
    let connection = records_of(&records, "connection")
        .find(|record| record["statements"] != 0)
        .expect("the program's");
    assert_eq!(connection["protocol"], "drda", "{connection}");
    assert_eq!(connection["opaque"], false, "{connection}");
    let insert = sums(&records, "insert into kinds");
    assert_eq!(insert[0], 300, "rows of the batch");
    let [rows, turns, fetches] = sums(&records, "select * from kinds");
    assert_eq!(rows, 300, "all kinds of columns");
    assert!(
        fetches > 0 && turns > fetches,
        "{turns} round trips, {fetches} of them for more rows"
    );
    assert_eq!(sums(&records, "select id, v from kinds where id < ?")[0], 7);
    assert_eq!(sums(&records, "select id, d from kinds")[0], 0);
    // The driver fetches all rows and discards those beyond its limit.
    assert_eq!(sums(&records, "select c, y, z from kinds")[0], 300);
    assert_eq!(sums(&records, "update kinds")[0], 25);
    let failed = records_of(&records, "exchange").filter(|record| record["error"] == "42X05");
    assert_eq!(failed.count(), 1);
}

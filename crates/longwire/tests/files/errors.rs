//! Typical user errors produce one line that names subject, cause, place and remedy, plus the exit
//! status.

use std::net::TcpListener;
use std::time::Duration;
use testbed::binary::{bounded, program, shown, stderr};
use testbed::process::free_port;

fn refused(arguments: &[&str]) -> String {
    let output = bounded(arguments).timeout(Duration::from_secs(20)).output();
    let output = output.expect("the binary starts");
    assert_eq!(output.status.code(), Some(2), "{}", shown(&output));
    assert!(output.stdout.is_empty(), "stdout is for results: {output:?}");
    stderr(&output)
}

/// Allows one hint, and a warning about a password argument before.
fn one_line(message: &str) {
    let warned = |line: &&str| line.starts_with("longwire: warning: other users of this machine");
    let lines: Vec<&str> = message.lines().skip_while(warned).collect();
    assert!(lines[0].starts_with("longwire: "), "{message}");
    assert!(
        lines.len() == 1 || (lines.len() == 2 && lines[1].starts_with("hint: ")),
        "{message}"
    );
}

#[track_caller]
fn says(message: &str, words: &[&str]) {
    one_line(message);
    for word in words {
        assert!(message.contains(word), "'{word}' is missing in: {message}");
    }
}

#[test]
fn a_server_that_is_not_there() {
    let port = free_port().to_string();
    let target = format!("postgres://app:hunter2@127.0.0.1:{port}/shop");
    let message = refused(&["watch", &target]);
    says(&message, &["127.0.0.1", &port, "refused", "hint"]);
    assert!(!message.contains("hunter2"));
}

#[test]
fn a_host_that_does_not_exist() {
    says(
        &refused(&["watch", "postgres://no-such-host.invalid/shop"]),
        &["no-such-host.invalid", "host"],
    );
}

#[test]
fn targets_that_are_none() {
    says(
        &refused(&["watch", "nosuch://db1/shop"]),
        &["nosuch", "postgres://"],
    );
    says(&refused(&["watch", "db1"]), &["URL"]);
    let message = refused(&["watch", "postgres://app:hunter2@db1:notaport/shop"]);
    says(&message, &["port"]);
    assert!(!message.contains("hunter2"));
}

#[test]
fn a_listening_address_that_is_taken() {
    let server = TcpListener::bind(("127.0.0.1", 0)).expect("loopback has free ports");
    let address = server
        .local_addr()
        .expect("a bound socket has an address")
        .to_string();
    let message = refused(&["watch", &format!("tcp://{address}"), "--listen", &address]);
    says(&message, &[&address, "in use"]);
}

#[test]
fn a_command_that_cannot_be_started() {
    let server = TcpListener::bind(("127.0.0.1", 0)).expect("loopback has free ports");
    let address = server
        .local_addr()
        .expect("a bound socket has an address")
        .to_string();
    let output = bounded(&["watch", &format!("tcp://{address}"), "--", "/no/such/program"])
        .timeout(Duration::from_secs(20))
        .output()
        .expect("the binary starts");
    assert_eq!(output.status.code(), Some(127), "{}", shown(&output));
    let message = stderr(&output);
    assert!(
        message.contains("could not start /no/such/program: no such program"),
        "{message}"
    );
}

#[test]
fn files_that_cannot_be_read() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = |name: &str| directory.path().join(name).display().to_string();
    std::fs::write(path("text"), "This is no capture.\n").expect("a file can be written");
    std::fs::write(path("empty"), "").expect("a file can be written");
    says(
        &refused(&["read", &path("missing")]),
        &["missing", "No such file"],
    );
    says(&refused(&["read", &path("text")]), &["text", "not a capture"]);
    says(&refused(&["read", &path("empty")]), &["empty"]);
    says(&refused(&["read", &path("")]), &["no capture or recording in"]);
    says(&refused(&["predict", &path("text")]), &["text", "not a capture"]);
    says(
        &refused(&["watch", "postgres://127.0.0.1:1", "-o", &path("no/such/run.lwr")]),
        &["127.0.0.1"],
    );
}

#[test]
fn arguments_that_are_not_understood() {
    for arguments in [
        &["read"][..],
        &["read", "--operations", "sometimes", "x.pcap"],
        &["read", "--exchanges", "x.pcap"],
        &["predict", "--rtt", "40", "x.pcap"],
        &["predict", "--rate", "10", "x.pcap"],
        &["predict", "--on", "everything", "x.pcap"],
        &["watch"],
        &["nosuch"],
    ] {
        let message = refused(arguments);
        one_line(&message);
        assert!(message.contains("\nhint: "), "{message}");
    }
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    use std::process::Stdio;
    let captures = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/captures");
    let mut child = std::process::Command::new(program())
        .args(["read", "--json", "--exchanges"])
        .arg(captures.join("mysqljdbc910-mariadb10.11-serverprep-cursor.pcap"))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary starts");
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("the binary ends");
    assert!(output.status.success(), "{output:?}");
    assert!(output.stderr.is_empty(), "{output:?}");
}

#[test]
fn a_link_that_makes_no_sense() {
    for command in ["relay", "watch"] {
        let message = refused(&[command, "tcp://127.0.0.1:9", "--link", "rtt=40"]);
        assert!(message.contains("--link") && message.contains("rtt"), "{message}");
    }
}

#[test]
fn tls_through_an_emulated_link() {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("loopback has free ports");
    let port = listener.local_addr().expect("bound").port();
    let target = format!("postgres://127.0.0.1:{port}/shop?sslmode=require");
    for command in ["relay", "watch"] {
        says(
            &refused(&[command, &target, "--link", "rtt=1ms"]),
            &["TLS", "link", "hint", "sslmode=disable"],
        );
    }
}

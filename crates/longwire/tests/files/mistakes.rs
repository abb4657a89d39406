//! Typical wrong inputs produce one line with the error, and a helpful hint.

use std::time::Duration;
use testbed::binary::{bounded, shown, stderr};

const MISTAKES: [(&[&str], &str); 44] = [
    (&["postgres://db1/shop"], "longwire ping postgres://db1/shop"),
    (&["app.pcap"], "longwire read app.pcap"),
    (&["run.lwr"], "longwire read run.lwr"),
    (&["redd", "x.pcap"], "read"),
    (&["analyze", "x.pcap"], "longwire read"),
    (&["capture", "eth0"], "longwire watch --interface"),
    (&["proxy", "tcp://127.0.0.1:9"], "longwire relay"),
    (&["netem", "40ms"], "longwire link 40ms"),
    (&["bench", "postgres://db1"], "longwire load"),
    (&["latency", "db1"], "longwire ping"),
    (&["what-if", "x.pcap"], "longwire predict"),
    (&["iperf", "db1"], "longwire echo"),
    (&["completions", "bash"], "longwire generate"),
    (&["version"], "longwire --version"),
    (&["dashboard"], "longwire top"),
    (&["tunnel", "client"], "tunnel near"),
    (&["tunnel", "server"], "tunnel far"),
    (
        &["lab", "labs/wordpress.toml"],
        "longwire lab run labs/wordpress.toml",
    ),
    (&["read"], "longwire read <FILE>..."),
    (
        &["read", "postgres://127.0.0.1:1/shop"],
        "longwire watch postgres://127.0.0.1:1/shop",
    ),
    (&["predict", "postgres://127.0.0.1:1/shop"], "longwire watch"),
    (&["ping", "run.lwr"], "longwire read run.lwr"),
    (&["ping", "db1"], "postgres://"),
    (&["ping", "db1:5432"], "postgres://"),
    (
        &["watch", "tcp://127.0.0.1:9", "psql"],
        "a command goes behind --",
    ),
    (&["link", "40ms", "psql"], "longwire link ... -- psql"),
    (
        &["link", "--rtt", "40ms", "--", "true"],
        "longwire link 'rtt=40ms",
    ),
    (&["predict", "x.pcap", "--latency", "40ms"], "--rtt 40ms"),
    (&["predict", "x.pcap", "--bandwidth", "10mbit"], "--rate 10mbit"),
    (
        &["predict", "x.pcap", "--loss", "1%"],
        "--link 'rtt=40ms loss=0.1%",
    ),
    (&["read", "x.pcap", "--at", "40ms"], "--rtt 40ms"),
    (&["relay", "tcp://127.0.0.1:9", "--delay", "40ms"], "--link 40ms"),
    (&["relay", "tcp://127.0.0.1:9", "--port", "9"], "--listen PORT"),
    (
        &["top", "tcp://127.0.0.1:9", "--interval", "1s"],
        "top shows a screen",
    ),
    (&["load", "tcp://127.0.0.1:9", "--concurrency", "8"], "--clients"),
    (&["load", "tcp://127.0.0.1:9", "--duration", "10s"], "-T 10s"),
    (
        &["load", "tcp://127.0.0.1:9", "--query", "select 1"],
        "--statement 'select 1'",
    ),
    (
        &["load", "tcp://127.0.0.1:9", "--link", "40ms"],
        "longwire link 40ms -- longwire load",
    ),
    (&["read", "x.pcap", "-o", "x.json"], "--json"),
    (&["read", "x.pcap", "--format", "json"], "--json"),
    (&["read", "x.pcap", "--verbose"], "--all"),
    (&["ping", "--host", "db1"], "postgres://user@host:5432/database"),
    (&["check", "x.pcap", "--budget", "3"], "--max-round-trips"),
    (&["watch", "tcp://127.0.0.1:9", "--silent"], "--quiet"),
];

#[test]
fn each_mistake_has_a_line_and_a_hint() {
    for (arguments, hint) in MISTAKES {
        let output = bounded(arguments)
            .timeout(Duration::from_secs(20))
            .output()
            .expect("the binary starts");
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", shown(&output));
        assert!(output.stdout.is_empty(), "{arguments:?}: {}", shown(&output));
        let said = stderr(&output);
        let lines: Vec<&str> = said.lines().collect();
        assert_eq!(lines.len(), 2, "{arguments:?}: {said}");
        assert!(
            lines[0].starts_with("longwire: ") && lines[1].starts_with("hint: "),
            "{arguments:?}: {said}"
        );
        assert!(
            lines[1].contains(hint),
            "{arguments:?}: '{hint}' is missing in: {said}"
        );
    }
}

#[test]
fn a_wrong_value_says_what_would_be_right() {
    for (arguments, right) in [
        (&["predict", "x.pcap", "--rtt", "40"][..], "40ms"),
        (&["predict", "x.pcap", "--rate", "10"], "Mbit/s"),
        (&["predict", "x.pcap", "--link", "40"], "rtt=40ms"),
        (&["link", "40", "--", "true"], "rtt=40ms"),
        (&["ping", "tcp://127.0.0.1:9", "-n", "5s"], "a whole number"),
        (&["ping", "cassandra://db1"], "postgres://"),
        (&["load", "tcp://127.0.0.1:9", "-M", "fast"], "prepared"),
        (&["relay", "tcp://127.0.0.1:9", "--listen", "here"], "here"),
    ] {
        let output = bounded(arguments)
            .timeout(Duration::from_secs(20))
            .output()
            .expect("the binary starts");
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {}", shown(&output));
        assert!(
            said.starts_with("longwire: ") && said.contains(right),
            "{arguments:?}: {said}"
        );
    }
}

/// The password is in a misplaced argument.
#[test]
fn a_mistake_shows_no_password() {
    for arguments in [
        &["postgres://app:hunter2@db1/shop"][..],
        &["link", "40ms", "postgres://app:hunter2@db1/shop"],
        &["read", "postgres://app:hunter2@db1/shop"],
        &["ping", "--password=hunter2", "postgres://db1"],
    ] {
        let output = bounded(arguments)
            .timeout(Duration::from_secs(20))
            .output()
            .expect("the binary starts");
        assert_eq!(output.status.code(), Some(2), "{}", shown(&output));
        assert!(!stderr(&output).contains("hunter2"), "{}", shown(&output));
    }
}

#[test]
fn an_earlier_name_is_understood_with_a_warning() {
    let output = bounded(&["ping", "tcp://127.0.0.1:9", "-c", "1", "-W", "100ms"])
        .timeout(Duration::from_secs(20))
        .output()
        .expect("the binary starts");
    let said = stderr(&output);
    assert!(said.contains("longwire: warning: -c of ping is -n now"), "{said}");
    assert!(!said.contains("unexpected argument"), "{said}");
    let behind = bounded(&["link", "1ms", "--", "sh", "-c", "exit 3"])
        .timeout(Duration::from_secs(20))
        .output()
        .expect("the binary starts");
    assert!(!stderr(&behind).contains("warning: -c"), "{}", shown(&behind));
}

#[test]
fn a_missing_program_is_127_everywhere() {
    let target = "http://127.0.0.1:9";
    for arguments in [
        &["watch", target][..],
        &["relay", target],
        &["link", "1ms"],
        &["keys", "-o", "/dev/null"],
    ] {
        for (program, status) in [("/no/such/program", 127), ("/etc/passwd", 126)] {
            if arguments[0] == "keys" {
                continue;
            }
            let arguments = [arguments, &["--", program]].concat();
            let output = bounded(&arguments)
                .timeout(Duration::from_secs(20))
                .output()
                .expect("the binary starts");
            assert_eq!(
                output.status.code(),
                Some(status),
                "{arguments:?}: {}",
                shown(&output)
            );
            assert!(
                stderr(&output).contains(&format!("could not start {program}")),
                "{}",
                shown(&output)
            );
        }
    }
}

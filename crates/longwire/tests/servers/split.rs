//! `longwire split` and `longwire echo` with real servers.

use serde_json::Value;
use std::time::Duration;
use testbed::binary::{self, done, longwire, of_type, refused, run};
use testbed::floor::told_on_failure;
use testbed::{MariaDb, Postgres, Started};

fn records(arguments: &[&str]) -> Vec<Value> {
    let output = run(&[arguments, &["--json"]].concat());
    done(&output);
    binary::records(&output)
}

fn listening() -> (Started, String) {
    let mut command = longwire(&["echo", "--listen", "127.0.0.1:0"]);
    let (started, address) = Started::listening(&mut command, " listens on ");
    (started, address.to_string())
}

#[test]
#[ignore = "timing: make test runs it alone"]
fn parts_sum_to_the_transaction_and_a_link_is_predicted_and_measured() {
    let _floor = told_on_failure();
    let server = Postgres::start();
    let target = server.url();
    let short = ["split", &target, "-c", "1,4", "-T", "500ms", "--rounds", "3"];
    let records = records(&[&short[..], &["--link", "rtt=30ms", "--verify"]].concat());
    let splits = of_type(&records, "split");
    assert_eq!(splits.len(), 2, "{records:#?}");
    for split in splits {
        let number = |key: &str| split[key].as_f64().unwrap_or_else(|| panic!("{key}: {split}"));
        assert!(
            (number("turns") - 1.0).abs() < 0.01,
            "select 1 is one round trip: {split}"
        );
        // `Query` with `select 1`: 5 + 9 bytes.
        assert!((number("request_bytes") - 14.0).abs() < 0.1, "{split}");
        assert!(number("reply_bytes") > 40.0, "{split}");
        assert_eq!(split["round_trip_source"], "own_echo");
        let transaction = number("transaction_ns");
        assert!((number("clients") * 1e9 / transaction / number("per_second") - 1.0).abs() < 0.001);
        for part in ["client", "network", "server"] {
            assert!(
                number(&format!("{part}_low_ns")) <= number(&format!("{part}_ns")),
                "{split}"
            );
            assert!(
                number(&format!("{part}_ns")) <= number(&format!("{part}_high_ns")),
                "{split}"
            );
        }
        assert!(
            number("network_high_ns") <= number("transaction_high_ns"),
            "{split}"
        );
        let parts =
            ["client_ns", "network_ns", "server_ns"].map(|key| split[key].as_u64().expect("a number"));
        assert_eq!(
            Some(parts.iter().sum()),
            split["transaction_ns"].as_u64(),
            "the parts shown are one round's: {split}"
        );
    }
    for place in of_type(&records, "elsewhere") {
        let transaction = Duration::from_nanos(place["transaction_ns"].as_u64().expect("a number"));
        let wide = Duration::from_millis(29)..Duration::from_millis(60);
        assert!(wide.contains(&transaction), "{place}");
        if place["base"] == "emulated_link" {
            let measured = place["measured_ns"].as_u64().expect("it was measured");
            assert!(wide.contains(&Duration::from_nanos(measured)), "{place}");
            assert!(
                place["error_share"].as_f64().expect("a number").abs() < 0.5,
                "{place}"
            );
        }
    }
    assert_eq!(of_type(&records, "elsewhere").len(), 4, "{records:#?}");
    assert_eq!(of_type(&records, "link").len(), 1, "{records:#?}");
}

#[test]
fn round_trips_come_from_the_echo_that_is_named() {
    let (server, (_listener, echo)) = (MariaDb::start(), listening());
    let target = server.url();
    let short = ["split", &target, "-c", "2", "-T", "500ms", "--rounds", "1"];
    let with_echo = ["--echo", &echo, "--link-echo", &echo];
    let records = records(&[&short[..], &with_echo].concat());
    let split = of_type(&records, "split")[0];
    assert_eq!(
        (&split["round_trip_source"], &split["clients"]),
        (&"echo".into(), &2.into())
    );
    let elsewhere = of_type(&records, "elsewhere");
    assert_eq!(elsewhere.len(), 1, "{records:#?}");
    assert_eq!(elsewhere[0]["place"], format!("echo {echo}"));
    assert_eq!(elsewhere[0]["predicted_client"], "longwire");
    let refused = elsewhere[0]["refused"].as_str().expect("one round is too few");
    assert!(refused.contains("--rounds 3"), "{refused}");
    assert!(elsewhere[0].get("per_second").is_none(), "{}", elsewhere[0]);
    let view = binary::bounded(
        &[
            &short[..],
            &["--level", "stream", "--verify", "--link", "rtt=4ms", "--all"],
        ]
        .concat(),
    )
    .assert()
    .success();
    let text = String::from_utf8_lossy(&view.get_output().stdout).into_owned();
    for words in [
        "Proved over emulated links",
        "network = round trips x round-trip time",
        "rtt=4ms",
    ] {
        assert!(text.contains(words), "'{words}' is missing in: {text}");
    }
}

#[test]
fn a_unix_socket_has_an_echo_of_its_kind_and_no_network() {
    let (postgres, mariadb) = (Postgres::start(), MariaDb::start());
    let (user, database) = (Postgres::USER, Postgres::DATABASE);
    let (folder, port) = (postgres.socket_directory().display(), postgres.port());
    let urls = [
        format!("postgresql://{user}@/{database}?host={folder}&port={port}"),
        format!(
            "mysql://{}:{}@/{}?socket={}",
            MariaDb::USER,
            MariaDb::PASSWORD,
            MariaDb::DATABASE,
            mariadb.socket().display()
        ),
    ];
    for url in &urls {
        let short = [
            "split", url, "-c", "1,4", "-T", "500ms", "--rounds", "3", "--link", "rtt=20ms",
        ];
        let records = records(&short);
        let splits = of_type(&records, "split");
        assert_eq!(splits.len(), 2, "{records:#?}");
        for split in splits {
            assert_eq!(split["round_trip_source"], "unix_socket", "{split}");
            for key in ["rtt_ns", "transaction_ns"] {
                assert!(split[key].as_u64() > Some(0), "{split}");
            }
        }
        for place in of_type(&records, "elsewhere") {
            let transaction = place["transaction_ns"].as_u64();
            let is_refused = place["refused"].is_string();
            assert!(is_refused || transaction > Some(20_000_000), "{place}");
        }
        let output = run(&["split", url, "-c", "1", "-T", "500ms", "--rounds", "1"]);
        done(&output);
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        for words in [
            "is the local socket, with 1 client",
            "the server is behind a Unix socket",
        ] {
            assert!(text.contains(words), "'{words}' is missing in: {text}");
        }
        refused(
            &["split", url, "--verify"],
            &["a Unix socket cannot be put behind a link"],
        );
        refused(
            &["split", url, "--echo", "127.0.0.1:1"],
            &["an echo measures TCP"],
        );
    }
}

#[test]
fn what_cannot_be_split_is_refused_in_a_line() {
    let nobody = "postgres://app:hunter2@127.0.0.1:1/shop";
    refused(&["split", nobody, "-c", "0"], &["0 is not in 1..=1000"]);
    refused(&["split", nobody], &["127.0.0.1:1", "refused"]);
    refused(&["split", nobody, "--builtin", "nothing"], &["select-only"]);
    refused(&["split", nobody, "-f", "no-such-file"], &["no-such-file"]);
    refused(&["split", nobody, "-T", "1us"], &["-T"]);
    refused(&["split", "http://127.0.0.1:1/"], &["http"]);
    refused(&["split", nobody, "--link", "rtt=soon"], &["rtt"]);
}

#[test]
fn echo_answers_and_tells_what_is_wrong() {
    let (_listener, echo) = listening();
    let swept = records(&[
        "echo",
        &echo,
        "--request",
        "8..32:*2",
        "--streams",
        "1,3",
        "-T",
        "200ms",
    ]);
    assert_eq!(of_type(&swept, "echo").len(), 6);
    let one = records(&["echo", &echo, "-T", "500ms"]);
    let summary = of_type(&one, "summary")[0];
    for key in ["p50_ns", "per_second", "errors", "floor_ns"] {
        assert!(summary[key].is_number(), "{key}: {summary}");
    }
    let bulk = records(&["echo", &echo, "--bulk", "-T", "500ms"]);
    assert_eq!(of_type(&bulk, "bulk").len(), 2);
    refused(
        &["echo", &echo, "--request", "9GiB"],
        &["bytes of a message must be 1 to"],
    );
    refused(&["echo", &echo, "--streams", "0"], &["streams must be 1 to"]);
    refused(
        &["echo", "127.0.0.1:1"],
        &["refused", "longwire echo --listen 127.0.0.1:1"],
    );
    refused(&["echo"], &["ADDR"]);
}

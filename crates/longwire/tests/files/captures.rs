//! `longwire read --json` on all of `data/captures`, compared with tshark's counts
//! (`data/captures.tsv`).

use serde_json::Value;
use std::path::{Path, PathBuf};
use testbed::binary::{done, of_type, records, run};

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data")
        .join(name)
}

struct Expected {
    file: String,
    packets: u64,
    connections: u64,
    turns: u64,
    greetings: u64,
    client_payload: u64,
    server_payload: u64,
    statement_packets: Option<u64>,
}

fn expected() -> Vec<Expected> {
    let text = std::fs::read_to_string(data("captures.tsv")).expect("captures.tsv is next to this test");
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let captures: Vec<Expected> = lines.map(parse).collect();
    assert!(captures.len() > 30, "captures.tsv lists the captures");
    captures
}

fn parse(line: &str) -> Expected {
    let cells: Vec<&str> = line.split('\t').collect();
    let number = |index: usize| cells[index].parse().expect("captures.tsv holds numbers");
    Expected {
        file: cells[0].to_owned(),
        packets: number(1),
        connections: number(2),
        turns: number(3),
        greetings: number(4),
        client_payload: number(5),
        server_payload: number(6),
        statement_packets: cells[7].parse().ok(),
    }
}

fn read_records(file: &str, more: &[&str]) -> Vec<Value> {
    let file = data("captures").join(file).display().to_string();
    let output = run(&[&["read", "--json"], more, &[&file]].concat());
    done(&output);
    records(&output)
}

fn sum<'a>(records: impl IntoIterator<Item = &'a Value>, key: &str) -> u64 {
    records
        .into_iter()
        .map(|record| {
            record[key]
                .as_u64()
                .unwrap_or_else(|| panic!("{key} is missing in {record}"))
        })
        .sum()
}

#[test]
fn turns_packets_and_bytes_are_those_on_the_wire() {
    for capture in expected() {
        let records = read_records(&capture.file, &[]);
        let connections = || of_type(&records, "connection");
        let file = &capture.file;
        assert_eq!(
            connections().len() as u64,
            capture.connections,
            "connections of {file}"
        );
        let turns = capture.turns + capture.connections + capture.greetings;
        assert_eq!(sum(connections(), "turns"), turns, "round trips of {file}");
        let packets = sum(connections(), "client_packets") + sum(connections(), "server_packets");
        assert_eq!(packets, capture.packets, "packets of {file}");
        assert_eq!(
            sum(connections(), "client_payload_bytes"),
            capture.client_payload,
            "client bytes of {file}"
        );
        assert_eq!(
            sum(connections(), "server_payload_bytes"),
            capture.server_payload,
            "server bytes of {file}"
        );
        assert_eq!(records[0]["type"], "conditions");
        let summary = records.last().expect("there is a last record");
        assert_eq!(
            (&summary["type"], &summary["turns"]),
            (&"summary".into(), &turns.into()),
            "summary of {file}"
        );
    }
}

#[test]
fn the_records_of_exchanges_sum_to_their_connection() {
    for capture in expected() {
        let records = read_records(&capture.file, &["--exchanges"]);
        for connection in of_type(&records, "connection") {
            let of_connection = || {
                of_type(&records, "exchange")
                    .into_iter()
                    .filter(|exchange| exchange["connection"] == connection["id"])
            };
            let file = &capture.file;
            assert_eq!(
                sum(of_connection(), "turns"),
                connection["turns"].as_u64().unwrap(),
                "round trips of {file}"
            );
            assert_eq!(
                of_connection().count() as u64,
                connection["exchanges"].as_u64().unwrap(),
                "{file}"
            );
        }
    }
}

#[test]
fn operations_sum_to_the_nanosecond() {
    for capture in expected() {
        for rule in ["connection", "transaction", "gap:50ms", "whole"] {
            for operation in of_type(&read_records(&capture.file, &["--operations", rule]), "operation") {
                let part = |key: &str| operation[key].as_u64().unwrap_or(0);
                let network = part("round_trip_ns") + part("transfer_ns") + part("recovery_ns");
                assert_eq!(part("network_ns"), network, "{operation}");
                let whole = part("client_ns") + part("server_ns") + network + part("unknown_ns");
                assert_eq!(
                    part("duration_ns"),
                    whole,
                    "{} by {rule}: {operation}",
                    capture.file
                );
            }
        }
    }
}

/// A packet may carry several statements (pipelined BEGIN and SELECT, coalesced batch), so tshark's
/// packet count is a lower bound.
#[test]
fn at_least_every_packet_with_a_statement_gives_one() {
    let mut several_in_a_packet = Vec::new();
    for capture in expected() {
        let Some(packets) = capture.statement_packets else {
            continue;
        };
        let statements = sum(
            of_type(&read_records(&capture.file, &[]), "connection"),
            "statements",
        );
        assert!(
            statements >= packets,
            "{}: {statements} statements in {packets} packets",
            capture.file
        );
        if statements > packets {
            several_in_a_packet.push((capture.file, statements - packets));
        }
    }
    let more = |file: &str| {
        several_in_a_packet
            .iter()
            .find(|(name, _)| name == file)
            .map(|(_, more)| *more)
    };
    assert_eq!(more("pgjdbc4274-pg15-trust.pcap"), Some(2));
    assert_eq!(more("pgjdbc4274-pg15-scram.pcap"), Some(2));
    assert_eq!(several_in_a_packet.len(), 4, "{several_in_a_packet:?}");
}

#[test]
fn statements_have_no_literals_unless_they_are_asked_for() {
    let file = "kb860-pg15-simple.pcap";
    let fingerprints: Vec<String> = of_type(&read_records(file, &[]), "statement")
        .into_iter()
        .map(|statement| statement["fingerprint"].as_str().expect("a text").to_owned())
        .collect();
    assert!(
        fingerprints
            .iter()
            .any(|text| text == "insert into t_lw values(?, ?)"),
        "{fingerprints:?}"
    );
    let text = |more: &[&str]| {
        read_records(file, more)
            .iter()
            .map(Value::to_string)
            .collect::<String>()
    };
    assert!(!text(&["--exchanges"]).contains("value-17"));
    assert!(text(&["--exchanges", "--keep-literals"]).contains("value-17"));
}

#[test]
fn redis_commands_are_told_without_their_keys() {
    let records = read_records("redis7-session.pcap", &[]);
    let statements: Vec<(&str, u64)> = of_type(&records, "statement")
        .into_iter()
        .map(|statement| {
            let fingerprint = statement["fingerprint"].as_str().expect("a text");
            (fingerprint, statement["calls"].as_u64().expect("a number"))
        })
        .collect();
    for expected in [
        ("GET ?", 100),
        ("SET ? ?", 5),
        ("MGET ? ? ...", 1),
        ("PING", 1),
        ("BADCMD", 1),
    ] {
        assert!(statements.contains(&expected), "{expected:?}: {statements:?}");
    }
    let versions: Vec<&Value> = of_type(&records, "connection")
        .into_iter()
        .map(|connection| &connection["server_version"])
        .filter(|version| !version.is_null())
        .collect();
    assert_eq!(versions, ["7.0.15"]);
}

#[test]
fn a_batch_that_is_not_rewritten_costs_a_turn_a_row() {
    let records = read_records("mysqljdbc910-mariadb10.11-serverprep-cursor.pcap", &[]);
    let insert = of_type(&records, "statement")
        .into_iter()
        .find(|statement| statement["fingerprint"] == "insert into t_lw values(?, ?)")
        .expect("the insert is listed");
    assert_eq!(insert["calls"], 200);
    assert_eq!(insert["turns"], 201);
}

#[test]
fn what_is_not_predicted_leaves_all_else_as_it_is() {
    let mut predicted = 0;
    for capture in expected() {
        let bare = |records: Vec<Value>| -> Vec<Value> {
            let is_measured = |record: &Value| {
                let of = record["type"].as_str().unwrap_or_default();
                let kind = record["kind"].as_str().unwrap_or_default();
                let is_of_predictions =
                    of == "warning" && ["unexplained-wait", "not-predicted"].contains(&kind);
                !is_of_predictions && !["conditions", "prediction", "held_prediction"].contains(&of)
            };
            let mut records: Vec<Value> = records.into_iter().filter(is_measured).collect();
            // Savings are replayed together with predictions.
            for finding in records.iter_mut().filter(|record| record["type"] == "finding") {
                let keys = finding.as_object_mut().expect("a record");
                let is_replayed = |key: &str| key.starts_with("saves_") || key.starts_with("remedied_");
                keys.retain(|key, _| !is_replayed(key) || key == "saves_turns");
            }
            records.sort_by_key(|record| (record["type"] == "finding", record.to_string()));
            records
        };
        let without = read_records(&capture.file, &["--rtt", "none"]);
        assert_eq!(of_type(&without, "prediction").len(), 0, "{}", capture.file);
        let with = read_records(&capture.file, &[]);
        predicted += of_type(&with, "prediction").len();
        assert_eq!(bare(without), bare(with), "{}", capture.file);
    }
    assert!(predicted > 30, "{predicted} predictions without being asked");
}

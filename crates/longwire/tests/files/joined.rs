//! Captures of a page behind a pool of two connections, whole and cut. The whole capture includes
//! the handshakes and provides the truth for the cut one, which joins connections mid-stream.
//!
//! Python's http.server, psycopg_pool, PostgreSQL 15 behind `longwire link rtt=5ms`, taken in the
//! link's namespace (`pool-behind-5ms.pcap`), and without the link (`pool-on-loopback.pcap`).

use serde_json::Value;
use std::collections::HashMap;
use std::path::Path;
use testbed::binary::{self, of_type};

fn whole(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data/joined")
        .join(name);
    std::fs::read(path).expect("the capture is next to this test")
}

fn packets(capture: &[u8]) -> Vec<&[u8]> {
    let mut rest = &capture[24..];
    let mut packets = Vec::new();
    while rest.len() >= 16 {
        let length = u32::from_le_bytes(rest[8..12].try_into().expect("four bytes")) as usize;
        let (packet, others) = rest.split_at(16 + length);
        packets.push(packet);
        rest = others;
    }
    packets
}

fn begun_later(capture: &[u8], tenths: usize, wanted: impl Fn(&[u8]) -> bool) -> Vec<u8> {
    let packets = packets(capture);
    let from = packets.len() * tenths / 10;
    let mut cut = capture[..24].to_vec();
    for packet in packets[from..].iter().filter(|packet| wanted(packet)) {
        cut.extend_from_slice(packet);
    }
    cut
}

fn records(capture: Vec<u8>) -> Vec<Value> {
    let output = binary::bounded(&["read", "--json", "--exchanges", "-"])
        .write_stdin(capture)
        .output()
        .expect("the binary starts");
    binary::done(&output);
    binary::records(&output)
}

fn number(record: &Value, key: &str) -> i64 {
    record[key].as_i64().unwrap_or(0)
}

/// By connection and time: first byte and server time.
fn database_exchanges(records: &[Value]) -> HashMap<(String, i64), (i64, Option<i64>)> {
    let clients: HashMap<i64, String> = of_type(records, "opened")
        .into_iter()
        .filter(|opened| opened["server"].as_str().expect("text").ends_with(":5567"))
        .map(|opened| (number(opened, "connection"), opened["client"].to_string()))
        .collect();
    let exchanges = of_type(records, "exchange").into_iter().filter_map(|exchange| {
        let client = clients.get(&number(exchange, "connection"))?.clone();
        let key = (client, number(exchange, "at_ns"));
        Some((
            key,
            (number(exchange, "first_byte_ns"), exchange["server_ns"].as_i64()),
        ))
    });
    exchanges.collect()
}

/// Share of waiting that is unknown, and error of server time.
fn off(truth: &[Value], joined: &[Value]) -> (f64, f64) {
    let (truth, joined) = (database_exchanges(truth), database_exchanges(joined));
    let (mut wait, mut unknown, mut server, mut server_then) = (0, 0, 0, 0);
    let mut common = 0;
    for (key, (first_byte, known)) in joined {
        let Some((_, Some(true_server))) = truth.get(&key) else {
            continue;
        };
        common += 1;
        wait += first_byte;
        server += true_server;
        match known {
            Some(known) => server_then += known,
            None => unknown += first_byte,
        }
    }
    assert!(common > 25, "only {common} exchanges are in both");
    let of_wait = |part: i64| part as f64 / wait as f64;
    (of_wait(unknown), of_wait(server_then - server))
}

fn sources(records: &[Value]) -> Vec<String> {
    let of_database = of_type(records, "connection")
        .into_iter()
        .filter(|connection| connection["server"].as_str().expect("text").ends_with(":5567"));
    of_database
        .map(|connection| connection["rtt_source"].as_str().unwrap_or("none").to_owned())
        .collect()
}

fn has_port(packet: &[u8], port: u16) -> bool {
    packet[16..]
        .windows(2)
        .take(64)
        .any(|bytes| bytes == port.to_be_bytes())
}

#[test]
fn a_pool_joined_in_the_middle_is_split_as_it_was_with_its_handshakes() {
    for name in ["pool-behind-5ms.pcap", "pool-on-loopback.pcap"] {
        let capture = whole(name);
        let truth = records(capture.clone());
        for tenths in [3, 5, 6] {
            let joined = records(begun_later(&capture, tenths, |_| true));
            let (unknown, server) = off(&truth, &joined);
            assert!(unknown < 0.05, "{name} from {tenths}/10 on: {unknown} unknown");
            assert!(
                server.abs() < 0.03,
                "{name} from {tenths}/10 on: server off by {server}"
            );
            let summary = of_type(&joined, "summary").into_iter().next().expect("a summary");
            let all: i64 = ["client_ns", "server_ns", "network_ns", "unknown_ns"]
                .iter()
                .map(|part| number(summary, part))
                .sum();
            assert!(
                number(summary, "unknown_ns") * 20 < all,
                "{name} from {tenths}/10 on: {summary}"
            );
        }
    }
}

#[test]
fn a_round_trip_that_is_only_a_bound_is_said_to_be_one() {
    let capture = whole("pool-behind-5ms.pcap");
    let joined = records(begun_later(&capture, 3, |packet| has_port(packet, 5567)));
    assert_eq!(sources(&joined), ["fastest-reply", "fastest-reply"]);
    let truth = records(capture);
    let (unknown, server) = off(&truth, &joined);
    assert!(
        unknown == 0.0 && (-0.03..=0.0).contains(&server),
        "{unknown} {server}"
    );
    let warned = of_type(&joined, "warning").into_iter().any(|warning| {
        let text = warning["text"].as_str().expect("text");
        text.contains("2 connections without a round-trip time of their own: that of the fastest reply")
            && text.contains("4.92 ms")
    });
    assert!(warned, "{joined:?}");
}

#[test]
fn loopback_has_no_distance_for_a_connection_that_shows_none() {
    let capture = whole("pool-on-loopback.pcap");
    let truth = records(capture.clone());
    let joined = records(begun_later(&capture, 3, |packet| {
        has_port(packet, 5567) && packet.len() > 16 + 14 + 20 + 32
    }));
    assert_eq!(sources(&joined), ["loopback", "loopback"]);
    let (unknown, server) = off(&truth, &joined);
    assert!(
        unknown == 0.0 && (0.0..0.03).contains(&server),
        "{unknown} {server}"
    );
}

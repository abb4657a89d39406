//! Compares figures counted by tuning jobs with a capture of the same run: round trips as `longwire
//! read` reports them, packets as in the file.
#![allow(clippy::unwrap_used, reason = "helpers of tests are tests too")]

use etherparse::{SlicedPacket, TransportSlice};
use model::{Direction, Method, PerDirection, TrialOutcome};
use std::collections::HashMap;
use std::path::Path;
use sys::StopToken;
use sys::Target;
use testbed::binary::{done, longwire, records};
use testbed::capture::CaptureFile;
use testbed::{Capture, MariaDb, Postgres};
use tune::{Shape, Trial};

/// Way, whether its window is limited, and result.
type Told = (String, bool, TrialOutcome);

#[test]
fn turns_and_packets_of_postgresql_are_those_of_a_capture() {
    let server = Postgres::start();
    let (told, capture) = run_all(&server.url(), server.port());
    compare(&told, &capture, server.port());
}

#[test]
fn turns_and_packets_of_mariadb_are_those_of_a_capture() {
    let server = MariaDb::start();
    let (told, capture) = run_all(&server.url(), server.port());
    compare(&told, &capture, server.port());
}

fn run_all(url: &str, port: u16) -> (Vec<Told>, CaptureFile) {
    let stop = StopToken::new().unwrap();
    let mut bench = tune::native(&Target::parse(url).unwrap(), "captured", &stop).unwrap();
    let shape = Shape {
        rows: 301,
        select_rows: 450,
        row_bytes: 322,
        like: None,
    };
    let prepared = bench.prepare(&shape).unwrap();
    let capture = Capture::start(port);
    let mut told = Vec::new();
    for method in &prepared.methods {
        for value in settings(method) {
            let trial = Trial {
                method,
                value,
                address: None,
                watch: None,
            };
            let outcome = bench.run(&trial).unwrap();
            // At a shorter distance, a capture cannot distinguish a full window from a slow server.
            let windowed = method.name.contains("pipeline") && value > Some(1);
            told.push((
                format!("{} {} {value:?}", method.job, method.name),
                windowed,
                outcome,
            ));
        }
    }
    let capture = capture.stop();
    bench.clean_up().unwrap();
    (told, capture)
}

fn settings(method: &Method) -> Vec<Option<u64>> {
    let Some(parameter) = &method.parameter else {
        return vec![None];
    };
    let values = [parameter.values[0], parameter.values[parameter.values.len() / 2]];
    values.into_iter().map(Some).collect()
}

#[derive(Debug, Default)]
struct Job {
    turns: u64,
    port: u16,
    span_ns: (u64, u64),
}

fn compare(told: &[Told], capture: &CaptureFile, port: u16) {
    let jobs = jobs(&capture.path());
    assert_eq!(jobs.len(), told.len());
    let packets = packets(&capture.path(), port);
    for ((place, windowed, outcome), job) in told.iter().zip(jobs) {
        let turns = outcome.turns.unwrap();
        if !windowed {
            assert_eq!(turns, job.turns, "{place}");
        }
        let seen = PerDirection::from_fn(|direction| {
            let all = packets.get(&job.port).into_iter().flatten();
            let in_span = all.filter(|packet| (job.span_ns.0..=job.span_ns.1).contains(&packet.0));
            in_span.filter(|packet| packet.1 == direction).count() as u64
        });
        let counted = outcome.packets.unwrap();
        for direction in Direction::ALL {
            // A pure acknowledgement at either end of the job may fall outside.
            let apart = counted[direction].abs_diff(seen[direction]);
            assert!(
                apart <= 2 + seen[direction] / 50,
                "{place}: {counted:?} counted, {seen:?} seen"
            );
        }
    }
}

/// Jobs in the order of their runs: on each connection with a transaction, the packets within it.
fn jobs(capture: &Path) -> Vec<Job> {
    let mut command = longwire(&["read", "--json", "--exchanges"]);
    let output = command.arg(capture).output().expect("the binary starts");
    done(&output);
    let records = records(&output);
    let ports: HashMap<u64, u16> = records
        .iter()
        .filter(|record| record["type"] == "connection")
        .map(|record| {
            let client = record["client"].as_str().unwrap();
            let port = client.rsplit(':').next().unwrap().parse().unwrap();
            (record["id"].as_u64().unwrap(), port)
        })
        .collect();
    let mut open: HashMap<u64, Job> = HashMap::new();
    let mut jobs = Vec::new();
    for record in records.iter().filter(|record| record["type"] == "exchange") {
        let connection = record["connection"].as_u64().unwrap();
        let word = record["fingerprint"].as_str().unwrap_or_default().to_lowercase();
        let at = record["at_ns"].as_u64().unwrap();
        if word == "begin" {
            open.insert(
                connection,
                Job {
                    span_ns: (at, at),
                    ..Job::default()
                },
            );
        }
        let Some(job) = open.get_mut(&connection) else {
            continue;
        };
        job.turns += record["turns"].as_u64().unwrap();
        if word == "commit" {
            let part = |key: &str| record[key].as_u64().unwrap_or_default();
            job.span_ns.1 = at + part("request_ns") + part("first_byte_ns") + part("reply_ns");
            job.port = ports[&connection];
            jobs.extend(open.remove(&connection));
        }
    }
    jobs.sort_by_key(|job| job.span_ns.0);
    jobs
}

/// Time and direction of each packet, by the client's port.
fn packets(capture: &Path, server: u16) -> HashMap<u16, Vec<(u64, Direction)>> {
    let bytes = std::fs::read(capture).unwrap();
    let word = |at: usize| u64::from(u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap()));
    let mut packets: HashMap<u16, Vec<(u64, Direction)>> = HashMap::new();
    let mut at = 24;
    while at + 16 <= bytes.len() {
        let time = word(at) * 1_000_000_000 + word(at + 4);
        let length = word(at + 8) as usize;
        let packet = SlicedPacket::from_ethernet(&bytes[at + 16..at + 16 + length]).unwrap();
        at += 16 + length;
        if let Some(TransportSlice::Tcp(tcp)) = packet.transport {
            let back = tcp.source_port() == server;
            let (client, direction) = if back {
                (tcp.destination_port(), Direction::ServerToClient)
            } else {
                (tcp.source_port(), Direction::ClientToServer)
            };
            packets.entry(client).or_default().push((time, direction));
        }
    }
    packets
}

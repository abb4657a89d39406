//! Counts agree with tshark's, connection by connection.

#![allow(clippy::disallowed_types, reason = "the test asks tshark, which is a process")]

mod support;

use model::{Direction, PerDirection};
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use support::build::{self, Frame, NANO, Tcp, tcp};
use support::read_bytes;

type Counts = BTreeMap<u32, (PerDirection<u64>, PerDirection<u64>, PerDirection<u64>, u64)>;

/// tshark numbers streams like connections, in the order of their first packets. Its sequence
/// numbers count from the SYN's, so the highest one is the payload.
fn tshark(path: &Path) -> Counts {
    let fields = [
        "tcp.stream",
        "tcp.srcport",
        "frame.len",
        "tcp.seq",
        "tcp.len",
        "tcp.analysis.retransmission",
    ];
    let mut command = Command::new("tshark");
    command
        .arg("-n")
        .arg("-r")
        .arg(path)
        .args(["-Y", "tcp", "-T", "fields"]);
    for field in fields {
        command.args(["-e", field]);
    }
    let output = command
        .output()
        .expect("tshark runs: it is installed by `make test`, or by `apt install tshark`");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let mut counts = Counts::new();
    let mut first_ports = BTreeMap::new();
    for line in String::from_utf8(output.stdout).expect("text").lines() {
        let fields: Vec<&str> = line.split('\t').collect();
        let number = |index: usize| fields[index].parse::<u64>().expect("a number");
        let stream = number(0) as u32;
        let direction = match *first_ports.entry(stream).or_insert(number(1)) == number(1) {
            true => Direction::ClientToServer,
            false => Direction::ServerToClient,
        };
        let entry = counts.entry(stream).or_default();
        entry.0[direction] += 1;
        entry.1[direction] += number(2);
        if number(4) > 0 {
            entry.2[direction] = entry.2[direction].max(number(3) + number(4) - 1);
        }
        entry.3 += u64::from(!fields[5].is_empty());
    }
    assert!(!counts.is_empty(), "tshark saw no TCP packet");
    counts
}

/// tshark's first endpoint is the client, if the capture begins with the SYN.
fn ours(bytes: &[u8]) -> Counts {
    let (observed, _) = read_bytes(bytes).expect("a capture");
    let counts = observed.iter().map(|observed| {
        let totals = observed.totals();
        let packets = totals.packets.expect("counted");
        let wire_bytes = totals.wire_bytes.expect("counted");
        (
            packets,
            wire_bytes,
            totals.payload_bytes,
            totals.retransmitted_packets.expect("counted"),
        )
    });
    (0..).zip(counts).collect()
}

#[test]
fn every_capture_counts_as_tshark_counts() {
    for name in support::all_data() {
        assert_eq!(
            ours(&support::data(&name)),
            tshark(&support::data_path(&name)),
            "{name}"
        );
    }
}

/// A reply of 300 kB through a queue of 20 kB on loopback at 60 Mbit/s, captured after the queue.
/// Most retransmitted bytes were not seen before.
#[test]
fn a_lossy_capture_counts_as_tshark_counts() {
    let name = "snapped/lossy.pcap";
    let counts = ours(&support::data(name));
    assert_eq!(counts, tshark(&support::data_path(name)));
    assert!(counts[&0].3 > 50);
    let (observed, _) = read_bytes(&support::data(name)).expect("a capture");
    assert!(!observed[0].recoveries.is_empty());
}

#[test]
fn retransmissions_count_as_tshark_counts() {
    let mut packets = build::handshake();
    packets.insert(
        1,
        Tcp {
            at_us: 200,
            identification: 7,
            ..packets[0].clone()
        },
    );
    for number in 0..10u32 {
        let at = 10_000_000 * u64::from(number + 1);
        let (client, server) = (1001 + 6 * number, 5001 + 3 * number);
        packets.push(tcp(at, true, "PA", client, server).with(b"select"));
        if number % 3 == 0 {
            packets.push(tcp(at + 300_000, true, "PA", client, server).with(b"select"));
        }
        packets.push(tcp(at + 400_000, false, "PA", server, client + 6).with(b"row"));
        if number % 4 == 0 {
            packets.push(tcp(at + 900_000, false, "PA", server, client + 6).with(b"row"));
        }
        packets.push(tcp(at + 900_100, true, "A", client + 6, server + 3));
        packets.push(tcp(at + 5_000_000, true, "A", client + 5, server + 3).with(b"\0"));
        packets.push(tcp(at + 5_000_100, false, "A", server + 3, client + 6));
    }
    packets.push(tcp(200_000_000, true, "FA", 1061, 5031));
    packets.push(tcp(201_000_000, true, "FA", 1061, 5031));
    packets.push(tcp(201_000_300, false, "FA", 5031, 1062));
    let frames: Vec<Frame> = packets.iter().map(Tcp::frame).collect();
    let bytes = build::pcap(NANO, &frames);
    let mut file = tempfile::NamedTempFile::new().expect("file");
    std::io::Write::write_all(&mut file, &bytes).expect("written");
    let counted = ours(&bytes);
    assert_eq!(counted, tshark(file.path()));
    assert_eq!(counted[&0].3, 1 + 4 + 3 + 1);
}

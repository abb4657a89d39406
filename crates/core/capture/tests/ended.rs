//! Connections after their end: late packets count, and new payload is another connection's.

mod support;

use model::{Closing, Direction, PerDirection};
use support::build::{self, Tcp, tcp};
use support::read_flawless;

/// A request and its reply, and the end of both sides.
fn ended() -> Vec<Tcp> {
    let mut packets = build::handshake();
    packets.extend([
        tcp(1_000, true, "PA", 1001, 5001).with(b"ask"),
        tcp(2_000, false, "PA", 5001, 1004).with(b"answer"),
        tcp(3_000, true, "FA", 1004, 5007),
        tcp(3_300, false, "FA", 5007, 1005),
        tcp(3_400, true, "A", 1005, 5008),
    ]);
    packets
}

/// Nothing in between, and a packet of another kind that shows the time.
#[test]
fn late_packets_count_for_a_connection_that_rests() {
    let again = vec![
        tcp(2 * SECOND, false, "FA", 5007, 1005),
        tcp(2 * SECOND + 100, true, "A", 1005, 5008),
        tcp(5 * SECOND, true, "PA", 1001, 5001).with(b"ask"),
    ];
    let packets: Vec<Tcp> = ended().into_iter().chain(again).collect();
    let all = read_flawless(&build::capture_of(&packets));
    let [connection] = all.as_slice() else {
        panic!("one connection, not {}", all.len());
    };
    assert!(connection.drained);
    assert_eq!(connection.stream(Direction::ClientToServer), b"ask");
    assert_eq!(connection.how(), Closing::Finished);
    let totals = connection.totals();
    assert_eq!(totals.packets, Some(PerDirection::new(7, 4)));
    assert_eq!(totals.retransmitted_packets, Some(2));
    assert_eq!(totals.payload_bytes, PerDirection::new(3, 6));
    assert_eq!(connection.round_trips.len(), 2, "none of late packets");
}

#[test]
fn a_reset_with_missing_bytes_keeps_what_waits_for_them() {
    let mut packets = build::handshake();
    packets.extend([
        tcp(1_000, true, "PA", 1001, 5001).with(b"ask"),
        tcp(2_000, false, "PA", 5004, 1004).with(b"wer"),
        tcp(3_000, true, "R", 1004, 0),
        tcp(5 * SECOND, false, "A", 5001, 1004),
    ]);
    let (all, _) = support::read_bytes(&build::capture_of(&packets)).expect("a capture");
    assert!(!all[0].drained);
    assert_eq!(all[0].stream(Direction::ServerToClient), b"???wer");
}

#[test]
fn payload_beyond_the_end_opens_the_next_connection() {
    let next = vec![tcp(3 * SECOND, true, "PA", 900_001, 700_001).with(b"hello")];
    let packets: Vec<Tcp> = ended().into_iter().chain(next).collect();
    let (all, report) = support::read_bytes(&build::capture_of(&packets)).expect("a capture");
    assert_eq!((all.len(), report.connections), (2, 2));
    assert_eq!(all[0].stream(Direction::ClientToServer), b"ask");
    assert_eq!(all[1].stream(Direction::ClientToServer), b"hello");
}

const SECOND: u64 = 1_000_000;

//! Handshake, round trips and idleness of senders: the same conversation observed near the client,
//! in the middle and near the server.

mod support;

use model::Direction::{ClientToServer, ServerToClient};
use model::{RttSource, Side};
use std::time::Duration;
use support::build::{self, Tcp, tcp};
use support::{ObservedConnection, read_bytes, read_flawless};

fn us(count: u64) -> Duration {
    Duration::from_micros(count)
}

fn after_handshake(packets: Vec<Tcp>) -> ObservedConnection {
    let mut all = build::handshake();
    all.extend(packets);
    read_bytes(&build::capture_of(&all))
        .expect("a capture")
        .0
        .remove(0)
}

fn rtts(observed: &ObservedConnection, side: Side) -> Vec<u128> {
    observed
        .round_trips
        .iter()
        .filter(|sample| sample.0 == side)
        .map(|sample| sample.1.as_micros())
        .collect()
}

fn server_idle(observed: &ObservedConnection) -> Option<Duration> {
    let last = observed
        .segments
        .iter()
        .rfind(|piece| piece.direction == ServerToClient);
    last.expect("a reply").sender_idle
}

#[test]
fn a_handshake_tells_both_round_trips() {
    let observed = after_handshake(vec![]);
    let handshake = observed.handshake.expect("whole");
    assert_eq!(handshake.syn_ack.since(handshake.syn), us(300));
    assert_eq!(handshake.ack.since(handshake.syn_ack), us(100));
    assert_eq!(
        (rtts(&observed, Side::Server), rtts(&observed, Side::Client)),
        (vec![300], vec![100])
    );
}

#[test]
fn a_syn_sent_again_is_recovery_and_no_sample() {
    let mut packets = build::handshake();
    packets.insert(
        0,
        Tcp {
            at_us: 0,
            identification: 9,
            ..packets[0].clone()
        },
    );
    for packet in &mut packets[1..] {
        packet.at_us += 1_000_000;
    }
    let observed = read_flawless(&build::capture_of(&packets)).remove(0);
    let handshake = observed.handshake.expect("whole");
    assert_eq!(handshake.syn_ack.since(handshake.syn), us(300));
    let [(direction, from, to)] = observed.recoveries[..] else {
        panic!("{:?}", observed.recoveries)
    };
    assert_eq!(
        (direction, to.since(from)),
        (ClientToServer, Duration::from_secs(1))
    );
    assert!(
        rtts(&observed, Side::Server).is_empty(),
        "which SYN was answered cannot be determined"
    );
    assert_eq!(rtts(&observed, Side::Client), [100]);
    assert_eq!(observed.totals().retransmitted_packets, Some(1));
}

#[test]
fn a_syn_sent_again_with_another_sequence_number_is_the_same_connection() {
    for first_is_answered in [false, true] {
        let mut packets = build::handshake();
        for packet in &mut packets {
            packet.at_us += 1_000_000;
        }
        packets.insert(0, tcp(0, true, "S", 77_000_000, 0));
        if first_is_answered {
            packets.insert(1, tcp(300, false, "SA", 99_000_000, 77_000_001));
        }
        packets.push(tcp(1_001_000, true, "PA", 1001, 5001).with(b"select"));
        packets.push(tcp(1_001_300, false, "PA", 5001, 1007).with(b"rows"));
        let observed = read_flawless(&build::capture_of(&packets));
        let [connection] = &observed[..] else {
            panic!("one connection, not {}", observed.len())
        };
        let handshake = connection.handshake.expect("whole");
        let lost: Duration = connection
            .recoveries
            .iter()
            .map(|(_, from, to)| to.since(*from))
            .sum();
        let connecting = handshake.ack.since(handshake.syn) + lost;
        assert!(connecting >= Duration::from_secs(1), "{connecting:?}");
        assert_eq!(connection.stream(ClientToServer), b"select");
        assert_eq!(connection.stream(ServerToClient), b"rows");
    }
}

/// A refused attempt has ended, so the next SYN opens another connection.
#[test]
fn a_syn_after_a_refusal_is_another_connection() {
    let mut packets = vec![
        tcp(0, true, "S", 77_000_000, 0),
        tcp(300, false, "RA", 0, 77_000_001),
    ];
    packets.extend(build::handshake().into_iter().map(|packet| Tcp {
        at_us: packet.at_us + 1_000_000,
        ..packet
    }));
    assert_eq!(read_flawless(&build::capture_of(&packets)).len(), 2);
}

#[test]
fn a_syn_ack_sent_again_is_recovery_of_the_server() {
    let mut packets = build::handshake();
    packets.insert(
        2,
        Tcp {
            at_us: 1_000_300,
            identification: 9,
            ..packets[1].clone()
        },
    );
    packets[3].at_us = 1_000_400;
    let observed = read_flawless(&build::capture_of(&packets)).remove(0);
    let handshake = observed.handshake.expect("whole");
    assert_eq!(
        handshake.syn_ack.since(handshake.syn),
        us(300),
        "the first SYN-ACK counts"
    );
    assert_eq!(handshake.ack.since(handshake.syn_ack), us(1_000_100));
    let [(direction, from, to)] = observed.recoveries[..] else {
        panic!("{:?}", observed.recoveries)
    };
    assert_eq!(
        (direction, to.since(from)),
        (ServerToClient, Duration::from_secs(1))
    );
    assert!(rtts(&observed, Side::Client).is_empty());
}

#[test]
fn answers_that_waited_for_the_server_are_no_round_trip() {
    let observed = after_handshake(vec![
        tcp(1_000, true, "PA", 1001, 5001).with(b"select"),
        tcp(6_000, false, "PA", 5001, 1007).with(b"row"),
        tcp(6_090, true, "A", 1007, 5004),
        tcp(7_000, true, "PA", 1007, 5004).with(b"select"),
        tcp(7_280, false, "PA", 5004, 1013).with(b"row"),
        tcp(48_000, true, "A", 1013, 5007),
    ]);
    assert_eq!(
        rtts(&observed, Side::Server),
        [300, 280],
        "5 ms is the server's own time"
    );
    assert_eq!(
        rtts(&observed, Side::Client),
        [100, 90],
        "40 ms is a delayed acknowledgement"
    );
}

#[test]
fn retransmitted_bytes_are_no_round_trip() {
    let observed = after_handshake(vec![
        tcp(1_000, true, "PA", 1001, 5001).with(b"select"),
        tcp(201_000, true, "PA", 1001, 5001).with(b"select"),
        tcp(201_010, false, "A", 5001, 1007),
    ]);
    assert_eq!(rtts(&observed, Side::Server), [300]);
}

#[test]
fn two_full_packets_tell_a_longer_way() {
    let full = vec![b'x'; 1460];
    let observed = after_handshake(vec![
        tcp(1_000, true, "A", 1001, 5001).with(&full),
        tcp(1_010, true, "A", 2461, 5001).with(&full),
        tcp(51_010, false, "A", 5001, 3921),
    ]);
    assert_eq!(rtts(&observed, Side::Server), [300, 50_000]);
}

#[test]
fn a_sender_that_ran_dry_was_idle() {
    let observed = after_handshake(vec![
        tcp(1_000, true, "PA", 1001, 5001).with(b"select"),
        tcp(2_000, false, "PA", 5001, 1007).with(b"first row"),
        tcp(5_000, false, "PA", 5010, 1007).with(b"second row"),
    ]);
    assert_eq!(server_idle(&observed), Some(us(3_000)));
    assert_eq!(
        observed.segments[0].sender_idle, None,
        "nothing is known of the time before the first payload"
    );
    assert_eq!(observed.segments[1].sender_idle, None);
}

#[test]
fn a_sender_in_the_middle_of_a_burst_was_not_idle() {
    let full = vec![b'x'; 1460];
    let mut packets = vec![tcp(1_000, true, "PA", 1001, 5001).with(b"select")];
    for number in 0..3u32 {
        packets.push(
            tcp(
                2_000 + 500 * u64::from(number),
                false,
                "A",
                5001 + 1460 * number,
                1007,
            )
            .with(&full),
        );
    }
    let observed = after_handshake(packets);
    assert_eq!(
        server_idle(&observed),
        Some(Duration::ZERO),
        "full packets, not acknowledged: window or rate"
    );
}

#[test]
fn an_acknowledgement_that_lets_the_sender_go_on_ends_no_idleness() {
    let full = vec![b'x'; 1460];
    let burst = |at: u64, sequence: u32| {
        vec![
            tcp(at, false, "A", sequence, 1007).with(&full),
            tcp(at + 10, false, "A", sequence + 1460, 1007).with(&full),
        ]
    };
    for (resumed, idle) in [(2_420, 0), (9_410, 7_000)] {
        let mut packets = vec![tcp(1_000, true, "PA", 1001, 5001).with(b"select")];
        packets.extend(burst(2_000, 5001));
        packets.push(tcp(2_110, true, "A", 1007, 7921));
        packets.extend(burst(resumed, 7921));
        let observed = after_handshake(packets);
        let third = observed
            .segments
            .iter()
            .filter(|piece| piece.direction == ServerToClient)
            .nth(2)
            .expect("four");
        // The server's side is 300 us away: its response to the acknowledgement passes here at
        // 2410.
        assert_eq!(third.sender_idle, Some(us(idle)));
    }
}

#[test]
fn nagle_is_no_idleness() {
    let observed = after_handshake(vec![
        tcp(1_000, true, "PA", 1001, 5001).with(b"select"),
        tcp(2_000, false, "PA", 5001, 1007).with(b"first half"),
        tcp(42_000, true, "A", 1007, 5011),
        tcp(42_305, false, "PA", 5011, 1007).with(b"second half"),
    ]);
    assert_eq!(server_idle(&observed), Some(Duration::ZERO));
}

#[test]
fn a_used_up_window_is_no_idleness() {
    let observed = after_handshake(vec![
        Tcp {
            window: 12,
            ..tcp(1_000, true, "PA", 1001, 5001).with(b"select")
        },
        tcp(2_000, false, "PA", 5001, 1007).with(b"twelve bytes"),
        tcp(9_000, true, "A", 1007, 5013),
        tcp(12_000, false, "PA", 5013, 1007).with(b"rest"),
    ]);
    assert_eq!(server_idle(&observed), Some(Duration::ZERO));
}

/// On loopback a full packet is nearly as large as the first window, so there is hardly ever room
/// for one.
#[test]
fn room_for_what_was_sent_is_room_enough() {
    let observed = read_flawless(&support::data("mysql-cursor.pcap")).remove(0);
    let mut server = observed
        .segments
        .iter()
        .filter(|piece| piece.direction == ServerToClient);
    let (greeting, ready) = (
        server.next().expect("greeting"),
        server.next().expect("login's answer"),
    );
    assert_eq!(ready.sender_idle, Some(ready.at.since(greeting.at)));
}

#[test]
fn recovery_is_no_idleness() {
    let observed = after_handshake(vec![
        tcp(1_000, true, "PA", 1001, 5001).with(b"select"),
        tcp(2_000, false, "PA", 5001, 1007).with(b"row"),
        tcp(202_000, false, "PA", 5001, 1007).with(b"row"),
        tcp(202_200, true, "A", 1007, 5004),
        tcp(203_000, false, "PA", 5004, 1007).with(b"more"),
    ]);
    assert_eq!(server_idle(&observed), Some(Duration::ZERO));
}

#[test]
fn times_after_repeated_losses_do_not_overlap() {
    let observed = after_handshake(vec![
        tcp(1_000, true, "PA", 1001, 5001).with(b"aaaa"),
        tcp(1_010, true, "PA", 1005, 5001).with(b"bbbb"),
        tcp(201_000, true, "PA", 1001, 5001).with(b"aaaa"),
        tcp(201_010, true, "PA", 1005, 5001).with(b"bbbb"),
        tcp(601_000, true, "PA", 1001, 5001).with(b"aaaa"),
        tcp(601_300, false, "A", 5001, 1009),
    ]);
    let times: Vec<(u64, u64)> = observed
        .recoveries
        .iter()
        .map(|(_, from, to)| (from.as_nanos() - build::EPOCH, to.as_nanos() - build::EPOCH))
        .collect();
    assert_eq!(
        times,
        [
            (1_000_000, 201_000_000),
            (201_000_000, 201_010_000),
            (201_010_000, 601_000_000)
        ]
    );
    assert_eq!(observed.totals().retransmitted_packets, Some(3));
}

#[test]
fn a_capture_at_the_client_in_the_middle_and_at_the_server_agree() {
    // 20 ms one way; server time 5 ms, then 3 ms inside the reply.
    let conversation = |before_us: u64| {
        let server_way = 20_000 - before_us;
        let (to, from) = (before_us, before_us + 2 * server_way);
        let mut packets = vec![
            tcp(to, true, "S", 1000, 0),
            tcp(from, false, "SA", 5000, 1001),
            tcp(from + 2 * before_us, true, "A", 1001, 5001),
        ];
        let sent = 100_000;
        packets.push(tcp(sent + to, true, "PA", 1001, 5001).with(b"select"));
        packets.push(tcp(sent + from + 5_000, false, "PA", 5001, 1007).with(b"first row"));
        packets.push(tcp(sent + from + 8_000, false, "PA", 5010, 1007).with(b"second row"));
        packets.push(tcp(sent + from + 8_000 + 2 * before_us, true, "A", 1007, 5020));
        packets.sort_by_key(|packet| packet.at_us);
        read_flawless(&build::capture_of(&packets)).remove(0)
    };
    for before in [0, 10_000, 20_000] {
        let observed = conversation(before);
        let handshake = observed.handshake.expect("whole");
        assert_eq!(handshake.ack.since(handshake.syn), us(40_000));
        let least =
            |side| u64::try_from(rtts(&observed, side).into_iter().min().expect("sampled")).expect("small");
        assert_eq!(
            (least(Side::Client), least(Side::Server)),
            (2 * before, 40_000 - 2 * before)
        );
        assert_eq!(server_idle(&observed), Some(us(3_000)));
    }
}

/// Open before the capture: two exchanges, each acknowledged only by the next packet.
fn midway() -> Vec<Tcp> {
    vec![
        tcp(1_000, true, "PA", 1001, 5001).with(b"select"),
        tcp(1_900, false, "PA", 5001, 1007).with(b"row"),
        tcp(2_000, true, "PA", 1007, 5004).with(b"select"),
        tcp(2_700, false, "PA", 5004, 1013).with(b"row"),
        tcp(2_800, true, "PA", 1013, 5007).with(b"select"),
        tcp(3_900, false, "PA", 5007, 1019).with(b"row"),
    ]
}

#[test]
fn a_connection_open_before_has_the_fastest_answer_between_its_hosts_from_its_first_request_on() {
    let observed = read_bytes(&build::capture_of(&midway()))
        .expect("a capture")
        .0
        .remove(0);
    assert!(observed.round_trips.is_empty(), "{:?}", observed.round_trips);
    assert_eq!(
        observed.assumed[..2],
        [
            (Side::Client, us(100), RttSource::FastestReply),
            (Side::Server, us(700), RttSource::FastestReply),
        ],
        "reported before the first request"
    );
}

#[test]
fn a_connection_open_before_has_the_round_trip_of_another_between_its_hosts() {
    let mut frames: Vec<_> = midway().iter().map(Tcp::frame).collect();
    for packet in build::handshake() {
        let later = Tcp {
            at_us: packet.at_us + 4_000,
            ..packet
        };
        frames.push(later.frame_between("10.0.0.1:40001", "10.0.0.2:6379"));
    }
    let observed = read_bytes(&build::pcap(build::PLAIN, &frames))
        .expect("a capture")
        .0
        .remove(0);
    assert_eq!(
        observed.assumed[..2],
        [
            (Side::Client, us(100), RttSource::SameHosts),
            (Side::Server, us(300), RttSource::SameHosts),
        ]
    );
}

#[test]
fn the_answer_to_a_keep_alive_is_a_round_trip() {
    let mut packets = midway();
    packets.push(tcp(30_000, true, "A", 1019, 5010));
    packets.push(tcp(100_000, true, "A", 1018, 5010));
    packets.push(tcp(100_400, false, "A", 5010, 1019));
    let observed = read_bytes(&build::capture_of(&packets))
        .expect("a capture")
        .0
        .remove(0);
    assert_eq!(rtts(&observed, Side::Server), [400]);
}

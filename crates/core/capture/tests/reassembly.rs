//! Bytes of each direction exactly once and in order, for any order of packets.

mod support;

use model::Direction::{ClientToServer, ServerToClient};
use model::{Closing, PerDirection};
use proptest::prelude::*;
use std::time::Duration;
use support::build::{self, Frame, NANO, Tcp, tcp};
use support::{ObservedConnection, read_bytes, read_flawless};

fn one(bytes: &[u8]) -> (ObservedConnection, Vec<String>) {
    let (mut observed, report) = read_bytes(bytes).expect("a capture");
    assert_eq!(observed.len(), 1, "{observed:?}");
    (
        observed.remove(0),
        report.warnings.into_iter().map(|warning| warning.text).collect(),
    )
}

fn after_handshake(packets: Vec<Tcp>) -> Vec<u8> {
    let mut all = build::handshake();
    all.extend(packets);
    build::capture_of(&all)
}

#[test]
fn a_retransmission_is_counted_and_not_delivered_twice() {
    let (observed, warnings) = one(&after_handshake(vec![
        tcp(1_000, true, "PA", 1001, 5001).with(b"abcd"),
        tcp(201_000, true, "PA", 1001, 5001).with(b"abcd"),
        tcp(201_400, false, "A", 5001, 1005),
    ]));
    assert_eq!(observed.stream(ClientToServer), b"abcd");
    assert_eq!(observed.totals().retransmitted_packets, Some(1));
    let [(direction, from, to)] = observed.recoveries[..] else {
        panic!("{:?}", observed.recoveries)
    };
    assert_eq!(
        (direction, to.since(from)),
        (ClientToServer, Duration::from_millis(200))
    );
    assert!(warnings.is_empty(), "{warnings:?}");
}

#[test]
fn an_overlap_keeps_the_first_copy() {
    let (observed, _) = one(&after_handshake(vec![
        tcp(1_000, true, "PA", 1001, 5001).with(b"abcd"),
        tcp(2_000, true, "PA", 1003, 5001).with(b"XXef"),
        tcp(3_000, true, "PA", 1011, 5001).with(b"kl"),
        tcp(4_000, true, "PA", 1005, 5001).with(b"YYghijZZ"),
    ]));
    assert_eq!(observed.stream(ClientToServer), b"abcdefghijkl");
    assert_eq!(observed.totals().retransmitted_packets, Some(2));
}

#[test]
fn bytes_lost_before_the_observation_point_wait_for_their_retransmission() {
    let (observed, warnings) = one(&after_handshake(vec![
        tcp(1_000, false, "PA", 5005, 1001).with(b"efgh"),
        tcp(1_050, true, "A", 1001, 5001),
        tcp(31_000, false, "PA", 5001, 1001).with(b"abcd"),
        tcp(31_100, true, "A", 1001, 5009),
    ]));
    assert_eq!(observed.stream(ServerToClient), b"abcdefgh");
    let times: Vec<u64> = observed
        .segments
        .iter()
        .map(|piece| piece.at.as_nanos() - build::EPOCH)
        .collect();
    assert_eq!(
        times,
        [31_000_000, 31_000_000],
        "in TCP's order all bytes had passed when the first had"
    );
    let [(direction, from, to)] = observed.recoveries[..] else {
        panic!("{:?}", observed.recoveries)
    };
    assert_eq!(
        (direction, to.since(from)),
        (ServerToClient, Duration::from_millis(30))
    );
    assert_eq!(
        observed.totals().retransmitted_packets,
        Some(1),
        "so late that they were sent again"
    );
    assert!(warnings.is_empty(), "{warnings:?}");
}

#[test]
fn packets_that_change_places_are_no_recovery() {
    let (observed, warnings) = one(&after_handshake(vec![
        tcp(1_000, false, "PA", 5005, 1001).with(b"efgh"),
        tcp(1_020, false, "PA", 5001, 1001).with(b"abcd"),
        tcp(1_100, true, "A", 1001, 5009),
    ]));
    assert_eq!(observed.stream(ServerToClient), b"abcdefgh");
    assert_eq!(
        (observed.recoveries.len(), observed.totals().retransmitted_packets),
        (0, Some(0))
    );
    assert!(warnings.is_empty(), "{warnings:?}");
}

#[test]
fn an_acknowledged_gap_is_unseen() {
    let (observed, warnings) = one(&after_handshake(vec![
        tcp(1_000, true, "PA", 1001, 5001).with(b"abcd"),
        tcp(1_200, true, "PA", 1009, 5001).with(b"ijkl"),
        tcp(1_500, false, "PA", 5001, 1013).with(b"reply"),
        tcp(9_000, true, "PA", 1013, 5006).with(b"mn"),
    ]));
    assert_eq!(observed.stream(ClientToServer), b"abcd????ijklmn");
    assert_eq!(observed.totals().unseen_bytes, PerDirection::new(4, 0));
    let order: Vec<_> = observed
        .segments
        .iter()
        .map(|piece| (piece.direction, piece.unseen))
        .collect();
    let (client, server) = (ClientToServer, ServerToClient);
    assert_eq!(
        order,
        [(client, 0), (client, 4), (client, 0), (server, 0), (client, 0)]
    );
    assert!(
        warnings[0].starts_with("4 payload bytes passed but are not in the capture"),
        "{warnings:?}"
    );
}

#[test]
fn bytes_missing_at_the_end_are_unseen_when_acknowledged() {
    let (observed, _) = one(&after_handshake(vec![
        tcp(1_000, true, "PA", 1001, 5001).with(b"abcd"),
        tcp(1_500, false, "PA", 5001, 1013).with(b"reply"),
    ]));
    assert_eq!(observed.stream(ClientToServer), b"abcd????????");
    assert_eq!(observed.stream(ServerToClient), b"reply");
}

#[test]
fn an_acknowledgement_captured_before_its_bytes_loses_nothing() {
    let (observed, warnings) = one(&after_handshake(vec![
        tcp(1_000, true, "PA", 1001, 5001).with(b"abcd"),
        tcp(1_010, false, "PA", 5001, 1009).with(b"re"),
        tcp(1_020, false, "PA", 5003, 1009).with(b"ply"),
        tcp(1_030, true, "PA", 1005, 5001).with(b"efgh"),
        tcp(1_900, true, "PA", 1009, 5006).with(b"ij"),
    ]));
    assert_eq!(observed.stream(ClientToServer), b"abcdefghij");
    assert_eq!(observed.stream(ServerToClient), b"reply");
    let order: Vec<_> = observed
        .segments
        .iter()
        .map(|piece| piece.direction == ClientToServer)
        .collect();
    assert_eq!(order, [true, true, false, false, true]);
    assert!(warnings.is_empty(), "{warnings:?}");
}

#[test]
fn a_fin_that_was_not_captured_is_no_byte() {
    let (observed, warnings) = one(&after_handshake(vec![
        tcp(1_000, true, "PA", 1001, 5001).with(b"abcd"),
        tcp(2_000, false, "FA", 5001, 1006),
        tcp(2_100, true, "A", 1006, 5002),
    ]));
    assert_eq!(observed.stream(ClientToServer), b"abcd");
    assert_eq!(observed.how(), Closing::Finished);
    assert!(warnings.is_empty(), "{warnings:?}");
}

#[test]
fn sequence_numbers_wrap() {
    let isn = u32::MAX - 5;
    let mut packets = vec![
        tcp(0, true, "S", isn, 0),
        tcp(300, false, "SA", isn, isn.wrapping_add(1)),
        tcp(400, true, "A", isn.wrapping_add(1), isn.wrapping_add(1)),
    ];
    let mut sent = Vec::new();
    for number in 0..10u8 {
        let sequence = isn.wrapping_add(1).wrapping_add(u32::from(number) * 3);
        packets.push(
            tcp(
                1_000 + u64::from(number),
                true,
                "PA",
                sequence,
                isn.wrapping_add(1),
            )
            .with(&[number; 3]),
        );
        sent.extend([number; 3]);
    }
    packets.swap(4, 6);
    packets.push(tcp(2_000, true, "FA", isn.wrapping_add(31), isn.wrapping_add(1)));
    let (observed, warnings) = one(&build::capture_of(&packets));
    assert_eq!(observed.stream(ClientToServer), sent);
    assert!(warnings.is_empty(), "{warnings:?}");
}

#[test]
fn midway_the_sides_are_guessed_and_said_to_be() {
    let (observed, warnings) = one(&build::capture_of(&[
        tcp(0, false, "PA", 77, 1001).with(b"row"),
        tcp(100, true, "PA", 1001, 80).with(b"next"),
    ]));
    assert_eq!(
        (observed.client.port, observed.server.port, observed.certain),
        (40_000, 5432, false)
    );
    assert_eq!(observed.stream(ServerToClient), b"row");
    assert_eq!(observed.stream(ClientToServer), b"next");
    assert_eq!(observed.how(), Closing::Unfinished);
    assert!(observed.handshake.is_none());
    assert!(
        warnings[0].starts_with("1 connection was open before the capture began"),
        "{warnings:?}"
    );
    assert_eq!(warnings.len(), 1);
}

#[test]
fn midway_a_keep_alive_probe_is_no_payload() {
    let (observed, warnings) = one(&build::capture_of(&[
        tcp(0, false, "A", 77, 1001),
        tcp(10, true, "A", 1000, 77).with(b"\0"),
        tcp(20, false, "A", 77, 1001),
        tcp(100, true, "PA", 1001, 77).with(b"query"),
        tcp(900, true, "A", 1005, 77).with(b"y"),
    ]));
    assert_eq!(observed.stream(ClientToServer), b"query");
    assert_eq!(observed.totals().retransmitted_packets, Some(0));
    assert_eq!(warnings.len(), 1, "{warnings:?}");
}

#[test]
fn a_one_sided_capture_tells_its_side() {
    for client_side in [true, false] {
        let mut packets = build::handshake();
        packets.push(tcp(500, true, "PA", 1001, 5001).with(b"select 1"));
        packets.push(tcp(900, false, "PA", 5001, 1009).with(b"one"));
        packets.push(tcp(950, true, "PA", 1009, 5004).with(b"select 2"));
        packets.push(tcp(990, false, "PA", 5004, 1017).with(b"two"));
        packets.retain(|packet| packet.from_client == client_side);
        let (observed, warnings) = one(&build::capture_of(&packets));
        assert_eq!(observed.client.port, 40_000);
        assert_eq!(
            observed.totals().seen,
            PerDirection::new(client_side, !client_side)
        );
        assert_eq!(
            observed.totals().unseen_bytes,
            PerDirection::default(),
            "what was never seen is unknown, not unseen"
        );
        let (seen, text): (_, &[u8]) = if client_side {
            (ClientToServer, b"select 1select 2")
        } else {
            (ServerToClient, b"onetwo")
        };
        assert_eq!(observed.stream(seen), text);
        assert!(observed.stream(seen.reverse()).is_empty());
        assert!(observed.handshake.is_none());
        assert!(observed.round_trips.is_empty());
        assert!(
            warnings[0].starts_with("1 connection shows one direction only"),
            "{warnings:?}"
        );
        assert_eq!(warnings.len(), 1);
    }
}

#[test]
fn a_port_used_again_is_another_connection() {
    let mut packets = build::handshake();
    packets.push(tcp(500, true, "PA", 1001, 5001).with(b"first"));
    packets.push(tcp(600, false, "A", 5001, 1006));
    packets.push(tcp(1_000_000, true, "S", 9_000_000, 0));
    packets.push(tcp(1_000_100, true, "S", 9_000_000, 0));
    packets.push(tcp(1_000_300, false, "SA", 8_000_000, 9_000_001));
    packets.push(tcp(1_000_400, true, "A", 9_000_001, 8_000_001));
    packets.push(tcp(1_000_500, true, "PA", 9_000_001, 8_000_001).with(b"second"));
    packets.push(tcp(1_000_600, true, "RA", 9_000_007, 8_000_001));
    let observed = read_flawless(&build::capture_of(&packets));
    assert_eq!(observed.len(), 2);
    assert_eq!(
        (observed[0].stream(ClientToServer), observed[0].how()),
        (b"first".to_vec(), Closing::Unfinished)
    );
    assert_eq!(
        (observed[1].stream(ClientToServer), observed[1].how()),
        (b"second".to_vec(), Closing::Reset)
    );
    assert_eq!(
        observed[1].totals().retransmitted_packets,
        Some(1),
        "a SYN sent again"
    );
}

#[test]
fn packets_cut_by_the_snap_length_are_counted_whole() {
    let mut packets = build::handshake();
    for number in 0..5u32 {
        packets.push(tcp(500 + u64::from(number), true, "PA", 1001 + 200 * number, 5001).with(&[b'x'; 200]));
    }
    packets.push(tcp(900, false, "A", 5001, 2001));
    let frames: Vec<Frame> = packets.iter().map(Tcp::frame).collect();
    let (observed, _) = one(&build::pcap(NANO, &build::snapped(&frames, 154)));
    assert_eq!(observed.totals().payload_bytes, PerDirection::new(1000, 0));
    assert_eq!(observed.totals().unseen_bytes, PerDirection::new(500, 0));
    assert_eq!(observed.segments.len(), 5);
    assert!(
        observed
            .segments
            .iter()
            .all(|piece| (piece.payload.len(), piece.unseen) == (100, 100))
    );
    let (observed, _) = one(&build::pcap(NANO, &build::snapped(&frames, 54)));
    assert_eq!(observed.totals().unseen_bytes, PerDirection::new(1000, 0));
}

#[test]
fn packets_without_their_headers_are_warned_of() {
    let frames: Vec<Frame> = build::handshake().iter().map(Tcp::frame).collect();
    for snap in [30, 40, 53] {
        let (observed, report) =
            read_bytes(&build::pcap(NANO, &build::snapped(&frames, snap))).expect("a capture");
        assert!(observed.is_empty());
        assert!(
            report.warnings[0]
                .text
                .starts_with("'test' has 3 TCP packets without a whole TCP header"),
            "{report:?}"
        );
    }
}

#[test]
fn every_packet_captured_twice_changes_the_packet_counts_only() {
    let mut packets = build::handshake();
    for number in 0..20u32 {
        let at = 1_000 + 1_000 * u64::from(number);
        packets.push(tcp(at, true, "PA", 1001 + 5 * number, 5001 + 3 * number).with(b"query"));
        packets.push(tcp(at + 400, false, "PA", 5001 + 3 * number, 1006 + 5 * number).with(b"row"));
    }
    let once = read_flawless(&build::capture_of(&packets)).remove(0);
    let doubled: Vec<Frame> = packets
        .iter()
        .flat_map(|packet| {
            let frame = packet.frame();
            [
                frame.clone(),
                Frame {
                    at: frame.at + 7_000,
                    ..frame
                },
            ]
        })
        .collect();
    let (twice, warnings) = one(&build::pcap(NANO, &doubled));
    assert_eq!(twice.segments, once.segments);
    assert_eq!(twice.handshake, once.handshake);
    assert_eq!(twice.totals().retransmitted_packets, Some(0));
    assert!(twice.recoveries.is_empty());
    assert_eq!(twice.totals().packets, Some(PerDirection::new(44, 42)));
    assert!(warnings[0].contains("captured more than once"), "{warnings:?}");
}

#[test]
fn both_ports_of_a_bridge_with_a_delay_between_are_one_connection() {
    // Linux cooked v2 contains the interface: the second copy of each packet comes from the other
    // port, 10 ms later.
    let mut packets = build::handshake();
    for number in 0..50u32 {
        let at = 1_000 + 100 * u64::from(number);
        packets.push(tcp(at, true, "PA", 1001 + 5 * number, 5001).with(b"query"));
    }
    packets.push(tcp(40_000, false, "A", 5001, 1251));
    let cooked = |frame: &Frame, interface: u32, at: u64| {
        let mut head = vec![8, 0, 0, 0];
        head.extend(interface.to_be_bytes());
        head.extend([0, 1, 0, 6, 2, 0, 0, 0, 0, 1, 0, 0]);
        let bytes = [head, frame.bytes[14..].to_vec()].concat();
        Frame {
            at,
            wire: bytes.len() as u32,
            bytes,
        }
    };
    let mut frames: Vec<Frame> = packets
        .iter()
        .flat_map(|packet| {
            let frame = packet.frame();
            let ports = if packet.from_client { [3, 4] } else { [4, 3] };
            [
                cooked(&frame, ports[0], frame.at),
                cooked(&frame, ports[1], frame.at + 10_000_000),
            ]
        })
        .collect();
    frames.sort_by_key(|frame| frame.at);
    let (observed, _) = one(&build::pcap(build::PcapKind { link: 276, ..NANO }, &frames));
    assert_eq!(observed.stream(ClientToServer), b"query".repeat(50));
    assert_eq!(observed.totals().retransmitted_packets, Some(0));
    assert!(observed.recoveries.is_empty());
}

#[test]
fn too_much_behind_a_gap_gives_the_gap_up() {
    let mut packets = build::handshake();
    for number in 1..8_000u32 {
        packets
            .push(tcp(1_000 + u64::from(number), true, "PA", 1001 + 1000 * number, 5001).with(&[b'x'; 1000]));
    }
    let (observed, warnings) = one(&build::capture_of(&packets));
    assert_eq!(observed.totals().payload_bytes, PerDirection::new(8_000_000, 0));
    assert_eq!(observed.totals().unseen_bytes, PerDirection::new(1000, 0));
    assert!(
        warnings
            .iter()
            .any(|warning| warning.contains("given up because too much followed")),
        "{warnings:?}"
    );
}

#[test]
fn a_wild_sequence_number_is_ignored_with_a_warning() {
    let (observed, warnings) = one(&after_handshake(vec![
        tcp(1_000, true, "PA", 1001, 5001).with(b"abcd"),
        tcp(1_100, true, "PA", 1005 + (1 << 29), 5001).with(b"wild"),
        tcp(1_200, true, "PA", 1005, 5001).with(b"efgh"),
        tcp(1_500, false, "A", 5001, 1009),
    ]));
    assert_eq!(observed.stream(ClientToServer), b"abcdefgh");
    assert_eq!(observed.totals().unseen_bytes, PerDirection::default());
    assert!(
        warnings[0].contains("impossible sequence numbers"),
        "{warnings:?}"
    );
}

fn conversation(turns: &[(Vec<u8>, Vec<u8>)], size: usize) -> Vec<Tcp> {
    let mut packets = build::handshake();
    let (mut client, mut server, mut at) = (1001u32, 5001u32, 10_000u64);
    for (request, reply) in turns {
        for piece in request.chunks(size) {
            packets.push(tcp(at, true, "PA", client, server).with(piece));
            client = client.wrapping_add(piece.len() as u32);
            at += 5;
        }
        at += 300;
        for piece in reply.chunks(size) {
            packets.push(tcp(at, false, "PA", server, client).with(piece));
            server = server.wrapping_add(piece.len() as u32);
            at += 5;
        }
        at += 300;
    }
    packets.push(tcp(at, true, "FA", client, server));
    packets.push(tcp(at + 300, false, "FA", server, client.wrapping_add(1)));
    packets.push(tcp(
        at + 400,
        true,
        "A",
        client.wrapping_add(1),
        server.wrapping_add(1),
    ));
    packets
}

fn turns() -> impl Strategy<Value = Vec<(Vec<u8>, Vec<u8>)>> {
    let bytes = || proptest::collection::vec(any::<u8>(), 1..200);
    proptest::collection::vec((bytes(), bytes()), 1..8)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    /// Reordered, duplicated and overlapping packets result in the same streams without gaps.
    #[test]
    fn disorder_changes_no_byte(
        turns in turns(),
        size in 1usize..60,
        mishaps in proptest::collection::vec((any::<prop::sample::Index>(), 0u8..3), 0..12),
    ) {
        let mut packets = conversation(&turns, size);
        for (place, mishap) in mishaps {
            let index = 3 + place.index(packets.len() - 6);
            match mishap {
                0 => {
                    let at = packets[index].at_us;
                    packets.swap(index, index + 1);
                    packets[index].at_us = at;
                    packets[index + 1].at_us = at + 1;
                }
                1 => {
                    let again = Tcp { identification: 60_001, ..packets[index].clone() };
                    packets.insert(index + 1, again);
                }
                _ => {
                    let (first, second) = (packets[index].clone(), packets[index + 1].clone());
                    if first.from_client == second.from_client && second.sequence > first.sequence {
                        packets[index + 1].sequence = first.sequence;
                        let kept = (second.sequence - first.sequence) as usize;
                        let mut payload = first.payload[..kept.min(first.payload.len())].to_vec();
                        payload.extend(&second.payload);
                        if kept <= first.payload.len() {
                            packets[index + 1].payload = payload;
                        } else {
                            packets[index + 1].sequence = second.sequence;
                        }
                    }
                }
            }
        }
        let (observed, _) = one(&build::capture_of(&packets));
        let client: Vec<u8> = turns.iter().flat_map(|turn| turn.0.clone()).collect();
        let server: Vec<u8> = turns.iter().flat_map(|turn| turn.1.clone()).collect();
        prop_assert_eq!(observed.totals().unseen_bytes, PerDirection::default());
        prop_assert_eq!(observed.stream(ClientToServer), client);
        prop_assert_eq!(observed.stream(ServerToClient), server);
    }

    /// With missing or reordered packets each byte is reported or counted as unseen, in its place.
    #[test]
    fn missing_packets_are_counted_to_the_byte(
        turns in turns(),
        size in 1usize..60,
        missing in proptest::collection::vec(any::<prop::sample::Index>(), 0..10),
        swapped in proptest::collection::vec(any::<prop::sample::Index>(), 0..4),
    ) {
        let mut packets = conversation(&turns, size);
        for place in missing {
            // The handshake and the last three packets stay, so that the ends of both streams are
            // known.
            if packets.len() > 6 {
                let index = 3 + place.index(packets.len() - 6);
                packets.remove(index);
            }
        }
        for place in swapped {
            if packets.len() > 7 {
                let index = 3 + place.index(packets.len() - 7);
                let (first, second) = (packets[index].at_us, packets[index + 1].at_us);
                packets.swap(index, index + 1);
                (packets[index].at_us, packets[index + 1].at_us) = (first, second);
            }
        }
        let (observed, _) = one(&build::capture_of(&packets));
        let client: Vec<u8> = turns.iter().flat_map(|turn| turn.0.clone()).collect();
        let server: Vec<u8> = turns.iter().flat_map(|turn| turn.1.clone()).collect();
        for (direction, sent) in [(ClientToServer, client), (ServerToClient, server)] {
            let mut place = 0;
            for piece in observed.segments.iter().filter(|piece| piece.direction == direction) {
                prop_assert_eq!(&piece.payload[..], &sent[place..place + piece.payload.len()]);
                place += piece.payload.len() + piece.unseen as usize;
            }
            prop_assert_eq!(place, sent.len());
        }
    }
}

//! Every link layer and IP variant returns the same conversation as plain Ethernet.

mod support;

use model::Direction::{ClientToServer, ServerToClient};
use model::PerDirection;
use support::build::{self, Frame, NANO, PcapKind, Tcp, tcp};
use support::{ObservedConnection, read_bytes, read_flawless};

fn conversation() -> Vec<Tcp> {
    let mut packets = build::handshake();
    packets.push(tcp(500, true, "PA", 1001, 5001).with(b"select 1"));
    packets.push(tcp(900, false, "PA", 5001, 1009).with(b"one"));
    packets.push(tcp(1000, true, "FA", 1009, 5004));
    packets.push(tcp(1300, false, "FA", 5004, 1010));
    packets.push(tcp(1400, true, "A", 1010, 5005));
    packets
}

fn check(observed: &[ObservedConnection], overhead: u64) {
    let [connection] = observed else {
        panic!("one connection, not {}", observed.len())
    };
    assert_eq!(connection.stream(ClientToServer), b"select 1");
    assert_eq!(connection.stream(ServerToClient), b"one");
    assert!(connection.certain && connection.handshake.is_some());
    let totals = connection.totals();
    assert_eq!(totals.packets, Some(PerDirection::new(5, 3)));
    let tcp_bytes = [5 * 20 + 4 + 8, 3 * 20 + 4 + 3];
    assert_eq!(
        totals.wire_bytes,
        Some(PerDirection::new(
            tcp_bytes[0] + 5 * overhead,
            tcp_bytes[1] + 3 * overhead
        ))
    );
}

fn relinked(link: u32, head: &dyn Fn(&Tcp) -> Vec<u8>) -> Vec<u8> {
    let frames: Vec<Frame> = conversation()
        .iter()
        .map(|packet| {
            let frame = packet.frame();
            let bytes = [head(packet), frame.bytes[14..].to_vec()].concat();
            Frame {
                wire: bytes.len() as u32,
                bytes,
                at: frame.at,
            }
        })
        .collect();
    build::pcap(PcapKind { link, ..NANO }, &frames)
}

#[test]
fn every_link_layer_gives_the_conversation() {
    let ethernet = [2u8, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2];
    let cooked = [0, 0, 0, 1, 0, 6, 2, 0, 0, 0, 0, 1, 0, 0, 8, 0];
    let mut cooked_2 = [0u8; 20];
    cooked_2[..2].copy_from_slice(&[8, 0]);
    let cases: Vec<(u32, Vec<u8>)> = vec![
        (1, [&ethernet[..], &[8, 0]].concat()),
        (1, [&ethernet[..], &[0x81, 0, 0, 5, 8, 0]].concat()),
        (
            1,
            [&ethernet[..], &[0x88, 0xa8, 0, 5, 0x81, 0, 0, 6, 8, 0]].concat(),
        ),
        (113, cooked.to_vec()),
        (276, cooked_2.to_vec()),
        (101, vec![]),
        (12, vec![]),
        (14, vec![]),
        (228, vec![]),
        (0, vec![2, 0, 0, 0]),
        (0, vec![0, 0, 0, 2]),
        (108, vec![0, 0, 0, 2]),
    ];
    for (link, head) in cases {
        let observed = read_flawless(&relinked(link, &|_| head.clone()));
        check(&observed, 20 + head.len() as u64);
    }
}

#[test]
fn ipv6_with_extension_headers_and_a_tag() {
    let frames: Vec<Frame> = conversation()
        .iter()
        .enumerate()
        .map(|(number, packet)| {
            let mut frame = packet.frame_between("[2001:db8::1]:40000", "[2001:db8::2]:5432");
            if number % 2 == 0 {
                // Hop-by-hop options (8 bytes), then destination options (16 bytes), then TCP.
                let options = [[60, 0, 1, 4, 0, 0, 0, 0], [6, 1, 1, 12, 0, 0, 0, 0], [0; 8]].concat();
                frame.bytes[14 + 6] = 0;
                let length = u16::from_be_bytes([frame.bytes[18], frame.bytes[19]]) + 24;
                frame.bytes[18..20].copy_from_slice(&length.to_be_bytes());
                frame.bytes.splice(54..54, options);
            } else {
                frame.bytes.resize(frame.bytes.len() + 24, 0xee);
            }
            frame.wire += 24;
            frame
        })
        .collect();
    let observed = read_flawless(&build::pcap(NANO, &frames));
    check(&observed, 14 + 40 + 24);
    assert_eq!(observed[0].client.to_string(), "[2001:db8::1]:40000");
    assert_eq!(observed[0].server.to_string(), "[2001:db8::2]:5432");
    let raw: Vec<Frame> = frames
        .iter()
        .map(|frame| Frame {
            bytes: frame.bytes[14..].to_vec(),
            wire: frame.wire - 14,
            at: frame.at,
        })
        .collect();
    check(
        &read_flawless(&build::pcap(PcapKind { link: 229, ..NANO }, &raw)),
        40 + 24,
    );
    for family in [10u32, 24, 28, 30] {
        let null: Vec<Frame> = raw
            .iter()
            .map(|frame| Frame {
                bytes: [&family.to_be_bytes()[..], &frame.bytes].concat(),
                wire: frame.wire + 4,
                at: frame.at,
            })
            .collect();
        check(
            &read_flawless(&build::pcap(PcapKind { link: 0, ..NANO }, &null)),
            4 + 40 + 24,
        );
    }
}

/// `size` is a multiple of 8.
fn fragments(frame: &Frame, identification: u16, size: usize) -> Vec<Frame> {
    let (head, payload) = frame.bytes.split_at(34);
    let count = payload.len().div_ceil(size);
    let pieces = payload.chunks(size).enumerate();
    pieces
        .map(|(number, piece)| {
            let mut bytes = [head, piece].concat();
            bytes[16..18].copy_from_slice(&(piece.len() as u16 + 20).to_be_bytes());
            bytes[18..20].copy_from_slice(&identification.to_be_bytes());
            let more = if number + 1 < count { 0x2000 } else { 0 };
            bytes[20..22].copy_from_slice(&(more | (number * size / 8) as u16).to_be_bytes());
            Frame {
                wire: bytes.len() as u32,
                bytes,
                at: frame.at + number as u64,
            }
        })
        .collect()
}

#[test]
fn ipv4_fragments_in_any_order_make_one_packet() {
    let payload: Vec<u8> = (0..2000u32).map(|number| number as u8).collect();
    let mut packets = build::handshake();
    packets.push(tcp(500, true, "PA", 1001, 5001).with(&payload));
    let mut frames: Vec<Frame> = packets.iter().map(Tcp::frame).collect();
    let last = frames.pop().expect("the payload");
    let mut pieces = fragments(&last, 77, 680);
    assert_eq!(pieces.len(), 3);
    pieces.swap(0, 2);
    pieces.push(pieces[0].clone());
    frames.extend(pieces);
    let (observed, _) = read_bytes(&build::pcap(NANO, &frames)).expect("a capture");
    assert_eq!(observed[0].stream(ClientToServer), payload);
    assert_eq!(
        observed[0].totals().packets,
        Some(PerDirection::new(5, 1)),
        "three fragments are three packets"
    );
}

#[test]
fn ipv6_fragments_make_one_packet() {
    let payload: Vec<u8> = (0..2000u32).map(|number| number as u8).collect();
    let mut packets = build::handshake();
    packets.push(tcp(500, true, "PA", 1001, 5001).with(&payload));
    let between = |packet: &Tcp| packet.frame_between("[2001:db8::1]:40000", "[2001:db8::2]:5432");
    let mut frames: Vec<Frame> = packets.iter().map(between).collect();
    let whole = frames.pop().expect("the payload");
    let (head, rest) = whole.bytes.split_at(54);
    let count = rest.len().div_ceil(1000);
    for (number, piece) in rest.chunks(1000).enumerate() {
        let place = (number * 1000) as u16 | u16::from(number + 1 < count);
        let extension = [&[6, 0][..], &place.to_be_bytes(), &[0, 0, 0, 99]].concat();
        let mut bytes = [head, &extension, piece].concat();
        bytes[18..20].copy_from_slice(&(piece.len() as u16 + 8).to_be_bytes());
        bytes[20] = 44;
        frames.push(Frame {
            wire: bytes.len() as u32,
            bytes,
            at: whole.at + number as u64,
        });
    }
    let observed = read_flawless(&build::pcap(NANO, &frames));
    assert_eq!(observed[0].stream(ClientToServer), payload);
    assert_eq!(
        observed[0].totals().packets,
        Some(PerDirection::new(2 + count as u64, 1))
    );
}

#[test]
fn fragments_without_end_stay_bounded_and_are_warned_of() {
    let whole = build::tcp(500, true, "PA", 1001, 5001).with(&[7; 3000]).frame();
    let frames: Vec<Frame> = (0..5000u32)
        .map(|number| fragments(&whole, number as u16, 1480)[0].clone())
        .collect();
    let (observed, report) = read_bytes(&build::pcap(NANO, &frames)).expect("a capture");
    assert!(observed.is_empty());
    assert!(
        report
            .warnings
            .iter()
            .any(|warning| warning.text.contains("fragments")),
        "{report:?}"
    );
}

#[test]
fn what_is_not_tcp_is_counted_and_passed_over() {
    let mut arp = conversation()[0].frame();
    arp.bytes[12..14].copy_from_slice(&[8, 6]);
    let mut udp = conversation()[0].frame();
    udp.bytes[23] = 17;
    let mut frames = vec![arp, udp];
    frames.extend(conversation().iter().map(Tcp::frame));
    let (observed, report) = read_bytes(&build::pcap(NANO, &frames)).expect("a capture");
    check(&observed, 34);
    assert_eq!((report.packets, report.files[0].tcp_packets), (10, 8));
}

#[test]
fn an_unknown_link_layer_is_warned_of() {
    let (observed, report) = read_bytes(&relinked(147, &|_| vec![])).expect("a capture");
    assert!(observed.is_empty());
    assert_eq!(report.files[0].link_layers, ["link type 147"]);
    assert!(
        report.warnings[0]
            .text
            .contains("8 packets of a link layer that longwire does not know"),
        "{report:?}"
    );
}

#[test]
fn segmentation_offload_leaves_the_total_length_zero() {
    let mut packets = build::handshake();
    packets.push(tcp(500, true, "PA", 1001, 5001).with(&[9; 3000]));
    let mut frames: Vec<Frame> = packets.iter().map(Tcp::frame).collect();
    frames[3].bytes[16..18].copy_from_slice(&[0, 0]);
    let (observed, report) = read_bytes(&build::pcap(NANO, &frames)).expect("a capture");
    assert_eq!(observed[0].stream(ClientToServer), [9; 3000]);
    assert_eq!(report.warnings.len(), 1, "{report:?}");
    assert!(
        report.warnings[0].text.starts_with("1 packet is larger"),
        "{report:?}"
    );
}

#[test]
fn ethernet_padding_is_no_payload() {
    let mut frames: Vec<Frame> = conversation().iter().map(Tcp::frame).collect();
    for frame in &mut frames {
        let length = frame.bytes.len().max(60);
        frame.bytes.resize(length, 0xff);
        frame.wire = length as u32;
    }
    let observed = read_flawless(&build::pcap(NANO, &frames));
    assert_eq!(observed[0].stream(ClientToServer), b"select 1");
    assert_eq!(observed[0].stream(ServerToClient), b"one");
}

//! Machines of the senders, as packets of each link layer show them.

mod support;

use capture::Source;
use model::{CapturedAddress, LinkAddress, Origin};
use std::io::Cursor;
use support::build::{self, Frame, NANO, PcapKind, Tcp, tcp};

/// How a packet passed: interface number, packet type and hop limit.
type Passage = (u8, u8, u8);

/// Received and sent by a machine that is not a router.
const RECEIVED: Passage = (2, 0, 64);
const SENT: Passage = (2, 4, 64);

fn conversation() -> Vec<Tcp> {
    let mut packets = build::handshake();
    packets.push(tcp(500, true, "PA", 1001, 5001).with(b"select 1"));
    packets.push(tcp(900, false, "PA", 5001, 1009).with(b"one"));
    packets.push(tcp(1000, false, "PA", 5004, 1009).with(b"two"));
    packets
}

/// A client's link-layer address ends in 1, the server's in 2.
fn link_bytes(from_client: bool) -> [u8; 6] {
    [2, 0, 0, 0, 0, if from_client { 1 } else { 2 }]
}

fn head(link: u32, from_client: bool, (interface, kind, _): Passage, device: u16) -> Vec<u8> {
    let address = link_bytes(from_client);
    let [high, low] = device.to_be_bytes();
    match link {
        1 => [&link_bytes(!from_client)[..], &address, &[8, 0]].concat(),
        113 => [&[0, kind, high, low, 0, 6][..], &address, &[0, 0, 8, 0]].concat(),
        276 => [
            &[8, 0, 0, 0, 0, 0, 0, interface, high, low, kind, 6][..],
            &address,
            &[0, 0],
        ]
        .concat(),
        0 => vec![2, 0, 0, 0],
        _ => Vec::new(),
    }
}

fn frame(packet: &Tcp, link: u32, passage: Passage, device: u16) -> Frame {
    let ethernet = packet.frame();
    let mut bytes = [
        head(link, packet.from_client, passage, device),
        ethernet.bytes[14..].to_vec(),
    ]
    .concat();
    let at = bytes.len() - (ethernet.bytes.len() - 14) + 8;
    bytes[at] = passage.2;
    Frame {
        wire: bytes.len() as u32,
        bytes,
        at: ethernet.at,
    }
}

/// Client and server of conversations on these paths, client's packets first.
fn seen_on(link: u32, device: u16, ways: [&[Passage]; 2]) -> [CapturedAddress; 2] {
    let frames: Vec<Frame> = conversation()
        .iter()
        .flat_map(|packet| {
            let ways = ways[usize::from(!packet.from_client)];
            ways.iter().map(|way| frame(packet, link, *way, device))
        })
        .collect();
    let bytes = build::pcap(PcapKind { link, ..NANO }, &frames);
    let source = Source::Stream {
        name: "built",
        reader: Box::new(Cursor::new(bytes)),
    };
    let mut captures = capture::machines(source).expect("a capture").senders;
    assert_eq!(captures.len(), 1);
    captures.remove(0).try_into().expect("two addresses")
}

fn origins(link: u32, device: u16, ways: [&[Passage]; 2]) -> [Origin; 2] {
    seen_on(link, device, ways).map(|one| one.origin)
}

#[test]
fn every_link_layer_says_what_it_knows_of_the_sender() {
    use Origin::{Elsewhere, Here, Unknown};
    for (link, origins, has_links) in [
        (1, [Unknown, Unknown], true),
        (113, [Elsewhere, Here], false),
        (276, [Elsewhere, Here], true),
        (0, [Unknown, Unknown], false),
        (101, [Unknown, Unknown], false),
    ] {
        let [client, server] = seen_on(link, 1, [&[(2, 0, 61)], &[SENT]]);
        assert_eq!([client.origin, server.origin], origins, "{link}");
        assert_eq!(
            (client.hop_limits, server.hop_limits),
            (Some((61, 61)), Some((64, 64))),
            "{link}"
        );
        assert_eq!(
            (client.initial_hop_limit(), server.initial_hop_limit()),
            (Some(64), Some(64))
        );
        // The client's packets have a router's link-layer address.
        assert_eq!(client.links, [], "{link}");
        let segment = if link == 276 { 2 } else { 0 };
        let bytes = link_bytes(false);
        let own: &[LinkAddress] = if has_links {
            &[LinkAddress { segment, bytes }]
        } else {
            &[]
        };
        assert_eq!(server.links, own, "{link}");
    }
}

#[test]
fn what_a_machine_passes_on_is_not_its_own() {
    use Origin::{Elsewhere, Here, Unknown};
    const OTHER: Passage = (3, 3, 64);
    for (client, server, expected) in [
        // A web server's own capture.
        (&[RECEIVED][..], &[SENT][..], [Elsewhere, Here]),
        // A router between both: each packet arrives and leaves, with one hop less.
        (
            &[RECEIVED, (3, 4, 63)],
            &[(3, 0, 64), (2, 4, 63)],
            [Elsewhere, Elsewhere],
        ),
        // A container bridge keeps the hop limit: packets arrive at one port, for another machine,
        // and leave at another port.
        (
            &[OTHER, (4, 4, 64)],
            &[(4, 3, 64), (3, 4, 64)],
            [Unknown, Unknown],
        ),
        // A container's packets leave with the machine's address, mixed with the machine's own.
        (&[RECEIVED], &[SENT, (2, 4, 63)], [Elsewhere, Unknown]),
        // Only outgoing packets were captured: a bridge would look the same.
        (&[SENT], &[(3, 4, 64)], [Unknown, Unknown]),
    ] {
        assert_eq!(
            origins(276, 1, [client, server]),
            expected,
            "{client:?} {server:?}"
        );
    }
}

#[test]
fn packets_of_a_loopback_device_are_between_addresses_of_one_machine() {
    for link in [113, 276] {
        assert_eq!(
            origins(link, 772, [&[(1, 0, 64)], &[(1, 0, 64)]]),
            [Origin::Here; 2]
        );
    }
}

#[test]
fn resets_and_handshakes_may_be_a_middlebox_s() {
    let mut packets = conversation();
    packets.push(tcp(1100, false, "R", 5007, 1009));
    let frames: Vec<Frame> = packets
        .iter()
        .map(|packet| {
            let hop_limit = if packet.flags.contains(['S', 'R']) {
                255
            } else {
                62
            };
            frame(packet, 1, (0, 0, hop_limit), 1)
        })
        .collect();
    let source = Source::Stream {
        name: "built",
        reader: Box::new(Cursor::new(build::pcap(NANO, &frames))),
    };
    let captures = capture::machines(source).expect("a capture").senders;
    assert!(
        captures[0].iter().all(|one| one.hop_limits == Some((62, 62))),
        "{captures:?}"
    );
}

#[test]
fn addresses_that_routers_share_and_blank_ones_are_no_machine_s() {
    for shared in [[0, 0, 0x5e, 0, 1, 7], [0; 6], [0, 0, 0x0c, 0x07, 0xac, 1]] {
        let frames: Vec<Frame> = conversation()
            .iter()
            .map(|packet| {
                let mut frame = packet.frame();
                frame.bytes[6..12].copy_from_slice(&shared);
                frame
            })
            .collect();
        let source = Source::Stream {
            name: "built",
            reader: Box::new(Cursor::new(build::pcap(NANO, &frames))),
        };
        let captures = capture::machines(source).expect("a capture").senders;
        assert!(captures[0].iter().all(|one| one.links.is_empty()), "{captures:?}");
    }
}

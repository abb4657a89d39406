//! The same packets under several pairs of addresses are one connection; the same addresses in two
//! virtual networks are two.

mod support;

use model::Direction::{ClientToServer, ServerToClient};
use model::{Endpoint, PerDirection};
use support::build::{self, Frame, NANO, Tcp, tcp};
use support::{ObservedConnection, data, read_bytes};

/// A packet on a path: its endpoints there, and the delay after the client's side.
#[derive(Clone, Copy)]
struct View {
    client: &'static str,
    server: &'static str,
    depth_us: u64,
}

const fn view(client: &'static str, server: &'static str, depth_us: u64) -> View {
    View {
        client,
        server,
        depth_us,
    }
}

const SERVICE: View = view("10.0.0.1:40000", "10.0.0.2:5432", 0);

fn conversation() -> Vec<Tcp> {
    let mut packets = build::handshake();
    packets.push(tcp(500, true, "PA", 1001, 5001).with(b"select 1"));
    packets.push(tcp(900, false, "PA", 5001, 1009).with(b"one"));
    packets.push(tcp(1300, true, "PA", 1009, 5004).with(b"select 2"));
    packets.push(tcp(1700, false, "PA", 5004, 1017).with(b"two"));
    packets.push(tcp(2000, true, "FA", 1017, 5007));
    packets.push(tcp(2300, false, "FA", 5007, 1018));
    packets.push(tcp(2400, true, "A", 1018, 5008));
    packets
}

fn seen(packets: &[Tcp], view: View, is_seen: impl Fn(usize, &Tcp) -> bool) -> Vec<Frame> {
    let visible = packets
        .iter()
        .enumerate()
        .filter(|(number, packet)| is_seen(*number, packet));
    visible
        .map(|(_, packet)| {
            let mut frame = packet.frame_between(view.client, view.server);
            frame.at = match packet.from_client {
                true => frame.at + view.depth_us * 1000,
                false => frame.at - view.depth_us * 1000,
            };
            frame
        })
        .collect()
}

fn read_frames(mut frames: Vec<Frame>) -> Vec<ObservedConnection> {
    frames.sort_by_key(|frame| frame.at);
    read_bytes(&build::pcap(NANO, &frames)).expect("a capture").0
}

fn endpoint(text: &str) -> Endpoint {
    let socket: std::net::SocketAddr = text.parse().expect("an endpoint");
    Endpoint {
        address: socket.ip(),
        port: socket.port(),
    }
}

fn assert_whole(connection: &ObservedConnection, what: &str) {
    assert_eq!(connection.stream(ClientToServer), b"select 1select 2", "{what}");
    assert_eq!(connection.stream(ServerToClient), b"onetwo", "{what}");
    assert_eq!(
        connection.totals().payload_bytes,
        PerDirection::new(16, 6),
        "{what}"
    );
    assert_eq!(connection.totals().retransmitted_packets, Some(0), "{what}");
}

#[test]
fn each_kind_of_translation_counts_once() {
    let deep = |client, server| vec![SERVICE, view(client, server, 12)];
    for (what, views) in [
        ("DNAT", deep("10.0.0.1:40000", "10.244.1.7:5432")),
        ("DNAT, another port", deep("10.0.0.1:40000", "10.244.1.7:15432")),
        ("masquerading", deep("192.0.2.9:40000", "10.0.0.2:5432")),
        (
            "masquerading, another port",
            deep("192.0.2.9:61234", "10.0.0.2:5432"),
        ),
        ("both", deep("192.0.2.9:40000", "10.244.1.7:5432")),
        ("both, all ports", deep("192.0.2.9:61234", "10.244.1.7:15432")),
        (
            "the lower address becomes the higher",
            deep("10.0.0.9:40000", "10.0.0.3:5432"),
        ),
        ("IPv6", deep("[fd00::5]:40000", "[fd00::9]:5432")),
        (
            "three copies",
            vec![
                SERVICE,
                view("10.0.0.1:40000", "10.244.1.7:5432", 12),
                view("10.9.9.9:50000", "10.244.1.7:5432", 30),
            ],
        ),
        (
            "a slow path",
            vec![SERVICE, view("10.0.0.1:40000", "10.244.1.7:5432", 140)],
        ),
    ] {
        let frames = views
            .iter()
            .flat_map(|view| seen(&conversation(), *view, |_, _| true))
            .collect();
        let connections = read_frames(frames);
        assert_eq!(connections.len(), 1, "{what}");
        assert_whole(&connections[0], what);
        let last = views.last().expect("one").server;
        let ends = (connections[0].client, connections[0].server);
        assert_eq!(ends, (endpoint(SERVICE.client), endpoint(last)), "{what}");
    }
}

#[test]
fn a_partial_copy_adds_nothing_and_a_partial_original_is_completed() {
    let copy = view("10.0.0.1:40000", "10.244.1.7:5432", 12);
    let all = |_: usize, _: &Tcp| true;
    type Seen = fn(usize, &Tcp) -> bool;
    let parts: [(&str, Seen); 6] = [
        ("without its beginning", |number, _| number > 4),
        ("without its handshake", |number, _| number > 2),
        ("without its end", |number, _| number < 5),
        ("only requests", |_, packet| packet.from_client),
        ("only replies", |_, packet| !packet.from_client),
        ("every other packet behind the handshake", |number, _| {
            number < 3 || number % 2 == 0
        }),
    ];
    for (what, part) in parts {
        let mut frames = seen(&conversation(), SERVICE, all);
        frames.extend(seen(&conversation(), copy, part));
        let connections = read_frames(frames);
        assert_eq!(connections.len(), 1, "copy {what}");
        assert_whole(&connections[0], what);
        let mut frames = seen(&conversation(), SERVICE, part);
        frames.extend(seen(&conversation(), copy, all));
        let connections = read_frames(frames);
        assert_eq!(connections.len(), 1, "original {what}");
        assert_whole(&connections[0], what);
    }
}

#[test]
fn connections_that_happen_to_have_the_same_numbers_are_their_own() {
    // Requests and replies pass in the same order: neither path is inside the other.
    for delay in [0, 40, 150, 250] {
        let other = Tcp::frame_between;
        let mut frames = seen(&conversation(), SERVICE, |_, _| true);
        frames.extend(conversation().iter().map(|packet| {
            let mut frame = other(packet, "10.0.0.7:40000", "10.0.0.2:5432");
            frame.at += delay * 1000;
            frame
        }));
        let connections = read_frames(frames);
        assert_eq!(connections.len(), 2, "{delay} us apart");
        for connection in &connections {
            assert_whole(connection, "own");
        }
    }
}

#[test]
fn a_connection_that_is_never_answered_counts_once() {
    let syn = vec![tcp(0, true, "S", 1000, 0)];
    let mut frames = seen(&syn, SERVICE, |_, _| true);
    frames.extend(seen(
        &syn,
        view("10.0.0.1:40000", "10.244.1.7:5432", 12),
        |_, _| true,
    ));
    assert_eq!(read_frames(frames).len(), 1);
}

fn tagged(frames: Vec<Frame>, vlan: u16) -> Vec<Frame> {
    let tag = |mut frame: Frame| {
        let bytes = [&[0x81, 0][..], &vlan.to_be_bytes()].concat();
        frame.bytes.splice(12..12, bytes);
        frame.wire += 4;
        frame
    };
    frames.into_iter().map(tag).collect()
}

fn in_vxlan(frames: Vec<Frame>, network: u32) -> Vec<Frame> {
    let wrap = |frame: Frame| {
        let vxlan = [&[8, 0, 0, 0][..], &(network << 8).to_be_bytes(), &frame.bytes].concat();
        let length = (8 + vxlan.len()) as u16;
        let udp = [51_000, 4789, length, 0].map(u16::to_be_bytes).concat();
        let total = (20 + length).to_be_bytes();
        let ip = [
            0x45, 0, total[0], total[1], 0, 0, 0, 0, 64, 17, 0, 0, 192, 0, 2, 1, 192, 0, 2, 2,
        ];
        let bytes = [&[2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0][..], &ip, &udp, &vxlan].concat();
        Frame {
            wire: bytes.len() as u32,
            bytes,
            at: frame.at,
        }
    };
    frames.into_iter().map(wrap).collect()
}

fn another() -> Vec<Tcp> {
    let change = |mut packet: Tcp| {
        packet.at_us += 150;
        let (client, server) = match packet.from_client {
            true => (&mut packet.sequence, &mut packet.acknowledgement),
            false => (&mut packet.acknowledgement, &mut packet.sequence),
        };
        *client += if *client == 0 { 0 } else { 77_000 };
        *server += if *server == 0 { 0 } else { 99_000 };
        packet
    };
    conversation().into_iter().map(change).collect()
}

#[test]
fn the_same_addresses_in_two_virtual_networks_are_two_connections() {
    type Wrap = fn(Vec<Frame>, u16) -> Vec<Frame>;
    let wraps: [(&str, Wrap); 2] = [
        ("VLAN", tagged),
        ("VXLAN", |frames, network| in_vxlan(frames, u32::from(network))),
    ];
    for (what, wrap) in wraps {
        let mut frames = wrap(seen(&conversation(), SERVICE, |_, _| true), 10);
        frames.extend(wrap(seen(&another(), SERVICE, |_, _| true), 20));
        let connections = read_frames(frames);
        assert_eq!(connections.len(), 2, "{what}");
        for connection in &connections {
            assert_whole(connection, what);
        }
    }
}

#[test]
fn one_connection_with_other_tags_each_way_or_with_and_without_tags_is_one() {
    let requests = |_: usize, packet: &Tcp| packet.from_client;
    let replies = |_: usize, packet: &Tcp| !packet.from_client;
    let mut each_way = tagged(seen(&conversation(), SERVICE, requests), 10);
    each_way.extend(tagged(seen(&conversation(), SERVICE, replies), 20));
    let mut one_way = seen(&conversation(), SERVICE, requests);
    one_way.extend(tagged(seen(&conversation(), SERVICE, replies), 20));
    let behind = View {
        depth_us: 5,
        ..SERVICE
    };
    let mut both = tagged(seen(&conversation(), SERVICE, |_, _| true), 10);
    both.extend(seen(&conversation(), behind, |_, _| true));
    for (what, frames) in [("each way", each_way), ("one way", one_way), ("copies", both)] {
        let connections = read_frames(frames);
        assert_eq!(connections.len(), 1, "{what}");
        assert_whole(&connections[0], what);
    }
}

#[test]
fn recorded_translations_count_once() {
    for (name, connections) in [
        ("translated/e1-dnat.pcap", 1),
        ("translated/nat-real-redis.pcap", 1),
        ("translated/same-addresses-two-vlans.pcap", 2),
    ] {
        let (seen, _) = read_bytes(&data(name)).expect("a capture");
        assert_eq!(seen.len(), connections, "{name}");
        for connection in &seen {
            assert_eq!(connection.totals().retransmitted_packets, Some(0), "{name}");
        }
    }
}

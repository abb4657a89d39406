//! Encapsulated connections equal those on plain Ethernet; unsupported encapsulations are named.

#![allow(clippy::disallowed_types, reason = "the test asks tshark, which is a process")]

mod support;

use model::Direction::{ClientToServer, ServerToClient};
use model::PerDirection;
use std::process::Command;
use support::build::{self, Frame, NANO, Tcp, tcp};
use support::{read_bytes, read_flawless};

fn conversation() -> Vec<Tcp> {
    let mut packets = build::handshake();
    packets.push(tcp(500, true, "PA", 1001, 5001).with(b"select 1"));
    packets.push(tcp(900, false, "PA", 5001, 1009).with(b"one"));
    packets.push(tcp(1000, true, "FA", 1009, 5004));
    packets.push(tcp(1300, false, "FA", 5004, 1010));
    packets.push(tcp(1400, true, "A", 1010, 5005));
    packets
}

const ETHERNET: [u8; 12] = [2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2];

fn over_ip(protocol: u8, payload: &[u8]) -> Vec<u8> {
    let total = (20 + payload.len() as u16).to_be_bytes();
    let header = [
        0x45, 0, total[0], total[1], 0, 0, 0, 0, 64, protocol, 0, 0, 192, 0, 2, 1, 192, 0, 2, 2,
    ];
    [&ETHERNET[..], &[8, 0], &header, payload].concat()
}

fn over_udp(port: u16, payload: &[u8]) -> Vec<u8> {
    let length = 8 + payload.len() as u16;
    let words = [51_000, port, length, 0].map(u16::to_be_bytes).concat();
    over_ip(17, &[words, payload.to_vec()].concat())
}

fn over_ethernet(kind: u16, payload: &[u8]) -> Vec<u8> {
    [&ETHERNET[..], &kind.to_be_bytes(), payload].concat()
}

fn wrapped(wrap: &dyn Fn(&[u8]) -> Vec<u8>) -> Vec<u8> {
    build::pcap(NANO, &frames(wrap))
}

fn frames(wrap: &dyn Fn(&[u8]) -> Vec<u8>) -> Vec<Frame> {
    conversation()
        .iter()
        .map(|packet| {
            let frame = packet.frame();
            let bytes = wrap(&frame.bytes);
            Frame {
                wire: bytes.len() as u32,
                bytes,
                at: frame.at,
            }
        })
        .collect()
}

type Wrap = Box<dyn Fn(&[u8]) -> Vec<u8>>;

#[expect(clippy::too_many_lines, reason = "a list")]
fn wraps() -> Vec<(&'static str, Wrap)> {
    let gre = |flags: u16, kind: u16, head: Vec<u8>, skip: usize| -> Wrap {
        Box::new(move |frame: &[u8]| {
            let words = [flags, kind].map(u16::to_be_bytes).concat();
            over_ip(47, &[&words[..], &head, &frame[skip..]].concat())
        })
    };
    let vxlan = [8, 0, 0, 0, 0, 0, 42, 0];
    let geneve = |options: u8, kind: u16, skip: usize| -> Wrap {
        Box::new(move |frame: &[u8]| {
            let kind = kind.to_be_bytes();
            let head = [options, 0, kind[0], kind[1], 0, 0, 42, 0];
            let options = vec![0; usize::from(options) * 4];
            over_udp(6081, &[&head[..], &options, &frame[skip..]].concat())
        })
    };
    vec![
        (
            "VXLAN",
            Box::new(move |frame: &[u8]| over_udp(4789, &[&vxlan[..], frame].concat())) as Wrap,
        ),
        (
            "VXLAN of flannel",
            Box::new(move |frame: &[u8]| over_udp(8472, &[&vxlan[..], frame].concat())),
        ),
        ("Geneve of frames", geneve(0, 0x6558, 0)),
        ("Geneve with options", geneve(3, 0x6558, 0)),
        ("Geneve of packets", geneve(0, 0x0800, 14)),
        ("GRE", gre(0, 0x0800, vec![], 14)),
        ("GRE with all fields", gre(0xb000, 0x0800, vec![0; 12], 14)),
        ("GRE of frames", gre(0x2000, 0x6558, vec![0; 4], 0)),
        ("ERSPAN I", gre(0, 0x88be, vec![], 0)),
        (
            "ERSPAN II",
            gre(
                0x1000,
                0x88be,
                [vec![0, 0, 0, 1], vec![0x10, 1, 0, 42, 0, 0, 0, 7]].concat(),
                0,
            ),
        ),
        (
            "ERSPAN III",
            gre(
                0x1000,
                0x22eb,
                [vec![0, 0, 0, 1], vec![0x20, 1, 0, 42], vec![0; 8]].concat(),
                0,
            ),
        ),
        (
            "ERSPAN III with a subheader",
            gre(
                0x1000,
                0x22eb,
                [
                    vec![0, 0, 0, 1],
                    vec![0x20, 1, 0, 42],
                    vec![0; 7],
                    vec![1],
                    vec![0; 8],
                ]
                .concat(),
                0,
            ),
        ),
        ("IP in IP", Box::new(|frame: &[u8]| over_ip(4, &frame[14..]))),
        (
            "MPLS",
            Box::new(|frame: &[u8]| {
                over_ethernet(0x8847, &[&[0, 1, 0, 64, 0, 2, 1, 64][..], &frame[14..]].concat())
            }),
        ),
        (
            "MPLS pseudowire with a control word",
            Box::new(|frame: &[u8]| over_ethernet(0x8847, &[&[0, 1, 1, 64, 0, 0, 0, 0][..], frame].concat())),
        ),
        (
            "MPLS in UDP",
            Box::new(|frame: &[u8]| over_udp(6635, &[&[0, 1, 1, 64][..], &frame[14..]].concat())),
        ),
        (
            "PPPoE",
            Box::new(|frame: &[u8]| {
                let length = (frame.len() as u16 - 12).to_be_bytes();
                over_ethernet(
                    0x8864,
                    &[&[0x11, 0, 0, 1, length[0], length[1], 0, 0x21][..], &frame[14..]].concat(),
                )
            }),
        ),
    ]
    .into_iter()
    .chain(tags())
    .chain(copies())
    .collect()
}

fn tags() -> Vec<(&'static str, Wrap)> {
    let tag = |kind: u16, head: &'static [u8]| -> Wrap {
        Box::new(move |frame: &[u8]| over_ethernet(kind, &[head, &frame[12..]].concat()))
    };
    let with_length = |head: &'static [u8], skip: usize| -> Wrap {
        Box::new(move |frame: &[u8]| {
            let rest = [head, &frame[skip..]].concat();
            over_ethernet(rest.len() as u16, &rest)
        })
    };
    vec![
        ("VN-Tag", tag(0x8926, &[0x80, 0x0c, 0, 0x10])),
        (
            "VN-Tag and VLAN",
            tag(0x8926, &[0x80, 0x0c, 0, 0x10, 0x81, 0, 0, 42]),
        ),
        ("Cisco MetaData", tag(0x8909, &[1, 1, 0, 1, 0, 17])),
        (
            "Cisco MetaData behind a VLAN",
            tag(0x8100, &[0, 42, 0x89, 9, 1, 1, 0, 1, 0, 17]),
        ),
        ("HSR", tag(0x892f, &[0x10, 0x40, 0, 7])),
        (
            "PBB",
            Box::new(|frame: &[u8]| over_ethernet(0x88e7, &[&[0, 0, 0, 42][..], frame].concat())),
        ),
        ("LLC/SNAP", with_length(&[0xaa, 0xaa, 3, 0, 0, 0], 12)),
        (
            "LLC/SNAP with a VLAN inside",
            with_length(&[0xaa, 0xaa, 3, 0, 0, 0, 0x81, 0, 0, 42], 12),
        ),
        ("802.1H", with_length(&[0xaa, 0xaa, 3, 0, 0, 0xf8], 12)),
        ("LLC of IP", with_length(&[6, 6, 3], 14)),
    ]
}

/// Copies of frames that devices send to an observer, and tunnels of mobile networks.
fn copies() -> Vec<(&'static str, Wrap)> {
    let over = |port: u16, head: &'static [u8], skip: usize| -> Wrap {
        Box::new(move |frame: &[u8]| over_udp(port, &[head, &frame[skip..]].concat()))
    };
    vec![
        ("TZSP", over(37008, &[1, 0, 0, 1, 1], 0)),
        (
            "TZSP with fields",
            over(37008, &[1, 0, 0, 1, 0, 10, 1, 0xd0, 0, 41, 2, 0, 60, 1], 0),
        ),
        (
            "VXLAN-GPE of Ethernet",
            over(4790, &[0x0c, 0, 0, 3, 0, 0, 42, 0], 0),
        ),
        ("VXLAN-GPE of IP", over(4790, &[0x0c, 0, 0, 1, 0, 0, 42, 0], 14)),
        (
            "GTP-U",
            Box::new(|frame: &[u8]| {
                let length = (frame.len() as u16 - 14).to_be_bytes();
                over_udp(
                    2152,
                    &[&[0x30, 255, length[0], length[1], 0, 0, 0, 9][..], &frame[14..]].concat(),
                )
            }),
        ),
        (
            "GTP-U with an extension",
            Box::new(|frame: &[u8]| {
                let length = (frame.len() as u16 - 14 + 8).to_be_bytes();
                let head = [
                    0x34, 255, length[0], length[1], 0, 0, 0, 9, 0, 0, 0, 0x85, 1, 0, 9, 0,
                ];
                over_udp(2152, &[&head[..], &frame[14..]].concat())
            }),
        ),
        (
            "EtherIP",
            Box::new(|frame: &[u8]| over_ip(97, &[&[0x30, 0][..], frame].concat())),
        ),
    ]
}

#[test]
fn what_a_tunnel_carries_is_read_one_level_deep() {
    for (name, wrap) in wraps() {
        let observed = read_flawless(&wrapped(&wrap));
        let [connection] = &observed[..] else {
            panic!("{name}: one connection, not {}", observed.len())
        };
        assert_eq!(connection.stream(ClientToServer), b"select 1", "{name}");
        assert_eq!(connection.stream(ServerToClient), b"one", "{name}");
        assert!(connection.certain && connection.handshake.is_some(), "{name}");
        assert_eq!(
            connection.totals().packets,
            Some(PerDirection::new(5, 3)),
            "{name}"
        );
        let bytes: u64 = conversation()
            .iter()
            .map(|packet| wrap(&packet.frame().bytes).len() as u64)
            .sum();
        assert_eq!(
            connection.totals().wire_bytes.map(|both| both.iter().sum()),
            Some(bytes),
            "{name}"
        );
    }
}

#[test]
fn tunnels_are_those_that_tshark_sees() {
    // tshark shows a pseudowire's Ethernet only if it gets the label.
    let shown: Vec<_> = wraps()
        .into_iter()
        .filter(|(name, _)| !name.contains("pseudowire"))
        .collect();
    let frames: Vec<Frame> = shown.iter().flat_map(|(_, wrap)| frames(wrap)).collect();
    let mut file = tempfile::NamedTempFile::new().expect("file");
    std::io::Write::write_all(&mut file, &build::pcap(NANO, &frames)).expect("written");
    let output = Command::new("tshark")
        .args(["-n", "-d", "udp.port==6635,mpls", "-d", "udp.port==8472,vxlan"])
        .arg("-r")
        .arg(file.path())
        .args(["-Y", "tcp.len > 0", "-T", "fields", "-e", "tcp.payload"])
        .output()
        .expect("tshark runs: it is installed by `make test`, or by `apt install tshark`");
    let payloads = String::from_utf8_lossy(&output.stdout).into_owned();
    let payloads: Vec<&str> = payloads.lines().collect();
    let hexadecimal = |text: &str| text.bytes().map(|byte| format!("{byte:02x}")).collect::<String>();
    let expected = [hexadecimal("select 1"), hexadecimal("one")];
    assert_eq!(payloads.len(), 2 * shown.len());
    for ((name, _), payloads) in shown.iter().zip(payloads.chunks(2)) {
        assert_eq!(payloads, expected, "{name}");
    }
}

#[test]
fn what_cannot_be_opened_is_named() {
    let vxlan = |frame: &[u8]| over_udp(4789, &[&[8, 0, 0, 0, 0, 0, 42, 0][..], frame].concat());
    let cases: Vec<(&str, Wrap)> = vec![
        ("IPsec (encrypted)", Box::new(|frame: &[u8]| over_ip(50, frame))),
        (
            "IPsec (encrypted)",
            Box::new(|frame: &[u8]| over_udp(4500, frame)),
        ),
        (
            "GRE of PPTP",
            Box::new(|frame: &[u8]| over_ip(47, &[&[0x30, 1, 0x88, 0x0b][..], frame].concat())),
        ),
        (
            "GRE",
            Box::new(|frame: &[u8]| over_ip(47, &[&[0, 0, 0x88, 0x99][..], frame].concat())),
        ),
        ("VXLAN", Box::new(move |frame: &[u8]| vxlan(&vxlan(frame)))),
        (
            "TZSP",
            Box::new(|frame: &[u8]| over_udp(37008, &[&[2, 0, 0, 1, 1][..], frame].concat())),
        ),
        (
            "WireGuard (encrypted)",
            Box::new(|frame: &[u8]| over_udp(51820, frame)),
        ),
        ("L2TPv3", Box::new(|frame: &[u8]| over_ip(115, frame))),
        (
            "MACsec (encrypted)",
            Box::new(|frame: &[u8]| over_ethernet(0x88e5, frame)),
        ),
        (
            "Cisco FabricPath",
            Box::new(|frame: &[u8]| over_ethernet(0x8903, frame)),
        ),
        (
            "frames of EtherType 0x1234, which longwire does not know,",
            Box::new(|frame: &[u8]| over_ethernet(0x1234, frame)),
        ),
    ];
    for (name, wrap) in cases {
        let (observed, report) = read_bytes(&wrapped(&wrap)).expect("a capture");
        assert!(observed.is_empty(), "{name}");
        let warning = format!("8 packets in {name} that could not be opened");
        assert!(
            report.warnings.iter().any(|one| one.text.contains(&warning)),
            "{name}: {:?}",
            report.warnings
        );
        assert_eq!(report.warnings.len(), 1, "{:?}", report.warnings);
    }
}

/// A capture without TCP names its most frequent contents. ARP and LLDP are not missing data.
#[test]
fn what_a_capture_without_tcp_has_is_named() {
    let cases: [(&str, Wrap); 3] = [
        (
            " (8 of 8 packets are UDP to port 5555)",
            Box::new(|frame: &[u8]| over_udp(5555, frame)),
        ),
        (
            " (8 of 8 packets are of IP protocol 132)",
            Box::new(|frame: &[u8]| over_ip(132, frame)),
        ),
        (
            "no TCP packet;",
            Box::new(|frame: &[u8]| over_ethernet(0x88cc, frame)),
        ),
    ];
    for (words, wrap) in cases {
        let (_, report) = read_bytes(&wrapped(&wrap)).expect("a capture");
        let [warning] = &report.warnings[..] else {
            panic!("{:?}", report.warnings)
        };
        assert!(warning.text.contains(words), "{}", warning.text);
    }
}

/// UDP inside a tunnel is not a connection, and no data is missing.
#[test]
fn other_protocols_inside_are_passed_over() {
    let wrap = |frame: &[u8]| {
        let mut inner = frame.to_vec();
        inner[23] = 17;
        over_udp(4789, &[&[8, 0, 0, 0, 0, 0, 42, 0][..], &inner].concat())
    };
    let (observed, report) = read_bytes(&wrapped(&wrap)).expect("a capture");
    assert!(observed.is_empty());
    assert_eq!(report.warnings.len(), 1, "{:?}", report.warnings);
    assert!(
        report.warnings[0].text.contains("no TCP packet"),
        "{:?}",
        report.warnings
    );
}

//! Runs the programs of tcpdump and of longwire on the same packets and compares the results.

#![allow(
    clippy::disallowed_types,
    reason = "the test asks tcpdump, which is a process"
)]

use capture::filter::{FilterError, Instruction, PacketFilter};
use etherparse::PacketBuilder;
use proptest::prelude::*;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::process::Command;
use std::sync::OnceLock;

/// Few hosts and ports, so that expressions often match.
const FOUR: [[u8; 4]; 4] = [[10, 0, 0, 1], [10, 0, 1, 2], [192, 168, 7, 9], [127, 0, 0, 1]];
const SIX: [&str; 3] = ["2001:db8::1", "2001:db8:0:1::2", "::1"];
const PORTS: [u16; 5] = [22, 443, 5432, 5433, 40_000];

/// A packet on the wire, with the kernel's metadata for a packet socket.
#[derive(Debug, Clone)]
struct Packet {
    name: String,
    frame: Vec<u8>,
    is_later_fragment: bool,
}

impl std::fmt::Display for Packet {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "{} {:02x?}", self.name, self.frame)
    }
}

fn tcp_packets() -> Vec<Packet> {
    let mut all = Vec::new();
    for from in PORTS {
        for to in PORTS.into_iter().filter(|to| *to != from) {
            for (source, destination) in [(0, 1), (1, 2), (2, 3), (3, 3)] {
                let build = PacketBuilder::ethernet2([2; 6], [4; 6])
                    .ipv4(FOUR[source], FOUR[destination], 64)
                    .tcp(from, to, 1, 1000);
                all.push(packet("IPv4", written(build, b"select 1")));
            }
            for (source, destination) in [(0, 1), (1, 2)] {
                let address = |place: usize| SIX[place].parse::<Ipv6Addr>().expect("an address").octets();
                let build = PacketBuilder::ethernet2([2; 6], [4; 6])
                    .ipv6(address(source), address(destination), 64)
                    .tcp(from, to, 1, 1000);
                all.push(packet("IPv6", written(build, b"select 1")));
            }
        }
    }
    all
}

fn written(build: etherparse::PacketBuilderStep<etherparse::TcpHeader>, payload: &[u8]) -> Vec<u8> {
    let mut frame = Vec::new();
    build.write(&mut frame, payload).expect("a vector takes all");
    frame
}

fn packet(name: &str, frame: Vec<u8>) -> Packet {
    Packet {
        name: name.to_owned(),
        frame,
        is_later_fragment: false,
    }
}

/// Other protocols, IP options, fragments, truncated packets.
fn odd_packets() -> Vec<Packet> {
    let four = tcp_packets().swap_remove(0).frame;
    let six = tcp_packets().swap_remove(4).frame;
    let mut all = Vec::new();
    let mut udp = Vec::new();
    PacketBuilder::ethernet2([2; 6], [4; 6])
        .ipv4(FOUR[0], FOUR[1], 64)
        .udp(22, 5432)
        .write(&mut udp, b"x")
        .expect("a vector takes all");
    all.push(packet("UDP", udp));
    let mut arp = four.clone();
    arp[12..14].copy_from_slice(&[8, 6]);
    arp[14..16].copy_from_slice(&[0, 1]);
    all.push(packet("ARP", arp));
    let mut options = four.clone();
    options[14] = 0x47;
    options.splice(34..34, [1; 8]);
    all.push(packet("IPv4 with options", options));
    for (name, place, is_later) in [
        ("first fragment", 0x2000_u16, false),
        ("later fragment", 0x2010, true),
    ] {
        let mut fragment = four.clone();
        fragment[20..22].copy_from_slice(&place.to_be_bytes());
        all.push(Packet {
            is_later_fragment: is_later,
            ..packet(name, fragment)
        });
    }
    let mut hops = six.clone();
    hops[20] = 0;
    all.push(packet("IPv6 with another header", hops));
    for length in [0, 13, 14, 20, 33, 34, 36] {
        all.push(packet(CUT, four[..length].to_vec()));
    }
    all
}

const CUT: &str = "cut";

/// tcpdump's programs for Ethernet, from `tcpdump -dd`.
fn tcpdumps_program(expression: &str) -> Vec<Instruction> {
    let output = Command::new("tcpdump")
        .args(["-y", "EN10MB", "-r"])
        .arg(empty_capture())
        .args(["-dd", &format!("tcp and ({expression})")])
        .output()
        .expect("tcpdump runs: it is installed by `make test`");
    let text = String::from_utf8_lossy(&output.stdout);
    let said = String::from_utf8_lossy(&output.stderr);
    if said.contains("expression rejects all packets") {
        return vec![REJECT];
    }
    assert!(output.status.success(), "{expression}: {said}");
    let lines = text.lines().filter(|line| line.starts_with('{'));
    let program = lines.map(|line| {
        let numbers: Vec<u32> = line
            .trim_matches(|other: char| "{} ,".contains(other))
            .split(", ")
            .map(|number| match number.strip_prefix("0x") {
                Some(digits) => u32::from_str_radix(digits, 16).expect("a number"),
                None => number.parse().expect("a number"),
            })
            .collect();
        Instruction {
            code: numbers[0] as u16,
            on_true: numbers[1] as u8,
            on_false: numbers[2] as u8,
            k: numbers[3],
        }
    });
    program.collect()
}

const REJECT: Instruction = Instruction {
    code: 0x06,
    on_true: 0,
    on_false: 0,
    k: 0,
};

/// A capture of Ethernet without packets: tcpdump takes the link layer from it.
fn empty_capture() -> &'static std::path::Path {
    static FILE: OnceLock<tempfile::TempPath> = OnceLock::new();
    FILE.get_or_init(|| {
        let file = tempfile::NamedTempFile::new().expect("a temporary file");
        let mut header = Vec::from(0xa1b2_c3d4_u32.to_ne_bytes());
        for number in [0x0004_0002_u32, 0, 0, 65_535, 1] {
            header.extend(number.to_ne_bytes());
        }
        std::fs::write(file.path(), header).expect("it can be written");
        file.into_temp_path()
    })
}

#[derive(Debug, Clone, Copy)]
struct Around {
    interface: u32,
    device: u32,
    packet_type: u32,
    network: usize,
}

const ARRIVED: Around = Around {
    interface: 2,
    device: 1,
    packet_type: 0,
    network: 14,
};

/// Runs classic BPF as Linux does (`Documentation/networking/filter.rst`), with offsets from the
/// network header and the kernel's metadata.
fn passes(program: &[Instruction], frame: &[u8], around: Around) -> bool {
    let (mut a, mut x, mut memory) = (0_u32, 0_u32, [0_u32; 16]);
    let mut at = 0;
    let load = |offset: u32, width: usize| -> Option<u32> {
        match offset {
            0xffff_f004 => return Some(around.packet_type),
            0xffff_f008 => return Some(around.interface),
            0xffff_f01c => return Some(around.device),
            _ => {}
        }
        let from = match offset.checked_sub(0xfff0_0000) {
            Some(behind) => around.network + behind as usize,
            None => offset as usize,
        };
        let bytes = frame.get(from..from + width)?;
        Some(
            bytes
                .iter()
                .fold(0, |number, byte| number << 8 | u32::from(*byte)),
        )
    };
    loop {
        let Instruction {
            code,
            on_true,
            on_false,
            k,
        } = program[at];
        at += 1;
        let width = match code & 0x18 {
            0x00 => 4,
            0x08 => 2,
            _ => 1,
        };
        let branch = |holds: bool| usize::from(if holds { on_true } else { on_false });
        match code {
            0x00 => a = k,
            0x01 => x = k,
            0x60 => a = memory[k as usize],
            0x61 => x = memory[k as usize],
            0x02 => memory[k as usize] = a,
            0x03 => memory[k as usize] = x,
            0x04 => a = a.wrapping_add(k),
            0x0c => a = a.wrapping_add(x),
            0x54 => a &= k,
            0x64 => a <<= k,
            0x74 => a >>= k,
            0x07 => x = a,
            0x87 => a = x,
            0x05 => at += k as usize,
            0x15 => at += branch(a == k),
            0x25 => at += branch(a > k),
            0x35 => at += branch(a >= k),
            0x45 => at += branch(a & k != 0),
            0x06 => return k != 0,
            0x16 => return a != 0,
            0x20 | 0x28 | 0x30 => match load(k, width) {
                Some(loaded) => a = loaded,
                None => return false,
            },
            0x40 | 0x48 | 0x50 => match load(x.wrapping_add(k), width) {
                Some(loaded) => a = loaded,
                None => return false,
            },
            0xb1 => match load(k, 1) {
                Some(loaded) => x = 4 * (loaded & 0x0f),
                None => return false,
            },
            other => panic!("no instruction: {other:#x}"),
        }
    }
}

fn tagged(frame: &[u8]) -> Vec<u8> {
    let mut tagged = frame.to_vec();
    tagged.splice(12.min(frame.len())..12.min(frame.len()), [0x81, 0, 0, 7]);
    tagged
}

fn names(name: &str) -> Vec<IpAddr> {
    match name {
        "db1" => vec![
            IpAddr::V4(Ipv4Addr::from(FOUR[1])),
            SIX[0].parse().expect("an address"),
        ],
        _ => Vec::new(),
    }
}

fn parsed(expression: &str) -> Result<PacketFilter, FilterError> {
    PacketFilter::parse(expression, &names)
}

/// Both programs agree on every packet. The exception is a later fragment, which has no ports:
/// tcpdump reads one from its payload; longwire lets it pass.
fn agrees(expression: &str) {
    let ours = parsed(expression).unwrap_or_else(|error| panic!("{expression}: {error}"));
    let ours = ours.program(&[]).expect("it is short");
    let theirs = tcpdumps_program(expression);
    for packet in tcp_packets().iter().chain(&odd_packets()) {
        let pass = passes(&ours, &packet.frame, ARRIVED);
        if packet.name == CUT {
            // The order of two loads, and so the condition that fails for a truncated packet, may
            // differ.
            continue;
        }
        let expected = passes(&theirs, &packet.frame, ARRIVED);
        let fits = pass == expected || (packet.is_later_fragment && pass && expression.contains("port"));
        assert!(
            fits,
            "{expression}: longwire {pass}, tcpdump {expected}: {packet}"
        );
        if packet.frame.len() >= 14 {
            let mut frame = packet.frame.clone();
            for tags in 1..=2 {
                frame = tagged(&frame);
                assert_eq!(
                    passes(&ours, &frame, ARRIVED),
                    pass,
                    "with {tags} VLAN tags: {expression}: {packet}"
                );
            }
            let (bare, around) = (
                &packet.frame[14..],
                Around {
                    device: 65_534,
                    network: 0,
                    ..ARRIVED
                },
            );
            let is_ip = packet.frame[12..14] == [8, 0] || packet.frame[12..14] == [0x86, 0xdd];
            if is_ip {
                assert_eq!(
                    passes(&ours, bare, around),
                    pass,
                    "without a link layer: {expression}: {packet}"
                );
            }
        }
    }
}

#[test]
fn every_form_of_a_condition_is_tcpdumps() {
    for expression in [
        "tcp",
        "ip",
        "ip6",
        "not ip6",
        "host 10.0.0.1",
        "src host 10.0.0.1",
        "dst 10.0.1.2",
        "src or dst host 10.0.1.2",
        "src and dst host 127.0.0.1",
        "host 2001:db8::1",
        "dst host ::1",
        "net 10.0.0.0/8",
        "net 10",
        "net 192.168",
        "src net 10.0.1",
        "dst net 10.0.1.0/24",
        "net 2001:db8::/32",
        "src net 2001:db8:0:1::/64",
        "not net 2001:db8::/31",
        "net 0.0.0.0/0",
        "port 5432",
        "src port 5432",
        "dst port 5432",
        "src and dst port 5432",
        "tcp port 443",
        "ip host 10.0.0.1",
        "ip6 and port 443",
        "portrange 5432-5433",
        "src portrange 23-5432",
        "not port 22",
        "! port 22",
        "port 22 or 443",
        "host 10.0.0.1 and port 443",
        "host 10.0.0.1 && (port 22 || port 443)",
        "port (22 or 443)",
        "not (port 22 or host 10.0.0.1)",
        "not port 22 and not port 443",
        "port 22 and host 10.0.0.1 or port 443 and host 192.168.7.9",
        "port 22 or port 443 and host 10.0.0.1",
        "not host 10.0.0.1 and 192.168.7.9",
    ] {
        agrees(expression);
    }
}

fn conditions() -> impl Strategy<Value = String> {
    let end = prop_oneof![Just(""), Just("src "), Just("dst ")];
    let hosts = FOUR.iter().map(|address| Ipv4Addr::from(*address).to_string());
    let hosts: Vec<String> = hosts
        .chain(SIX.iter().map(|&address| address.to_owned()))
        .collect();
    let ports = PORTS.map(|port| port.to_string()).to_vec();
    let leaf = (
        end,
        prop_oneof![
            proptest::sample::select(hosts).prop_map(|host| format!("host {host}")),
            proptest::sample::select(ports).prop_map(|port| format!("port {port}")),
            Just("net 10.0.0.0/8".to_owned()),
            Just("portrange 443-5432".to_owned()),
        ],
    )
        .prop_map(|(end, what)| format!("{end}{what}"));
    leaf.prop_recursive(5, 24, 2, |inner| {
        prop_oneof![
            inner.clone().prop_map(|inner| format!("not ({inner})")),
            (inner.clone(), inner.clone()).prop_map(|(left, right)| format!("({left}) and ({right})")),
            (inner.clone(), inner).prop_map(|(left, right)| format!("{left} or {right}")),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn conditions_of_conditions_are_tcpdumps(expression in conditions()) {
        agrees(&expression);
    }

    #[test]
    fn no_text_makes_it_fail_otherwise_than_by_an_error(text in "[ a-z0-9.:/()!&|-]{0,60}") {
        if let Ok(filter) = parsed(&text) {
            let program = filter.program(&[]).expect("so few conditions fit");
            passes(&program, &tcp_packets()[0].frame, ARRIVED);
        }
    }
}

#[test]
fn a_name_stands_for_all_its_addresses() {
    let program = parsed("host db1")
        .and_then(|filter| filter.program(&[]))
        .expect("it is understood");
    let both = parsed("host 10.0.1.2 or host 2001:db8::1")
        .and_then(|filter| filter.program(&[]))
        .expect("it is understood");
    for packet in tcp_packets() {
        assert_eq!(
            passes(&program, &packet.frame, ARRIVED),
            passes(&both, &packet.frame, ARRIVED),
            "{packet}"
        );
    }
}

#[test]
fn targets_and_ports_are_added_and_the_expression_narrows_them() {
    let server = PacketFilter::endpoint(IpAddr::V4(Ipv4Addr::from(FOUR[1])), 5432);
    let filter = PacketFilter::any_of(vec![server, PacketFilter::port(443)]);
    let filter = filter.and(parsed("not net 192.168").expect("it is understood"));
    let program = filter.program(&[]).expect("it is short");
    let same = "((src host 10.0.1.2 and src port 5432) or (dst host 10.0.1.2 and dst port 5432) or port 443) and not net 192.168";
    let theirs = tcpdumps_program(same);
    let passed: Vec<bool> = tcp_packets()
        .iter()
        .map(|packet| passes(&program, &packet.frame, ARRIVED))
        .collect();
    let expected: Vec<bool> = tcp_packets()
        .iter()
        .map(|packet| passes(&theirs, &packet.frame, ARRIVED))
        .collect();
    assert_eq!(passed, expected);
    assert!(passed.contains(&true) && passed.contains(&false));
}

#[test]
fn the_loopback_shows_each_packet_once_and_other_interfaces_are_left_out() {
    let frame = &tcp_packets()[0].frame;
    let program = PacketFilter::tcp().program(&[]).expect("it is short");
    let loopback = Around {
        device: 772,
        ..ARRIVED
    };
    assert!(passes(&program, frame, loopback));
    assert!(!passes(
        &program,
        frame,
        Around {
            packet_type: 4,
            ..loopback
        }
    ));
    assert!(passes(
        &program,
        frame,
        Around {
            packet_type: 4,
            ..ARRIVED
        }
    ));
    let two = PacketFilter::tcp().program(&[2, 5]).expect("it is short");
    for (interface, expected) in [(2, true), (5, true), (3, false)] {
        assert_eq!(passes(&two, frame, Around { interface, ..ARRIVED }), expected);
    }
}

#[test]
fn a_condition_far_away_is_reached() {
    let hosts: Vec<String> = (0..200)
        .map(|number| format!("src host 172.16.3.{number}"))
        .collect();
    let expression = format!("not ({}) and port 5432", hosts.join(" or "));
    agrees(&expression);
    let many: Vec<String> = (0..1000)
        .map(|number| format!("host 2001:db8::{number}"))
        .collect();
    let refused = parsed(&many.join(" or ")).and_then(|filter| filter.program(&[]));
    assert_eq!(refused, Err(FilterError::TooLong));
    assert_eq!(parsed(&"(".repeat(100_000)), Err(FilterError::TooLong));
}

#[test]
fn an_error_says_where() {
    for (expression, expected) in [
        (
            "port 5432 adn host db1",
            "at 'adn' (character 11): 'and' or 'or' is expected",
        ),
        ("port", "at its end: a port is expected"),
        (
            "port postgresql",
            "at 'postgresql' (character 6): a port is a number from 0 to 65535",
        ),
        ("port 70000", "at '70000' (character 6)"),
        ("(port 1", "at its end: ')', 'and' or 'or' is expected"),
        ("port 1)", "at ')' (character 7): there is no '(' to it"),
        (
            "udp port 53",
            "at 'udp' (character 1): longwire looks at TCP only",
        ),
        (
            "host nowhere",
            "at 'nowhere' (character 6): no host of that name is known",
        ),
        (
            "net 10.0.0.1/8",
            "at '10.0.0.1/8' (character 5): it is no network",
        ),
        ("", "at its end: 'host', 'net', 'port'"),
        ("port 1 and", "at its end: 'host', 'net', 'port'"),
        ("5432", "at '5432' (character 1): 'host', 'net', 'port'"),
        ("üöä", "at 'üöä' (character 1)"),
        (
            "portrange 9-1",
            "at '9-1' (character 11): the first port of a range is the lower one",
        ),
    ] {
        let error = parsed(expression).expect_err(expression).to_string();
        assert!(
            error.starts_with("the filter is not understood") && error.contains(expected),
            "{expression}: {error}"
        );
    }
}

#[test]
fn an_error_repeats_only_the_beginning_of_a_long_word() {
    let error = parsed(&format!("host {}", "ü".repeat(100_000))).expect_err("no such host");
    let error = error.to_string();
    assert!(
        error.contains(&format!("at '{}...' (character 6)", "ü".repeat(40))) && error.len() < 300,
        "{error}"
    );
}

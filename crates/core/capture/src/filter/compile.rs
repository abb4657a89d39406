//! Compiles a condition to a program. Branches on the kind of packet first (IPv4, IPv6, fragment),
//! which decides most of the condition in advance.

use super::program::{Instruction, Label, Program, code};
use super::{End, FilterError, Network, Node, Test};
use std::net::IpAddr;

pub(super) fn program(condition: &Node, interfaces: &[u32]) -> Result<Vec<Instruction>, FilterError> {
    let mut program = Program::default();
    let ends = Ends {
        pass: program.label(),
        drop: program.label(),
    };
    only_interfaces(&mut program, interfaces, ends);
    find_network_header(&mut program, ends);
    let (four, not_four, six) = (program.label(), program.label(), program.label());
    program.push(code::RECALL, NETWORK);
    program.push(code::BYTE_FROM, 0);
    program.push(code::AND, 0xf0);
    program.branch(code::EQUAL, 0x40, four, not_four);
    program.place_label(not_four);
    program.branch(code::EQUAL, 0x60, six, ends.drop);
    program.place_label(four);
    version_4(&mut program, condition, ends);
    program.place_label(six);
    version_6(&mut program, condition, ends);
    program.place_label(ends.pass);
    program.push(code::RETURN, ALL_OF_IT);
    program.place_label(ends.drop);
    program.push(code::RETURN, 0);
    program.assemble()
}

#[derive(Clone, Copy)]
struct Ends {
    pass: Label,
    drop: Label,
}

fn only_interfaces(program: &mut Program, interfaces: &[u32], ends: Ends) {
    if interfaces.is_empty() {
        return;
    }
    let chosen = program.label();
    program.push(code::LOAD_WORD, INTERFACE);
    for interface in interfaces {
        let next = program.label();
        program.branch(code::EQUAL, *interface, chosen, next);
        program.place_label(next);
    }
    program.go(ends.drop);
    program.place_label(chosen);
}

/// Stores the offset of the IP header in `M[NETWORK]`. On Ethernet it counts from the start of the
/// frame: there the kernel can read bytes of a non-linear packet, and from the network header it
/// cannot.
fn find_network_header(program: &mut Program, ends: Ends) {
    let [loopback, not_loopback, ethernet, other, begin] = std::array::from_fn(|_| program.label());
    program.push(code::LOAD_WORD, DEVICE);
    program.branch(code::EQUAL, LOOPBACK, loopback, not_loopback);
    program.place_label(not_loopback);
    program.branch(code::EQUAL, ETHERNET, ethernet, other);
    program.place_label(loopback);
    program.push(code::LOAD_WORD, PACKET_TYPE);
    program.branch(code::EQUAL, OUTGOING, ends.drop, ethernet);
    program.place_label(ethernet);
    // The EtherType follows the addresses, and each VLAN tag.
    for tags in 0..=MAX_TAGS {
        let [untagged, not_customer, tagged] = std::array::from_fn(|_| program.label());
        program.push(code::LOAD_HALF, 12 + 4 * tags);
        program.branch(code::EQUAL, 0x8100, tagged, not_customer);
        program.place_label(not_customer);
        program.branch(code::EQUAL, 0x88a8, tagged, untagged);
        program.place_label(untagged);
        program.push(code::LOAD_NUMBER, 14 + 4 * tags);
        program.go(begin);
        program.place_label(tagged);
    }
    program.go(ends.drop);
    program.place_label(other);
    program.push(code::LOAD_NUMBER, NETWORK_HEADER);
    program.place_label(begin);
    program.push(code::KEEP, NETWORK);
}

fn version_4(program: &mut Program, condition: &Node, ends: Ends) {
    let [tcp, first, later] = std::array::from_fn(|_| program.label());
    program.push(code::BYTE_FROM, 9);
    program.branch(code::EQUAL, TCP, tcp, ends.drop);
    program.place_label(tcp);
    program.push(code::HALF_FROM, 6);
    program.branch(code::ANY_BIT, 0x1fff, later, first);
    program.place_label(first);
    program.push(code::BYTE_FROM, 0);
    program.push(code::AND, 0x0f);
    program.push(code::SHIFT, 2);
    program.push(code::ADD_INDEX, 0);
    program.push(code::KEEP, TRANSPORT);
    emit_condition(
        program,
        condition,
        Kind {
            six: false,
            later: false,
        },
        ends,
    );
    program.place_label(later);
    emit_condition(
        program,
        condition,
        Kind {
            six: false,
            later: true,
        },
        ends,
    );
}

fn version_6(program: &mut Program, condition: &Node, ends: Ends) {
    let [whole, not_tcp, fragment, of_tcp, first, later, transport] =
        std::array::from_fn(|_| program.label());
    program.push(code::BYTE_FROM, 6);
    program.branch(code::EQUAL, TCP, whole, not_tcp);
    program.place_label(not_tcp);
    program.branch(code::EQUAL, FRAGMENT, fragment, ends.drop);
    program.place_label(fragment);
    program.push(code::BYTE_FROM, 40);
    program.branch(code::EQUAL, TCP, of_tcp, ends.drop);
    program.place_label(of_tcp);
    program.push(code::HALF_FROM, 42);
    program.branch(code::ANY_BIT, 0xfff8, later, first);
    program.place_label(first);
    program.push(code::FROM_INDEX, 0);
    program.push(code::ADD, 48);
    program.go(transport);
    program.place_label(whole);
    program.push(code::FROM_INDEX, 0);
    program.push(code::ADD, 40);
    program.place_label(transport);
    program.push(code::KEEP, TRANSPORT);
    emit_condition(
        program,
        condition,
        Kind {
            six: true,
            later: false,
        },
        ends,
    );
    program.place_label(later);
    emit_condition(
        program,
        condition,
        Kind {
            six: true,
            later: true,
        },
        ends,
    );
}

/// Properties of a packet that are known before its condition is evaluated.
#[derive(Clone, Copy)]
struct Kind {
    six: bool,
    /// A later fragment, which has no ports.
    later: bool,
}

fn emit_condition(program: &mut Program, condition: &Node, kind: Kind, ends: Ends) {
    write(program, &reduced(condition, kind, true), ends.pass, ends.drop);
}

enum Reduced {
    Known(bool),
    Network(End, Network, bool),
    Ports(End, u16, u16, bool),
    All(Vec<Reduced>),
    Any(Vec<Reduced>),
}

/// Reduces a condition, or its negation if not `wanted`, for `kind`.
fn reduced(node: &Node, kind: Kind, wanted: bool) -> Reduced {
    match node {
        Node::Not(inner) => reduced(inner, kind, !wanted),
        Node::All(parts) | Node::Any(parts) => {
            let parts = parts.iter().map(|part| reduced(part, kind, wanted));
            // The negation of "all" is "any not".
            match matches!(node, Node::All(_)) == wanted {
                true => joined(parts, false, Reduced::All),
                false => joined(parts, true, Reduced::Any),
            }
        }
        Node::Test(Test::Tcp) => Reduced::Known(wanted),
        Node::Test(Test::Six) => Reduced::Known(kind.six == wanted),
        Node::Test(Test::Network(_, network)) if network.address.is_ipv6() != kind.six => {
            Reduced::Known(!wanted)
        }
        Node::Test(Test::Network(_, network)) if network.prefix == 0 => Reduced::Known(wanted),
        Node::Test(Test::Network(end, network)) => Reduced::Network(*end, *network, wanted),
        Node::Test(Test::Ports(..)) if kind.later => Reduced::Known(true),
        Node::Test(Test::Ports(end, first, last)) => Reduced::Ports(*end, *first, *last, wanted),
    }
}

/// Joins the undecided parts with `open`. A part known to be `decisive` decides; if all parts are
/// decided, the result is the opposite.
fn joined(
    parts: impl Iterator<Item = Reduced>,
    decisive: bool,
    open: fn(Vec<Reduced>) -> Reduced,
) -> Reduced {
    let mut left = Vec::new();
    for part in parts {
        match part {
            Reduced::Known(known) if known == decisive => return Reduced::Known(decisive),
            Reduced::Known(_) => {}
            Reduced::Network(..) | Reduced::Ports(..) | Reduced::All(_) | Reduced::Any(_) => left.push(part),
        }
    }
    match left.is_empty() {
        true => Reduced::Known(!decisive),
        false => open(left),
    }
}

fn write(program: &mut Program, condition: &Reduced, pass: Label, drop: Label) {
    match condition {
        Reduced::Known(true) => program.go(pass),
        Reduced::Known(false) => program.go(drop),
        Reduced::Network(end, network, wanted) => {
            let (yes, no) = if *wanted { (pass, drop) } else { (drop, pass) };
            within(program, *end, *network, yes, no);
        }
        Reduced::Ports(end, first, last, wanted) => {
            let (yes, no) = if *wanted { (pass, drop) } else { (drop, pass) };
            between(program, *end, *first, *last, yes, no);
        }
        Reduced::All(parts) => each(
            program,
            parts,
            |program, part, next| write(program, part, next, drop),
            pass,
        ),
        Reduced::Any(parts) => each(
            program,
            parts,
            |program, part, next| write(program, part, pass, next),
            drop,
        ),
    }
}

fn each(
    program: &mut Program,
    parts: &[Reduced],
    mut ask: impl FnMut(&mut Program, &Reduced, Label),
    at_last: Label,
) {
    for (place, part) in (1..).zip(parts) {
        if place == parts.len() {
            return ask(program, part, at_last);
        }
        let next = program.label();
        ask(program, part, next);
        program.place_label(next);
    }
}

/// Whether the address at `end` is in a network. Compares word by word, the last one masked.
fn within(program: &mut Program, end: End, network: Network, yes: Label, no: Label) {
    let (words, from) = match network.address {
        IpAddr::V4(address) => (vec![address.to_bits()], [12, 16]),
        IpAddr::V6(address) => {
            let bits = address.to_bits();
            let words = [96, 64, 32, 0].map(|shift| (bits >> shift) as u32);
            (words.to_vec(), [8, 24])
        }
    };
    let from = match end {
        End::Source => from[0],
        End::Destination => from[1],
    };
    program.push(code::RECALL, NETWORK);
    let mut left = network.prefix;
    for (place, word) in (0..).zip(words) {
        let bits = left.min(32);
        left -= bits;
        program.push(code::WORD_FROM, from + 4 * place);
        let mask = u32::MAX << (32 - bits);
        if mask != u32::MAX {
            program.push(code::AND, mask);
        }
        if left == 0 {
            return program.branch(code::EQUAL, word & mask, yes, no);
        }
        let next = program.label();
        program.branch(code::EQUAL, word & mask, next, no);
        program.place_label(next);
    }
}

fn between(program: &mut Program, end: End, first: u16, last: u16, yes: Label, no: Label) {
    let from = match end {
        End::Source => 0,
        End::Destination => 2,
    };
    program.push(code::RECALL, TRANSPORT);
    program.push(code::HALF_FROM, from);
    if first == last {
        return program.branch(code::EQUAL, u32::from(first), yes, no);
    }
    let next = program.label();
    program.branch(code::AT_LEAST, u32::from(first), next, no);
    program.place_label(next);
    program.branch(code::GREATER, u32::from(last), no, yes);
}

/// VLAN tags of a frame, besides the one that the kernel strips.
const MAX_TAGS: u32 = 2;
const NETWORK: u32 = 0;
const TRANSPORT: u32 = 1;
/// Metadata of a packet in the kernel, as offsets from `SKF_AD_OFF` (`linux/filter.h`).
const PACKET_TYPE: u32 = ANCILLARY + 4;
const INTERFACE: u32 = ANCILLARY + 8;
const DEVICE: u32 = ANCILLARY + 28;
const ANCILLARY: u32 = 0xffff_f000;
/// Offsets from the network header (`SKF_NET_OFF`).
const NETWORK_HEADER: u32 = 0xfff0_0000;
/// Device types as in `linux/if_arp.h`.
const ETHERNET: u32 = 1;
const LOOPBACK: u32 = 772;
const OUTGOING: u32 = 4;
const TCP: u32 = 6;
const FRAGMENT: u32 = 44;
const ALL_OF_IT: u32 = 0x7fff_ffff;

//! Damaged captures cause no panic or hang, use bounded memory, and are reported completely, with
//! missing data named.

use analysis::fact::Fact;
use model::{ConnectionEvent, ConnectionId, Observer, Warning};
use pipeline::decode::ConnectionDecoders;
use std::path::{Path, PathBuf};

fn captures() -> Vec<(PathBuf, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/captures");
    let entries = std::fs::read_dir(folder).expect("the captures are next to this test");
    let mut captures: Vec<(PathBuf, Vec<u8>)> = entries
        .map(|entry| entry.expect("the folder can be read").path())
        .map(|path| (path.clone(), std::fs::read(path).expect("a capture can be read")))
        .collect();
    captures.sort();
    captures
}

#[derive(Default)]
struct Outcome {
    turns: u64,
    connections: usize,
    payload_bytes: u64,
    exchange_bytes: u64,
    warnings: Vec<Warning>,
}

struct Collect {
    connections: ConnectionDecoders,
    outcome: Outcome,
}

impl Observer for Collect {
    fn event(&mut self, connection: ConnectionId, event: ConnectionEvent<'_>) {
        let outcome = &mut self.outcome;
        self.connections.event(connection, event, &mut |fact| match fact {
            Fact::Exchange { exchange, .. } => {
                outcome.exchange_bytes += exchange.request_bytes + exchange.reply_bytes
            }
            Fact::Closed(closed) => {
                outcome.turns += closed.turns;
                outcome.connections += 1;
                outcome.payload_bytes += closed.totals.payload_bytes.iter().sum::<u64>();
            }
            Fact::Opened { .. } | Fact::Started { .. } | Fact::Begun { .. } | Fact::Left { .. } => {}
        });
    }
}

fn read_capture(bytes: &[u8]) -> Option<Outcome> {
    let mut collect = Collect {
        connections: ConnectionDecoders::new(false),
        outcome: Outcome::default(),
    };
    let source = capture::Source::Stream {
        name: "test",
        reader: Box::new(bytes),
    };
    let report = capture::read_sources(vec![source], &mut collect).ok()?;
    collect.outcome.warnings = report.warnings;
    Some(collect.outcome)
}

const FILE_HEADER: usize = 24;
const PACKET_HEADER: usize = 16;

fn packets(capture: &[u8]) -> Vec<&[u8]> {
    let mut packets = Vec::new();
    let mut rest = &capture[FILE_HEADER..];
    while rest.len() >= PACKET_HEADER {
        let length = u32::from_le_bytes(rest[8..12].try_into().expect("four bytes")) as usize;
        let (packet, behind) = rest.split_at(PACKET_HEADER + length);
        packets.push(packet);
        rest = behind;
    }
    packets
}

fn capture_of<'a>(capture: &[u8], packets: impl IntoIterator<Item = &'a [u8]>) -> Vec<u8> {
    let mut bytes = capture[..FILE_HEADER].to_vec();
    for packet in packets {
        bytes.extend_from_slice(packet);
    }
    bytes
}

/// Pseudorandom xorshift, for the same damage in every run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit as u64) as usize
    }
}

#[test]
fn a_capture_cut_anywhere_gives_what_came_before() {
    for (path, bytes) in captures() {
        let whole = read_capture(&bytes).expect("an undamaged capture");
        assert!(
            whole.warnings.is_empty(),
            "{}: {:?}",
            path.display(),
            whole.warnings
        );
        // Every byte of small captures. Large ones repeat the same messages, so a step suffices.
        let step = if bytes.len() < 4_000 {
            1
        } else {
            bytes.len().div_ceil(300)
        };
        for end in (FILE_HEADER..bytes.len()).step_by(step) {
            let cut = read_capture(&bytes[..end]).expect("its beginning is still a capture");
            assert!(cut.turns <= whole.turns && cut.payload_bytes <= whole.payload_bytes);
            let inside_a_packet = !ends_with_a_packet(&bytes, end);
            assert!(
                !inside_a_packet || !cut.warnings.is_empty(),
                "{} cut at {end} goes unsaid",
                path.display()
            );
        }
        for end in 0..FILE_HEADER {
            assert!(
                read_capture(&bytes[..end]).is_none_or(|outcome| !outcome.warnings.is_empty()),
                "{end}"
            );
        }
    }
}

fn ends_with_a_packet(capture: &[u8], end: usize) -> bool {
    let mut at = FILE_HEADER;
    for packet in packets(capture) {
        if at >= end {
            break;
        }
        at += packet.len();
    }
    at == end
}

#[test]
fn flipped_bits_give_something_or_a_clear_refusal() {
    let mut numbers = Numbers(0x9e37_79b9_7f4a_7c15);
    for (_, bytes) in captures() {
        let rounds = (400_000 / bytes.len()).clamp(10, 200);
        for _ in 0..rounds {
            let mut damaged = bytes.clone();
            for _ in 0..=numbers.below(20) {
                let at = numbers.below(damaged.len());
                damaged[at] ^= 1 << numbers.below(8);
            }
            if let Some(outcome) = read_capture(&damaged) {
                assert!(outcome.connections <= packets(&bytes).len());
                assert!(outcome.exchange_bytes <= outcome.payload_bytes);
            }
        }
    }
}

#[test]
fn packets_that_come_twice_change_nothing() {
    for (path, bytes) in captures() {
        let whole = read_capture(&bytes).expect("an undamaged capture");
        let twice = capture_of(
            &bytes,
            packets(&bytes).into_iter().flat_map(|packet| [packet, packet]),
        );
        let twice = read_capture(&twice).expect("a capture");
        let facts = |outcome: &Outcome| (outcome.connections, outcome.turns, outcome.payload_bytes);
        assert_eq!(facts(&twice), facts(&whole), "{}", path.display());
    }
}

#[test]
fn packets_in_disorder_keep_their_bytes() {
    let mut numbers = Numbers(42);
    for (path, bytes) in captures() {
        let whole = read_capture(&bytes).expect("an undamaged capture");
        let mut order = packets(&bytes);
        for index in 0..order.len() {
            let near = (index + numbers.below(4)).min(order.len() - 1);
            order.swap(index, near);
        }
        let outcome = read_capture(&capture_of(&bytes, order)).expect("a capture");
        assert!(outcome.payload_bytes <= whole.payload_bytes, "{}", path.display());
        assert!(
            outcome.exchange_bytes <= outcome.payload_bytes,
            "{}",
            path.display()
        );
    }
}

#[test]
fn one_direction_alone_is_told_and_said() {
    for (path, bytes) in captures() {
        let all = packets(&bytes);
        // Client address and port from the first packet. Loopback frames are Ethernet, IPv4.
        let source = |packet: &[u8]| {
            packet
                .get(PACKET_HEADER + 34..PACKET_HEADER + 36)
                .map(<[u8]>::to_vec)
        };
        let client = source(all[0]);
        for keep_client in [true, false] {
            let half = all
                .iter()
                .copied()
                .filter(|packet| (source(packet) == client) == keep_client);
            let half: Vec<&[u8]> = half.collect();
            if half.is_empty() {
                continue;
            }
            let outcome = read_capture(&capture_of(&bytes, half)).expect("a capture");
            assert!(
                !outcome.warnings.is_empty(),
                "{}: no warning says that half is missing",
                path.display()
            );
        }
    }
}

#[test]
fn garbage_is_refused_and_never_read_for_ever() {
    let mut numbers = Numbers(7);
    for length in [0, 1, 3, 4, 23, 24, 25, 100, 10_000] {
        for _ in 0..50 {
            let bytes: Vec<u8> = (0..length).map(|_| numbers.below(256) as u8).collect();
            read_capture(&bytes);
            // The same garbage after a valid magic number.
            for magic in [
                [0xd4, 0xc3, 0xb2, 0xa1],
                [0xa1, 0xb2, 0x3c, 0x4d],
                [0x0a, 0x0d, 0x0d, 0x0a],
            ] {
                read_capture(&[&magic[..], &bytes].concat());
            }
        }
    }
}

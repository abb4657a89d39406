//! Key logs in pcapng files (Decryption Secrets Blocks): every line is emitted, for any position
//! and length of the block, and the packets do not change.

mod support;

use capture::{Report, Source, find_keys, read_with_keys};
use proptest::prelude::*;
use std::cell::RefCell;
use support::build::{self, Frame};
use support::{ObservedConnection, Recorder, data};

const TLS: u32 = 0x544c_534b;
const WIREGUARD: u32 = 0x5747_4b4c;

fn secrets(big: bool, kind: u32, length: usize, text: &[u8]) -> Vec<u8> {
    let four = |number: u32| {
        if big {
            number.to_be_bytes()
        } else {
            number.to_le_bytes()
        }
    };
    let body = [&four(kind)[..], &four(length as u32), text].concat();
    build::block(big, 10, &body)
}

fn key_log(big: bool, text: &str) -> Vec<u8> {
    secrets(big, TLS, text.len(), text.as_bytes())
}

fn lines(count: usize) -> String {
    (0..count)
        .map(|number| format!("CLIENT_RANDOM {number:064x} {:096x}\n", number + 1))
        .collect()
}

fn frames() -> Vec<Frame> {
    build::frames(&data("redis-six-connections.pcap"))
}

fn section(big: bool, frames: &[Frame], before: usize, block: &[u8]) -> Vec<u8> {
    let mut bytes = [build::section(big), build::interface(big, 1, 0, None, None)].concat();
    for (number, frame) in frames.iter().enumerate() {
        if number == before {
            bytes.extend(block);
        }
        bytes.extend(build::enhanced(big, 0, frame.at / 1000, frame));
    }
    if before >= frames.len() {
        bytes.extend(block);
    }
    bytes
}

struct Seen {
    lines: Vec<String>,
    observed: Vec<ObservedConnection>,
    report: Report,
}

impl Seen {
    fn shape(&self) -> Vec<String> {
        self.observed.iter().map(|one| format!("{one:?}")).collect()
    }

    fn warnings(&self) -> Vec<&str> {
        self.report.warnings.iter().map(|one| &*one.text).collect()
    }

    #[track_caller]
    fn warns_of(&self, words: &str) {
        let warnings = self.warnings();
        assert!(
            warnings.iter().any(|text| text.contains(words)),
            "'{words}' is missing in: {warnings:?}"
        );
    }
}

fn read_capture(bytes: &[u8]) -> Seen {
    let lines = RefCell::new(Vec::new());
    let sink = |line: &[u8]| {
        lines
            .borrow_mut()
            .push(String::from_utf8_lossy(line).into_owned());
        line.starts_with(b"CLIENT_RANDOM ")
    };
    let mut recorder = Recorder::default();
    let source = Source::Stream {
        name: "test",
        reader: Box::new(bytes),
    };
    let report = read_with_keys(vec![source], &mut recorder, &sink).expect("a capture");
    Seen {
        lines: lines.take(),
        observed: recorder.connections.into_values().collect(),
        report,
    }
}

fn found(bytes: &[u8]) -> Vec<String> {
    let lines = RefCell::new(Vec::new());
    let sink = |line: &[u8]| {
        lines
            .borrow_mut()
            .push(String::from_utf8_lossy(line).into_owned());
        true
    };
    let source = Source::Stream {
        name: "test",
        reader: Box::new(bytes),
    };
    find_keys(source, &sink).expect("a capture");
    lines.take()
}

#[test]
fn lines_are_handed_on_wherever_their_block_is_and_the_packets_are_the_same() {
    let frames = frames();
    let plain = read_capture(&section(false, &frames, 0, &[]));
    let text = lines(3);
    let expected: Vec<&str> = text.lines().collect();
    for big in [false, true] {
        for before in [0, 1, 40, frames.len() - 1, frames.len()] {
            let bytes = section(big, &frames, before, &key_log(big, &text));
            let seen = read_capture(&bytes);
            assert_eq!(seen.lines, expected, "{big} {before}");
            assert_eq!(found(&bytes), expected, "{big} {before}");
            assert!(seen.shape() == plain.shape(), "{big} {before}: other packets");
            assert_eq!(seen.report.warnings, [], "{big} {before}");
        }
    }
    // The text may lack a final line feed, and its length need not be a multiple of four.
    let seen = read_capture(&section(false, &frames, 0, &key_log(false, text.trim_end())));
    assert_eq!((seen.lines.len(), seen.report.warnings.len()), (3, 0));
}

#[test]
fn sections_of_both_byte_orders_hold_keys() {
    let frames = frames();
    let text = lines(4);
    let (one, other) = text.split_at(text.len() / 2);
    let bytes = [
        section(true, &frames[..40], 50, &key_log(true, one)),
        section(false, &frames[40..], 50, &key_log(false, other)),
    ];
    let seen = read_capture(&bytes.concat());
    assert_eq!(seen.lines, text.lines().collect::<Vec<_>>());
    assert_eq!(seen.report.packets, frames.len() as u64);
}

#[test]
fn a_capture_that_is_cut_in_the_block_gives_the_lines_before_and_the_place() {
    let frames = &frames()[..10];
    let text = lines(3);
    let block = key_log(false, &text);
    let whole = section(false, frames, frames.len(), &block);
    let place = whole.len() - block.len();
    let expected: Vec<&str> = text.lines().collect();
    for length in place + 1..whole.len() {
        let seen = read_capture(&whole[..length]);
        assert_eq!(seen.report.packets, 10, "{length}");
        assert!(expected.starts_with(&seen.lines.iter().map(String::as_str).collect::<Vec<_>>()));
        let there = (length - place).saturating_sub(16) / (text.len() / 3);
        assert_eq!(seen.lines.len(), there.min(3), "{length}");
        let cut = match length - place {
            ..8 => "ends inside a packet".to_owned(),
            _ => format!("ends inside a block of keys that begins at byte {place}:"),
        };
        seen.warns_of(&cut);
    }
}

#[test]
fn flipped_bits_in_the_block_cost_no_packet() {
    let frames = &frames()[..10];
    let text = lines(2);
    let block = key_log(false, &text);
    let whole = section(false, frames, 5, &block);
    let place = whole
        .windows(block.len())
        .position(|part| part == block)
        .expect("it is there");
    let plain = read_capture(&whole);
    for bit in 0..8 * block.len() {
        let mut damaged = whole.clone();
        damaged[place + bit / 8] ^= 1 << (bit % 8);
        let seen = read_capture(&damaged);
        assert!(seen.shape() == plain.shape(), "bit {bit}: other packets");
        assert!(seen.lines.len() <= 6, "bit {bit}: {} lines", seen.lines.len());
    }
}

#[test]
fn blocks_that_are_wrong_are_reported_with_the_first_place() {
    let frames = &frames()[..10];
    let place = build::section(false).len() + build::interface(false, 1, 0, None, None).len();
    let text = lines(2);
    let with = |block: &[u8]| read_capture(&section(false, frames, 0, block));

    let seen = with(&key_log(false, ""));
    seen.warns_of(&format!(
        "'test' has 1 block of TLS keys of which something is missing, the first at byte {place}: it is empty"
    ));
    let seen = with(&secrets(false, TLS, 5_000, text.as_bytes()));
    seen.warns_of(&format!(
        "the first at byte {place}: its lengths contradict each other"
    ));
    assert!(seen.lines.is_empty());
    // A length of one byte, and one beyond any file.
    for body in [vec![1; 4], [&TLS.to_le_bytes()[..], &[0xff; 4]].concat()] {
        with(&build::block(false, 10, &body)).warns_of("its lengths contradict each other");
    }
    let seen = with(&key_log(false, &format!("{text}hunter2\n{text}")));
    seen.warns_of(": 1 of its lines is not one of a key log");
    assert_eq!(seen.lines.len(), 5);
    assert!(!format!("{:?}", seen.report).contains("hunter2"));
    let seen = with(&secrets(false, WIREGUARD, text.len(), text.as_bytes()));
    seen.warns_of("'test' has 1 block of secrets that are not of TLS");
    assert!(seen.lines.is_empty());
    for block in [key_log(false, ""), secrets(false, WIREGUARD, 4, b"abcd")] {
        assert_eq!(with(&block).report.packets, 10);
    }
}

#[test]
fn a_key_log_larger_than_any_packet_is_read_piece_by_piece() {
    let frames = &frames()[..10];
    let text = lines(20_000);
    assert!(text.len() > 3 << 20);
    for (kind, count) in [(TLS, 20_000), (WIREGUARD, 0)] {
        let block = secrets(false, kind, text.len(), text.as_bytes());
        let whole = section(false, frames, 5, &block);
        let seen = read_capture(&whole);
        assert_eq!((seen.lines.len(), seen.report.packets), (count, 10));
        assert_eq!(found(&whole).len(), count);
        let seen = read_capture(&whole[..whole.len() / 2]);
        assert_eq!(seen.report.packets, 5);
        seen.warns_of("ends inside a block of keys that begins at byte ");
    }
}

#[test]
fn a_length_that_covers_the_rest_of_the_file_costs_the_block_only() {
    let frames = &frames()[..10];
    let text = lines(2);
    for length in [0x0020_0000_u32, 0x7fff_fff0, 0xffff_fffc, 0x0001_0000, 16, 8] {
        let mut block = key_log(false, &text);
        block[4..8].copy_from_slice(&length.to_le_bytes());
        let seen = read_capture(&section(false, frames, 5, &block));
        assert_eq!(seen.report.packets, 10, "{length:x}");
        seen.warns_of("is damaged in 1 place");
    }
}

#[test]
fn a_format_without_keys_is_not_searched() {
    assert_eq!(found(&data("redis-six-connections.pcap")), Vec::<String>::new());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    /// Reading damaged blocks terminates. Streaming and searching find the same lines, none longer
    /// than a key log's.
    #[test]
    fn damaged_blocks_give_results(
        big in any::<bool>(),
        before in 0usize..11,
        edits in prop::collection::vec((any::<prop::sample::Index>(), 0usize..40, prop::collection::vec(any::<u8>(), 0..40)), 1..6),
    ) {
        let text = lines(3);
        let block = key_log(big, &text);
        let mut damaged = section(big, &frames()[..10], before, &[&block[..], &block].concat());
        let head = build::section(big).len();
        for (place, removed, inserted) in edits {
            let from = head + place.index(damaged.len() - head);
            let to = (from + removed).min(damaged.len());
            damaged.splice(from..to, inserted);
        }
        let seen = read_capture(&damaged);
        prop_assert_eq!(&seen.lines, &found(&damaged));
        prop_assert!(seen.lines.iter().all(|line| line.len() <= 3 * 4096));
        prop_assert!(seen.report.packets <= 12);
    }
}

//! Damaged captures cause no panic, no hang, results for intact parts, a warning for the rest.

mod support;

use model::Direction::{ClientToServer, ServerToClient};
use model::PerDirection;
use proptest::prelude::*;
use std::time::Duration;
use support::build::{self, Frame, NANO, PLAIN, Tcp, tcp};
use support::{ObservedConnection, data, read_bytes};

fn pcapng(frames: &[Frame]) -> Vec<u8> {
    let mut bytes = build::section(false);
    bytes.extend(build::interface(false, 1, 0, None, None));
    for frame in frames {
        bytes.extend(build::enhanced(false, 0, frame.at / 1000, frame));
    }
    bytes
}

fn payload(observed: &[ObservedConnection]) -> u64 {
    observed
        .iter()
        .flat_map(|observed| observed.totals().payload_bytes)
        .sum()
}

#[test]
fn cut_at_every_byte() {
    let plain = data("drda-fin-retransmitted.pcap");
    for whole in [plain.clone(), pcapng(&build::frames(&plain))] {
        let mut most = 0;
        for length in 4..whole.len() {
            let (observed, report) = read_bytes(&whole[..length]).expect("a capture, if a short one");
            let bytes = payload(&observed);
            assert!(bytes >= most, "more capture gives no less");
            most = bytes;
            let cut = report
                .warnings
                .iter()
                .any(|warning| warning.text.contains("ends inside a packet"));
            let header = report.packets == 0;
            let boundary =
                read_bytes(&whole[..length + 1]).is_ok_and(|(_, next)| next.packets == report.packets);
            assert!(cut || header || boundary, "{length}: {report:?}");
        }
        assert_eq!(most, 737);
        for length in 0..4 {
            assert!(read_bytes(&whole[..length]).is_err());
        }
    }
}

#[test]
fn a_whole_capture_has_no_warning_and_a_cut_one_has() {
    let whole = data("postgres-scram.pcap");
    assert_eq!(read_bytes(&whole).expect("a capture").1.warnings, []);
    let (_, report) = read_bytes(&whole[..whole.len() - 1]).expect("a capture");
    assert_eq!(report.warnings.len(), 1, "{report:?}");
    assert!(
        report.warnings[0].text.starts_with("'test' ends inside a packet"),
        "{report:?}"
    );
}

#[test]
fn one_damaged_record_header_costs_one_or_two_packets() {
    let whole = data("postgres-scram.pcap");
    let (_, flawless) = read_bytes(&whole).expect("a capture");
    let frames = build::frames(&whole);
    for number in [3, 20, 70] {
        let place: usize = 24
            + frames[..number]
                .iter()
                .map(|frame| 16 + frame.bytes.len())
                .sum::<usize>();
        for bit in 0..32 {
            let mut damaged = whole.clone();
            damaged[place + 8 + bit / 8] ^= 1 << (bit % 8);
            let (_, report) = read_bytes(&damaged).expect("a capture");
            let lost = flawless.packets - report.packets;
            // A length that remains plausible hides the records it covers.
            let covered = if bit < 16 { (1usize << bit) / 66 + 2 } else { 2 };
            assert!(
                lost as usize <= covered,
                "bit {bit} of packet {number}: {lost} lost"
            );
            assert!(!report.warnings.is_empty(), "bit {bit} of packet {number}");
        }
    }
}

#[test]
fn a_damaged_pcapng_block_costs_that_block() {
    let frames = build::frames(&data("postgres-scram.pcap"));
    let whole = pcapng(&frames);
    let head = build::section(false).len() + build::interface(false, 1, 0, None, None).len();
    let place = head
        + frames[..10]
            .iter()
            .map(|frame| frame.bytes.len().next_multiple_of(4) + 32)
            .sum::<usize>();
    for byte in 4..8 {
        let mut damaged = whole.clone();
        damaged[place + byte] ^= 0x40;
        let (_, report) = read_bytes(&damaged).expect("a capture");
        assert_eq!(report.packets, frames.len() as u64 - 1);
        assert!(
            report
                .warnings
                .iter()
                .any(|warning| warning.text.contains("is damaged in 1 place")),
            "{report:?}"
        );
    }
}

#[test]
fn a_time_far_ahead_does_not_move_the_times_after_it() {
    let mut packets = build::handshake();
    for number in 0..10u32 {
        packets.push(tcp(1_000 + u64::from(number) * 100, true, "PA", 1001 + number, 5001).with(b"x"));
    }
    let mut frames: Vec<Frame> = packets.iter().map(Tcp::frame).collect();
    for format in [|frames: &[Frame]| build::pcap(NANO, frames), pcapng] {
        let mut damaged = frames.clone();
        damaged[6].at += 1 << 40;
        let (observed, report) = read_bytes(&format(&damaged)).expect("a capture");
        let last = observed[0].segments.last().expect("ten").at;
        assert_eq!(last.as_nanos(), build::EPOCH + 1_900_000);
        assert_eq!(observed[0].stream(ClientToServer), b"x".repeat(10));
        assert!(
            report
                .warnings
                .iter()
                .any(|warning| warning.text.contains("impossible time")),
            "{report:?}"
        );
    }
    for frame in &mut frames[6..] {
        frame.at += 1 << 43;
    }
    let (observed, report) = read_bytes(&build::pcap(NANO, &frames)).expect("a capture");
    assert_eq!(
        observed[0].segments[3].at.since(observed[0].segments[2].at),
        Duration::from_nanos((1 << 43) + 100_000)
    );
    assert_eq!(report.warnings, [], "a long silence is no damage");
}

#[test]
fn one_direction_removed() {
    for name in [
        "postgres-scram.pcap",
        "mysql-cursor.pcap",
        "redis-six-connections.pcap",
    ] {
        let whole = data(name);
        let (expected, _) = read_bytes(&whole).expect("a capture");
        let ports: Vec<u16> = expected.iter().map(|observed| observed.client.port).collect();
        for (kept, direction) in [(34, ClientToServer), (36, ServerToClient)] {
            let mut frames = build::frames(&whole);
            frames.retain(|frame| {
                ports.contains(&u16::from_be_bytes([frame.bytes[kept], frame.bytes[kept + 1]]))
            });
            let (observed, report) = read_bytes(&build::pcap(PLAIN, &frames)).expect("a capture");
            let [warning] = &report.warnings[..] else {
                panic!("{report:?}")
            };
            let expected_warning = match expected.len() {
                1 => "1 connection shows one direction only".to_owned(),
                several => format!("{several} connections show one direction only"),
            };
            assert!(warning.text.starts_with(&expected_warning), "{report:?}");
            assert_eq!(observed.len(), expected.len());
            for (half, whole) in observed.iter().zip(&expected) {
                assert_eq!(half.stream(direction), whole.stream(direction), "{name}");
                assert!(!half.totals().seen[direction.reverse()]);
            }
        }
    }
}

#[test]
fn begun_at_every_packet() {
    for name in [
        "drda-fin-retransmitted.pcap",
        "postgres-scram.pcap",
        "kingbase-simple.pcap",
        "mariadb-bulk.pcap",
    ] {
        let frames = build::frames(&data(name));
        let whole = read_bytes(&data(name)).expect("a capture").0.remove(0);
        for first in 3..frames.len() - 4 {
            let (observed, report) = read_bytes(&build::pcap(PLAIN, &frames[first..])).expect("a capture");
            let [observed] = &observed[..] else {
                panic!("{name} from packet {first}: {observed:?}")
            };
            assert_eq!(
                (observed.client, observed.server),
                (whole.client, whole.server),
                "{name} from packet {first}"
            );
            assert_eq!(report.warnings.len(), 1, "{name} from packet {first}: {report:?}");
            for direction in [ClientToServer, ServerToClient] {
                let rest = observed.stream(direction);
                assert!(
                    whole.stream(direction).ends_with(&rest),
                    "{name} from packet {first}"
                );
                assert_eq!(observed.totals().unseen_bytes, PerDirection::default());
            }
            let payload_before: usize = payload_lengths(&frames[..first]).iter().sum();
            assert_eq!(
                payload(std::slice::from_ref(observed)) + payload_before as u64,
                payload(std::slice::from_ref(&whole)),
                "{name}, {first}"
            );
        }
    }
}

fn payload_lengths(frames: &[Frame]) -> Vec<usize> {
    let header = |frame: &Frame| 34 + usize::from(frame.bytes[46] >> 4) * 4;
    frames
        .iter()
        .map(|frame| frame.bytes.len() - header(frame))
        .collect()
}

#[test]
fn without_any_one_packet_its_bytes_are_unseen() {
    for name in ["postgres-scram.pcap", "kingbase-simple.pcap", "mysql-cursor.pcap"] {
        let frames = build::frames(&data(name));
        let whole = read_bytes(&data(name)).expect("a capture").0.remove(0);
        for (missing, length) in payload_lengths(&frames).into_iter().enumerate().skip(3) {
            let mut frames = frames.clone();
            frames.remove(missing);
            let (observed, _) = read_bytes(&build::pcap(PLAIN, &frames)).expect("a capture");
            let totals = observed[0].totals();
            assert_eq!(
                totals.payload_bytes,
                whole.totals().payload_bytes,
                "{name} without packet {missing}"
            );
            assert_eq!(
                totals.unseen_bytes.iter().sum::<u64>(),
                length as u64,
                "{name} without packet {missing}"
            );
        }
    }
}

#[test]
fn reversed_and_doubled_captures_end() {
    for name in support::all_data() {
        let mut frames = build::frames(&data(&name));
        frames.reverse();
        read_bytes(&build::pcap(PLAIN, &frames)).expect("a capture");
        frames.extend(frames.clone());
        read_bytes(&build::pcap(PLAIN, &frames)).expect("a capture");
    }
}

fn any_capture() -> impl Strategy<Value = Vec<u8>> {
    let names = [
        "drda-fin-retransmitted.pcap",
        "postgres-scram.pcap",
        "tds-silent.pcap",
        "kingbase-simple.pcap",
    ];
    (prop::sample::select(names.to_vec()), any::<bool>()).prop_map(|(name, next_generation)| {
        let whole = data(name);
        if next_generation {
            pcapng(&build::frames(&whole))
        } else {
            whole
        }
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    /// The recorder checks the calling order and the sums; only completion is asserted here.
    #[test]
    fn flipped_bits_give_results(
        whole in any_capture(),
        flips in prop::collection::vec((any::<prop::sample::Index>(), 0u8..8), 1..40),
    ) {
        let mut damaged = whole;
        for (place, bit) in flips {
            let index = 24 + place.index(damaged.len() - 24);
            damaged[index] ^= 1 << bit;
        }
        prop_assert!(read_bytes(&damaged).is_ok());
    }

    #[test]
    fn removed_and_inserted_bytes_give_results(
        whole in any_capture(),
        edits in prop::collection::vec((any::<prop::sample::Index>(), 0usize..100, prop::collection::vec(any::<u8>(), 0..50)), 1..8),
    ) {
        let mut damaged = whole;
        for (place, removed, inserted) in edits {
            let from = 24 + place.index(damaged.len() - 24);
            let to = (from + removed).min(damaged.len());
            damaged.splice(from..to, inserted);
            if damaged.len() < 100 {
                break;
            }
        }
        prop_assert!(read_bytes(&damaged).is_ok());
    }

    #[test]
    fn shuffled_frames_give_results(
        name in prop::sample::select(vec!["postgres-scram.pcap", "redis-six-connections.pcap"]),
        swaps in prop::collection::vec((any::<prop::sample::Index>(), any::<prop::sample::Index>()), 1..100),
    ) {
        let mut frames = build::frames(&data(name));
        for (first, second) in swaps {
            let (first, second) = (first.index(frames.len()), second.index(frames.len()));
            frames.swap(first, second);
        }
        prop_assert!(read_bytes(&build::pcap(PLAIN, &frames)).is_ok());
    }

    #[test]
    fn any_bytes_behind_a_magic_give_results(
        magic in prop::sample::select(vec![0xa1b2_c3d4u32, 0xa1b2_3c4d, 0xa1b2_cd34, 0x0a0d_0d0a]),
        bytes in prop::collection::vec(any::<u8>(), 0..2000),
    ) {
        prop_assert!(read_bytes(&[&magic.to_le_bytes()[..], &bytes].concat()).is_ok());
    }
}

//! Properties for every input: the split has no effect, no byte is lost, no panic.
//!
//! The fuzz targets in `fuzz/` assert the same; these run with every `cargo test`.

mod streams;

use model::{Direction, Role, Timestamp};
use proptest::prelude::*;
use std::fmt::Debug;
use std::sync::OnceLock;
use streams::{Recording, Seen, Segment, play, recordings};

fn cut(segments: &[Segment], lengths: &[usize]) -> Vec<Segment> {
    let mut lengths = lengths.iter().copied().cycle();
    let mut pieces = Vec::new();
    for segment in segments {
        if segment.hole > 0 {
            pieces.push(segment.clone());
        }
        let mut rest = segment.bytes.as_slice();
        while !rest.is_empty() {
            let length = lengths.next().unwrap_or(1).clamp(1, rest.len());
            let (piece, behind) = rest.split_at(length);
            pieces.push(Segment {
                bytes: piece.to_vec(),
                hole: 0,
                ..*segment
            });
            rest = behind;
        }
    }
    pieces
}

fn joined(seen: Vec<Seen>) -> Vec<Seen> {
    let mut joined: Vec<Seen> = Vec::new();
    for next in seen {
        match joined.last_mut() {
            Some(last)
                if last.role == Role::Opaque
                    && next.role == Role::Opaque
                    && last.direction == next.direction =>
            {
                last.bytes += next.bytes;
                last.ended = next.ended;
            }
            _ => joined.push(next),
        }
    }
    joined
}

fn fed(segments: &[Segment], direction: Direction) -> u64 {
    let of_direction = segments.iter().filter(|segment| segment.direction == direction);
    of_direction
        .map(|segment| segment.bytes.len() as u64 + segment.hole)
        .sum()
}

/// Plays segments whole and cut; both must emit every byte once and the same messages.
fn check(name: &dyn Debug, server_port: u16, segments: &[Segment], lengths: &[usize]) {
    let (whole, whole_stream) = play(server_port, segments);
    let (pieces, pieces_stream) = play(server_port, &cut(segments, lengths));
    for direction in [Direction::ClientToServer, Direction::ServerToClient] {
        let out: u64 = whole
            .iter()
            .filter(|seen| seen.direction == direction)
            .map(|seen| seen.bytes)
            .sum();
        assert_eq!(
            out,
            fed(segments, direction),
            "{name:?} {direction:?}: bytes handed out, bytes fed"
        );
    }
    let (whole, pieces) = (joined(whole), joined(pieces));
    if let Some(place) =
        (0..whole.len().max(pieces.len())).find(|&place| whole.get(place) != pieces.get(place))
    {
        panic!(
            "{name:?}: message {place} is {:?} whole, {:?} in pieces\n{:?} whole, {:?} in pieces",
            whole.get(place),
            pieces.get(place),
            whole_stream.decoding(),
            pieces_stream.decoding(),
        );
    }
}

#[test]
fn recordings_byte_by_byte_give_the_same_messages() {
    for recording in recordings() {
        check(&recording.path, recording.server_port, &recording.segments, &[1]);
    }
}

#[test]
fn recordings_cut_after_every_segment_lose_nothing() {
    for recording in recordings() {
        for end in 0..recording.segments.len() {
            check(
                &recording.path,
                recording.server_port,
                &recording.segments[..end],
                &[7],
            );
            check(
                &recording.path,
                recording.server_port,
                &recording.segments[end..],
                &[3, 50],
            );
        }
    }
}

#[test]
fn one_direction_alone_loses_nothing() {
    for recording in recordings() {
        for direction in [Direction::ClientToServer, Direction::ServerToClient] {
            let mut segments = recording.segments.clone();
            segments.retain(|segment| segment.direction == direction);
            check(&recording.path, recording.server_port, &segments, &[5, 1]);
        }
    }
}

#[derive(Debug, Clone)]
enum Damage {
    Flip { place: usize, bits: u8 },
    Cut { place: usize },
    Drop { segment: usize },
    Repeat { segment: usize },
    Swap { segment: usize },
    Hole { segment: usize },
}

fn damage() -> impl Strategy<Value = Damage> {
    let place = any::<usize>();
    prop_oneof![
        (place, 1u8..).prop_map(|(place, bits)| Damage::Flip { place, bits }),
        place.prop_map(|place| Damage::Cut { place }),
        place.prop_map(|segment| Damage::Drop { segment }),
        place.prop_map(|segment| Damage::Repeat { segment }),
        place.prop_map(|segment| Damage::Swap { segment }),
        place.prop_map(|segment| Damage::Hole { segment }),
    ]
}

fn apply(segments: &mut Vec<Segment>, damage: &Damage) {
    let count = segments.len();
    if count < 2 {
        return;
    }
    match *damage {
        Damage::Flip { place, bits } => {
            let segment = &mut segments[place % count];
            let length = segment.bytes.len();
            if let Some(byte) = segment.bytes.get_mut(place / count % length.max(1)) {
                *byte ^= bits;
            }
        }
        Damage::Cut { place } => {
            let segment = &mut segments[place % count];
            let length = segment.bytes.len();
            segment.bytes.truncate(place / count % length.max(1));
        }
        Damage::Drop { segment } => {
            segments.remove(segment % count);
        }
        Damage::Repeat { segment } => segments.insert(segment % count, segments[segment % count].clone()),
        Damage::Swap { segment } => segments.swap(segment % (count - 1), segment % (count - 1) + 1),
        Damage::Hole { segment } => {
            let segment = &mut segments[segment % count];
            segment.hole = segment.bytes.len() as u64;
            segment.bytes.clear();
        }
    }
}

fn small_recordings() -> &'static [Recording] {
    static READ: OnceLock<Vec<Recording>> = OnceLock::new();
    READ.get_or_init(read_small_recordings)
}

fn read_small_recordings() -> Vec<Recording> {
    let mut all = recordings();
    all.retain(|recording| {
        recording
            .segments
            .iter()
            .map(|segment| segment.bytes.len())
            .sum::<usize>()
            < 40_000
    });
    all
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_split_gives_the_same_messages(which in any::<prop::sample::Index>(), lengths in split()) {
        let recordings = small_recordings();
        let recording = &recordings[which.index(recordings.len())];
        check(&recording.path, recording.server_port, &recording.segments, &lengths);
    }

    #[test]
    fn damaged_recordings_lose_nothing(
        which in any::<prop::sample::Index>(),
        damages in prop::collection::vec(damage(), 1..6),
        lengths in split(),
    ) {
        let recordings = small_recordings();
        let recording = &recordings[which.index(recordings.len())];
        let mut segments = recording.segments.clone();
        for damage in &damages {
            apply(&mut segments, damage);
        }
        check(&recording.path, recording.server_port, &segments, &lengths);
    }

    #[test]
    fn random_bytes_lose_nothing(
        chunks in prop::collection::vec((any::<bool>(), prop::collection::vec(any::<u8>(), 0..200)), 0..20),
        port in prop::sample::select(vec![80u16, 443, 1433, 1521, 3306, 5432, 6379, 9000, 9088, 50000, 9999]),
        lengths in split(),
    ) {
        check(&"random", port, &segments(&chunks), &lengths);
    }

    #[test]
    fn random_bytes_behind_a_beginning_lose_nothing(
        beginning in prop::sample::select(BEGINNINGS.to_vec()),
        chunks in prop::collection::vec((any::<bool>(), prop::collection::vec(likely_byte(), 0..200)), 0..20),
        lengths in split(),
    ) {
        let mut all = vec![(true, beginning.to_vec())];
        all.extend(chunks);
        check(&"random", 9999, &segments(&all), &lengths);
    }
}

fn split() -> impl Strategy<Value = Vec<usize>> {
    prop::collection::vec(prop_oneof![1usize..4, 4usize..40, 40usize..2000], 1..12)
}

fn likely_byte() -> impl Strategy<Value = u8> {
    prop_oneof![
        3 => prop::sample::select(b"QPBDECSHXFdcfpRSKZTZGWsn123\0\0\0\0\0\0\x04\x05\x06\x08\x03\x16\x17IET\r\n: 0123456789*$+-_%>|".to_vec()),
        1 => any::<u8>(),
    ]
}

const BEGINNINGS: [&[u8]; 14] = [
    b"\x01\x01\0\x01\0\x08\0\0\0\x01\x01\0\0\0\0\0\x01\x04\0\x01\0\x12\0\0\x0e\x02REQUEST_METHODGO",
    b"\0\x4a\0\0\x01\0\0\0\x01\x3f\x01\x2c",
    b"\0\0\0\x0d\x06\0\0\0\0\0\x03\x0e\x05",
    b"\x12\x01\0\x3a\0\0\0\0\0\0\x1a\0\x06\x01\0\x20\0",
    b"\x01\x01\0\x2e\0\0\0\0\x16\0\0\0\x12\0\0\0\x02\0\0\0\0\0\0\0\0\0\x01\0\0\0s\0e\0l\0e\0c\0t\0 \x001\0",
    b"\x03\x01\0\x24\0\0\0\0\x16\0\0\0\x12\0\0\0\x02\0\0\0\0\0\0\0\0\0\x01\0\0\0\xff\xff\x0d\0\0\0",
    b"\0\x0a\xd0\x41\0\x01\0\x04\x10\x41",
    b"*1\r\n$4\r\nPING\r\n",
    b"\0\0\0\x08\x04\xd2\x16\x2f",
    b"\0\0\0\x11\0\x03\0\0user\0me\0\0",
    b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n",
    b"\x16\x03\x01\0\x05\x01\0\0\x01\0",
    b"\0\x0e\x01\x3c\0\0\0\x64\0\x65\0\0\0\x3d",
    b"\0\x04\0\x01\0\x09\0\0\x10\0\0\0\0\x0c",
];

fn segments(chunks: &[(bool, Vec<u8>)]) -> Vec<Segment> {
    let of = |(place, (client, bytes)): (usize, &(bool, Vec<u8>))| Segment {
        direction: if *client {
            Direction::ClientToServer
        } else {
            Direction::ServerToClient
        },
        at: Timestamp::from_nanos(place as u64),
        bytes: bytes.clone(),
        hole: 0,
    };
    chunks.iter().enumerate().map(of).collect()
}

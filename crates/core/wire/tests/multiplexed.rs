//! Several sessions of SQL Server on one connection (MARS): decoded until two have requests open at
//! once, then opaque to the end.

mod streams;

use model::Direction;
use std::path::Path;
use streams::{Recording, Seen, Segment, play, recordings_in};

fn recorded() -> Recording {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/mars");
    recordings_in(&folder).remove(0)
}

fn statements(seen: &[Seen]) -> usize {
    seen.iter().filter(|seen| seen.what.contains("Statement")).count()
}

fn of_session(segment: &Segment, number: u8) -> Segment {
    let mut segment = segment.clone();
    let mut at = 0;
    while at < segment.bytes.len() {
        let length = segment.bytes[at + 4..at + 8].try_into().expect("four bytes");
        segment.bytes[at + 2] = number;
        at += u32::from_le_bytes(length) as usize;
    }
    segment
}

fn control(flags: u8, direction: Direction, like: &Segment) -> Segment {
    Segment {
        direction,
        bytes: vec![0x53, flags, 0, 0, 16, 0, 0, 0, 1, 0, 0, 0, 8, 0, 0, 0],
        ..like.clone()
    }
}

#[test]
fn sessions_that_take_turns_are_decoded() {
    let recording = recorded();
    let mut segments = recording.segments;
    for (place, segment) in segments.iter_mut().enumerate().skip(4) {
        *segment = of_session(segment, (place / 2 % 3) as u8);
    }
    // Acknowledgements of both sides, and the end of a session.
    for (place, flags, direction) in [
        (16, 4, Direction::ServerToClient),
        (16, 4, Direction::ClientToServer),
        (9, 2, Direction::ServerToClient),
        (8, 2, Direction::ClientToServer),
    ] {
        let like = segments[place.min(segments.len() - 1)].clone();
        segments.insert(place, control(flags, direction, &like));
    }
    let (seen, stream) = play(recording.server_port, &segments);
    assert_eq!(statements(&seen), 6, "{seen:#?}");
    assert_eq!(stream.decoding().opaque, None);
    let fed: u64 = segments.iter().map(|segment| segment.bytes.len() as u64).sum();
    assert_eq!(seen.iter().map(|seen| seen.bytes).sum::<u64>(), fed);
}

#[test]
fn sessions_that_ask_at_once_are_opaque_to_the_end_and_said_to_be() {
    let recording = recorded();
    let mut segments = recording.segments;
    // The third request belongs to another session and precedes the second answer.
    let early = of_session(&segments.remove(8), 1);
    segments.insert(7, early);
    let (seen, stream) = play(recording.server_port, &segments);
    assert_eq!(statements(&seen), 2, "{seen:#?}");
    let reason = stream.decoding().opaque.expect("a reason");
    assert!(reason.contains("several sessions at once (MARS)"), "{reason}");
}

#[test]
fn a_lost_packet_of_a_session_is_not_made_up_for_with_half_the_statements() {
    let recording = recorded();
    let mut segments = recording.segments;
    let lost = &mut segments[6];
    (lost.hole, lost.bytes) = (lost.bytes.len() as u64, Vec::new());
    let (seen, stream) = play(recording.server_port, &segments);
    assert!(stream.decoding().opaque.is_some());
    assert_eq!(statements(&seen), 1, "{seen:#?}");
}

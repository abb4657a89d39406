//! What every fuzz target does: makes a conversation of the input, plays it whole and byte by byte, and asserts that
//! both give the same messages and that no byte is lost.
//!
//! An input is a sequence of segments: a byte (bit 7: from the server; bit 6: a hole instead of bytes), a two-byte length,
//! most significant first, and the bytes. A length beyond the input's end takes what there is.

pub mod opened;
pub mod pcapng;
pub mod tunnel;

use model::{Direction, Message, PerDirection, Role, Timestamp};
use std::sync::Arc;
use tls_keys::Secrets;
use wire::decoder::MessageSink;
use wire::{DecodeError, Decoder, PROTOCOLS, ProtocolRow, Stream};

/// One segment of a conversation.
#[derive(Clone, Copy)]
pub struct Segment<'a> {
    at: Timestamp,
    direction: Direction,
    bytes: &'a [u8],
    hole: u64,
}

/// Makes segments of a fuzzer's input.
pub fn segments(mut input: &[u8]) -> Vec<Segment<'_>> {
    let mut segments = Vec::new();
    while let [flags, high, low, rest @ ..] = input {
        let length = usize::from(u16::from_be_bytes([*high, *low]));
        let direction = if flags & 0x80 == 0 { Direction::ClientToServer } else { Direction::ServerToClient };
        let is_hole = flags & 0x40 != 0;
        let (bytes, behind) = if is_hole { (&[][..], rest) } else { rest.split_at(length.min(rest.len())) };
        segments.push(Segment {
            at: Timestamp::from_nanos(segments.len() as u64),
            direction,
            bytes,
            hole: if is_hole { length as u64 } else { 0 },
        });
        input = behind;
    }
    segments
}

/// A message, kept.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Seen {
    direction: Direction,
    started: Timestamp,
    ended: Timestamp,
    bytes: u64,
    role: Role,
    content: String,
}

fn keep(seen: &mut Vec<Seen>, message: &Message<'_>) {
    let next = Seen {
        direction: message.direction,
        started: message.started,
        ended: message.ended,
        bytes: message.bytes,
        role: message.role,
        content: format!("{:?} {:?}", message.phase, message.content),
    };
    match seen.last_mut() {
        Some(last) if last.role == Role::Opaque && next.role == Role::Opaque && last.direction == next.direction => {
            last.bytes += next.bytes;
            last.ended = next.ended;
        }
        _ => seen.push(next),
    }
}

/// The property of the whole stream: every byte is handed out once, and the split changes nothing.
pub fn check_stream(input: &[u8]) {
    check_stream_with(input, None);
}

fn check_stream_with(input: &[u8], secrets: Option<Arc<dyn Secrets>>) {
    let (&[high, low], rest) = input.split_first_chunk().unwrap_or((&[0, 0], input));
    let port = u16::from_be_bytes([high, low]);
    let segments = segments(rest);
    let whole = play_stream(port, &segments, usize::MAX, secrets.clone());
    for direction in [Direction::ClientToServer, Direction::ServerToClient] {
        let fed = segments.iter().filter(|segment| segment.direction == direction);
        let fed: u64 = fed.map(|segment| segment.bytes.len() as u64 + segment.hole).sum();
        let out: u64 = whole.iter().filter(|seen| seen.direction == direction).map(|seen| seen.bytes).sum();
        assert_eq!(out, fed, "{direction:?}: bytes handed out, bytes fed");
    }
    assert_eq!(whole, play_stream(port, &segments, 1, secrets));
}

fn play_stream(
    port: u16,
    segments: &[Segment<'_>],
    piece: usize,
    secrets: Option<Arc<dyn Secrets>>,
) -> Vec<Seen> {
    let mut stream = Stream::new(port).with_secrets(secrets);
    let mut seen = Vec::new();
    let mut sink = |message: &Message<'_>| keep(&mut seen, message);
    for segment in segments {
        if segment.hole > 0 {
            stream.skip(segment.at, segment.direction, segment.hole, &mut sink);
        }
        for bytes in segment.bytes.chunks(piece) {
            stream.feed(segment.at, segment.direction, bytes, &mut sink);
        }
    }
    stream.finish(&mut sink);
    seen
}

/// The property of one decoder, the row of the first byte: up to its first error, the split changes nothing; what is
/// pending and what was handed out is what was fed.
pub fn check_decoder(input: &[u8]) {
    let Some((row, rest)) = input.split_first() else {
        return;
    };
    let row = &PROTOCOLS[usize::from(*row) % PROTOCOLS.len()];
    let segments = segments(rest);
    let whole = play_decoder(row, &segments, usize::MAX);
    let pieces = play_decoder(row, &segments, 1);
    assert_eq!(whole, pieces, "{}", row.protocol);
}

fn play_decoder(row: &ProtocolRow, segments: &[Segment<'_>], piece: usize) -> (Vec<Seen>, Option<DecodeError>) {
    let mut decoder = (row.decoder)(PerDirection::default());
    let mut seen = Vec::new();
    let mut fed = [0u64; 2];
    for segment in segments {
        let lane = segment.direction.index();
        let mut sink = |message: &Message<'_>| keep(&mut seen, message);
        let fault = if segment.hole > 0 {
            fed[lane] += segment.hole;
            decoder.skip(segment.at, segment.direction, segment.hole, &mut sink).err()
        } else {
            fed[lane] += segment.bytes.len() as u64;
            feed(&mut *decoder, segment, piece, &mut sink)
        };
        if fault.is_some() || decoder.tls_follows() {
            return (seen, fault);
        }
    }
    for direction in [Direction::ClientToServer, Direction::ServerToClient] {
        let out: u64 = seen.iter().filter(|seen| seen.direction == direction).map(|seen| seen.bytes).sum();
        assert_eq!(out + decoder.pending(direction), fed[direction.index()], "{direction:?}");
    }
    (seen, None)
}

fn feed(decoder: &mut dyn Decoder, segment: &Segment<'_>, piece: usize, sink: &mut MessageSink<'_>) -> Option<DecodeError> {
    for bytes in segment.bytes.chunks(piece) {
        if let Err(error) = decoder.feed(segment.at, segment.direction, bytes, sink) {
            return Some(error);
        }
        if decoder.tls_follows() {
            break;
        }
    }
    None
}

//! A lane is sent any bytes at all: it never panics, holds no more than it states, and does the same however they are split.
//!
//! An input is a byte (bit 0: the far end; bit 1: no hello before it; bit 2: what comes is not consumed; bits 3-7: how much
//! of it at a time) and what the other end sends.

use tunnel::lane::{BASE_WINDOW, MAX_STREAMS, POOL};
use tunnel::{End, LaneEvent, Lane, LanePreferences};

/// Plays the input whole and in pieces.
pub fn check(input: &[u8]) {
    let Some((&flags, bytes)) = input.split_first() else {
        return;
    };
    let piece = 1 + usize::from(flags >> 3) * 37;
    let whole = play(flags, bytes, 60_000);
    assert_eq!(whole, play(flags, bytes, piece));
}

/// What a lane told, until it refused the other end.
fn play(flags: u8, bytes: &[u8], piece: usize) -> Vec<String> {
    let end = if flags & 1 == 0 { End::Near } else { End::Far };
    let mut lane = Lane::new(end, LanePreferences::default());
    let mut told = Vec::new();
    if flags & 2 == 0 {
        let hello = Lane::new(end.other(), LanePreferences::default()).unsent().to_vec();
        feed(&mut lane, &hello);
        while lane.next().expect("a hello").is_some() {}
        if end == End::Near {
            lane.open();
            lane.open();
        }
    }
    let mut held = 0;
    for part in bytes.chunks(piece) {
        feed(&mut lane, part);
        loop {
            let consumed = match lane.next() {
                Ok(None) => break,
                Ok(Some(LaneEvent::Bytes { stream, bytes, .. })) => {
                    told.push(format!("{stream:?} {bytes:?}"));
                    Some((stream, bytes.len()))
                }
                Ok(Some(event)) => {
                    told.push(format!("{event:?}"));
                    None
                }
                Err(error) => {
                    told.push(error.to_string());
                    return told;
                }
            };
            if let Some((stream, count)) = consumed {
                if flags & 4 == 0 {
                    lane.consumed(stream, count);
                } else {
                    held += count;
                }
            }
        }
        assert!(held <= MAX_STREAMS * BASE_WINDOW + POOL);
        assert!(lane.unsent().len() < 2 * 1024 * 1024);
        let unsent = lane.unsent().len();
        lane.sent(unsent);
    }
    told
}

fn feed(lane: &mut Lane, part: &[u8]) {
    lane.space()[..part.len()].copy_from_slice(part);
    lane.filled(part.len());
}

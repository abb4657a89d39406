//! TLS decrypted with keys: recorded connections with their key logs (`.keys`), whole and damaged.
//!
//! `keys-*`: Python's `ssl` against PostgreSQL 15 (TLS 1.2 and 1.3) and MariaDB 10.11; three
//! statements each. Secrets and certificates were made for the recording.

mod streams;

use model::{Direction, Timestamp};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use streams::{Recording, Seen, Segment, play, play_to, recordings_in};
use tls_keys::{KeyLog, Secrets, SessionSecrets};
use wire::Stream;

fn recorded() -> Vec<(Recording, Arc<KeyLog>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/tls");
    let with_keys = recordings_in(&folder).into_iter().filter_map(|recording| {
        let lines = std::fs::read(recording.path.with_extension("keys")).ok()?;
        let mut log = KeyLog::default();
        for line in lines.split(|byte| *byte == b'\n') {
            log.line(line).expect("a line of a key log");
        }
        Some((recording, Arc::new(log)))
    });
    let with_keys: Vec<_> = with_keys.collect();
    assert_eq!(with_keys.len(), 3);
    with_keys
}

fn opened(port: u16, segments: &[Segment], log: &Arc<KeyLog>) -> (Vec<Seen>, Stream) {
    let log = Arc::clone(log);
    let (seen, stream) = play_to(Stream::new(port).with_secrets(Some(log)), segments);
    for direction in [Direction::ClientToServer, Direction::ServerToClient] {
        let fed = segments.iter().filter(|segment| segment.direction == direction);
        let fed: u64 = fed.map(|segment| segment.bytes.len() as u64 + segment.hole).sum();
        let out = seen.iter().filter(|seen| seen.direction == direction);
        assert_eq!(out.map(|seen| seen.bytes).sum::<u64>(), fed, "{direction:?}");
    }
    (seen, stream)
}

fn statements(seen: &[Seen]) -> Vec<&str> {
    let words = seen
        .iter()
        .filter_map(|seen| seen.what.strip_prefix("Work Statement "));
    words.collect()
}

fn of_handshake(seen: &[Seen]) -> Vec<&Seen> {
    let phases = ["Connect", "Tls"];
    let is_of_it = |seen: &&Seen| phases.iter().any(|phase| seen.what.starts_with(phase));
    seen.iter().filter(is_of_it).collect()
}

const ALL: [&str; 3] = [
    "'select 0 as number'",
    "'select 1 as number'",
    "'select 2 as number'",
];

#[test]
fn statements_are_seen_and_the_handshake_is_as_without_keys() {
    for (recording, log) in recorded() {
        let name = recording.path.display();
        let (seen, stream) = opened(recording.server_port, &recording.segments, &log);
        assert_eq!(statements(&seen), ALL, "{name}");
        let decoding = stream.decoding();
        assert_eq!((decoding.encrypted, &decoding.opaque), (true, &None), "{name}");
        assert_ne!(decoding.protocol, model::Protocol::Tls, "{name}");
        let (closed, _) = play(recording.server_port, &recording.segments);
        assert_eq!(of_handshake(&seen), of_handshake(&closed), "{name}");
        let bytes: Vec<Segment> = recording.segments.iter().flat_map(single_bytes).collect();
        assert_eq!(
            opened(recording.server_port, &bytes, &log).0,
            seen,
            "{name}: byte by byte"
        );
    }
}

fn single_bytes(segment: &Segment) -> Vec<Segment> {
    let of = |byte: &u8| Segment {
        bytes: vec![*byte],
        ..segment.clone()
    };
    segment.bytes.iter().map(of).collect()
}

#[test]
fn keys_of_another_session_open_nothing() {
    let recorded = recorded();
    let (_, others) = &recorded[0];
    let (recording, _) = &recorded[1];
    let (seen, stream) = opened(recording.server_port, &recording.segments, others);
    assert_eq!(statements(&seen), [""; 0]);
    let reason = stream.decoding().opaque.unwrap_or_default();
    assert!(reason.contains("not in the key log"), "{reason}");
}

/// A log that is empty at the first lookup, like one written by its client during the handshake.
struct LateLog {
    log: Arc<KeyLog>,
    was_asked: AtomicBool,
}

impl Secrets for LateLog {
    fn find_secrets(&self, client_random: &[u8; 32]) -> Option<Arc<SessionSecrets>> {
        let was_asked = self.was_asked.swap(true, Ordering::Relaxed);
        was_asked.then(|| self.log.find_secrets(client_random)).flatten()
    }
}

#[test]
fn secrets_that_are_written_during_the_handshake_are_soon_enough() {
    for (recording, log) in recorded() {
        let late = Arc::new(LateLog {
            log,
            was_asked: AtomicBool::new(false),
        });
        let stream = Stream::new(recording.server_port).with_secrets(Some(late));
        let (seen, stream) = play_to(stream, &recording.segments);
        assert_eq!(statements(&seen), ALL, "{}", recording.path.display());
        assert_eq!(stream.decoding().opaque, None, "{}", recording.path.display());
    }
}

#[test]
fn every_byte_is_handed_out_once_wherever_a_connection_is_cut() {
    for (recording, log) in recorded() {
        for end in 0..recording.segments.len() {
            let mut segments = recording.segments[..=end].to_vec();
            let length = segments[end].bytes.len();
            for cut in [1, 4, 5, 6, length / 2, length.saturating_sub(1)] {
                segments[end].bytes.truncate(cut);
                opened(recording.server_port, &segments, &log);
                segments[end].bytes = recording.segments[end].bytes.clone();
            }
            opened(recording.server_port, &recording.segments[end..], &log);
        }
    }
}

#[test]
fn every_byte_is_handed_out_once_whichever_is_wrong() {
    for (recording, log) in recorded() {
        let mut segments = recording.segments.clone();
        for index in 0..segments.len() {
            for place in 0..segments[index].bytes.len() {
                segments[index].bytes[place] ^= 0x41;
                opened(recording.server_port, &segments, &log);
                segments[index].bytes[place] ^= 0x41;
            }
        }
    }
}

#[test]
fn every_byte_is_handed_out_once_in_whatever_order() {
    for (recording, log) in recorded() {
        for index in 1..recording.segments.len() {
            let mut segments = recording.segments.clone();
            segments.swap(index - 1, index);
            opened(recording.server_port, &segments, &log);
            segments.remove(index);
            opened(recording.server_port, &segments, &log);
        }
    }
}

/// A lost segment of a reply or request loses its content, and no later one.
#[test]
fn what_follows_lost_packets_is_opened_again() {
    for (recording, log) in recorded() {
        let (whole, _) = opened(recording.server_port, &recording.segments, &log);
        let first = whole
            .iter()
            .find(|seen| seen.what.contains("select 0"))
            .map_or(Timestamp::default(), |seen| seen.started);
        for (index, segment) in recording.segments.iter().enumerate() {
            let mut segments = recording.segments.clone();
            segments[index].hole = segment.bytes.len() as u64;
            segments[index].bytes.clear();
            let (seen, _) = opened(recording.server_port, &segments, &log);
            let is_request = segment.direction == Direction::ClientToServer;
            let is_last = index + 3 >= recording.segments.len();
            if segment.at >= first && !is_last {
                let left = if is_request { 2 } else { 3 };
                let name = recording.path.display();
                assert_eq!(
                    statements(&seen).len(),
                    left,
                    "{name}: segment {index}: {seen:#?}"
                );
            }
        }
    }
}

/// An inauthentic record loses its content, but no round trip: the other side still answers.
#[test]
fn a_damaged_record_takes_what_it_held_and_no_turn() {
    for (recording, log) in recorded() {
        let name = recording.path.display();
        let (whole, _) = opened(recording.server_port, &recording.segments, &log);
        let first = whole
            .iter()
            .find(|seen| seen.what.contains("select 0"))
            .map_or(Timestamp::default(), |seen| seen.started);
        let last = recording.segments.len() - 3;
        for (index, segment) in recording.segments[..last].iter().enumerate() {
            if segment.at < first || segment.bytes[0] != DATA {
                continue;
            }
            let mut segments = recording.segments.clone();
            *segments[index].bytes.last_mut().expect("a record") ^= 1;
            let counting = Arc::new(CountingLog::new(&log));
            let stream =
                Stream::new(recording.server_port).with_secrets(Some(Arc::<CountingLog>::clone(&counting)));
            let (seen, stream) = play_to(stream, &segments);
            let left = if segment.direction == Direction::ClientToServer {
                2
            } else {
                3
            };
            assert_eq!(
                statements(&seen).len(),
                left,
                "{name}: segment {index}: {seen:#?}"
            );
            assert_eq!(turns(&seen), turns(&whole), "{name}: segment {index}: {seen:#?}");
            // The inner decoder reports it as for uncaptured bytes.
            let reason = stream.decoding().opaque.unwrap_or_default();
            assert!(!reason.contains("key log"), "{name}: segment {index}: {reason}");
            assert_eq!(
                counting.damaged.load(Ordering::Relaxed),
                1,
                "{name}: segment {index}"
            );
        }
    }
}

fn turns(seen: &[Seen]) -> usize {
    let work: Vec<&Seen> = seen.iter().filter(|seen| seen.what.starts_with("Work")).collect();
    let pairs = work.windows(2).filter(|pair| {
        pair[0].direction == Direction::ClientToServer && pair[1].direction == Direction::ServerToClient
    });
    pairs.count()
}

struct CountingLog {
    log: Arc<KeyLog>,
    damaged: AtomicUsize,
}

impl CountingLog {
    fn new(log: &Arc<KeyLog>) -> Self {
        Self {
            log: Arc::clone(log),
            damaged: AtomicUsize::new(0),
        }
    }
}

impl Secrets for CountingLog {
    fn find_secrets(&self, client_random: &[u8; 32]) -> Option<Arc<SessionSecrets>> {
        self.log.find_secrets(client_random)
    }

    fn damaged(&self) {
        self.damaged.fetch_add(1, Ordering::Relaxed);
    }
}

const DATA: u8 = 23;

//! Unsupported protocols stay unrecognised: on every port, from the start and from the middle, in
//! both directions and in one. Supported ones are found on any port, with the sides exchanged too.
//!
//! The conversations are in `strangers/`, made by `strangers/make.py` from the specifications.

mod streams;

use model::{Direction, Protocol, Role};
use std::path::Path;
use streams::{Recording, Seen, Segment, play, play_joined, play_with_sides, recordings, recordings_in};

fn strangers() -> Vec<Recording> {
    recordings_in(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/strangers"))
}

/// Ports of database servers, and one that none of them uses.
const PORTS: [u16; 13] = [
    80, 443, 1433, 1521, 1526, 3306, 5432, 6379, 9000, 9088, 27017, 50000, 49_152,
];

fn ports(recording: &Recording) -> Vec<u16> {
    let mut ports = PORTS.to_vec();
    ports.push(recording.server_port);
    ports
}

fn turns(seen: &[Seen]) -> usize {
    let mut asked = false;
    let mut turns = 0;
    for message in seen {
        match message.direction {
            Direction::ClientToServer => asked = true,
            Direction::ServerToClient => turns += usize::from(std::mem::take(&mut asked)),
        }
    }
    turns
}

fn changes(segments: &[Segment]) -> usize {
    let as_seen = segments.iter().map(|segment| segment.direction);
    let mut asked = false;
    as_seen
        .filter(|direction| match direction {
            Direction::ClientToServer => {
                asked = true;
                false
            }
            Direction::ServerToClient => std::mem::take(&mut asked),
        })
        .count()
}

fn assert_opaque(context: &str, (seen, stream): &(Vec<Seen>, wire::Stream), segments: &[Segment]) {
    let decoding = stream.decoding();
    assert_eq!(decoding.protocol, Protocol::Unknown, "{context}");
    assert!(!decoding.encrypted, "{context}");
    assert!(seen.iter().all(|seen| seen.role == Role::Opaque), "{context}");
    assert_eq!(turns(seen), changes(segments), "{context}: round trips");
    for direction in [Direction::ClientToServer, Direction::ServerToClient] {
        let out: u64 = seen
            .iter()
            .filter(|seen| seen.direction == direction)
            .map(|seen| seen.bytes)
            .sum();
        let fed: usize = segments
            .iter()
            .filter(|segment| segment.direction == direction)
            .map(|segment| segment.bytes.len())
            .sum();
        assert_eq!(out, fed as u64, "{context}: bytes");
    }
}

fn cut(segments: &[Segment], length: usize) -> Vec<Segment> {
    let pieces = segments.iter().flat_map(|segment| {
        segment.bytes.chunks(length).map(|piece| Segment {
            bytes: piece.to_vec(),
            ..segment.clone()
        })
    });
    pieces.collect()
}

#[test]
fn no_stranger_is_a_database_on_any_port() {
    let strangers = strangers();
    assert!(strangers.len() > 70, "{} strangers", strangers.len());
    for stranger in &strangers {
        for port in ports(stranger) {
            let context = format!("{} on {port}", stranger.path.display());
            let segments = &stranger.segments;
            assert_opaque(&context, &play(port, segments), segments);
            let pieces = cut(segments, 3);
            assert_opaque(&context, &play(port, &pieces), segments);
        }
    }
}

#[test]
fn no_stranger_is_a_database_in_one_direction() {
    for stranger in &strangers() {
        for direction in [Direction::ClientToServer, Direction::ServerToClient] {
            let mut segments = stranger.segments.clone();
            segments.retain(|segment| segment.direction == direction);
            for port in ports(stranger) {
                let context = format!("{} on {port}, {direction:?} alone", stranger.path.display());
                assert_opaque(&context, &play(port, &segments), &segments);
                assert_opaque(&context, &play_joined(port, &segments), &segments);
            }
        }
    }
}

#[test]
fn no_stranger_is_a_database_from_the_middle_on() {
    for stranger in &strangers() {
        for place in 0..stranger.segments.len() {
            let segments = &stranger.segments[place..];
            for port in ports(stranger) {
                let context = format!("{} on {port} from segment {place}", stranger.path.display());
                assert_opaque(&context, &play(port, segments), segments);
                assert_opaque(&context, &play_joined(port, segments), segments);
                let turned = turned(segments);
                assert_opaque(&context, &play_joined(port, &turned), &turned);
            }
        }
    }
}

fn turned(segments: &[Segment]) -> Vec<Segment> {
    let turned = segments.iter().map(|segment| Segment {
        direction: segment.direction.reverse(),
        ..segment.clone()
    });
    turned.collect()
}

fn protocol(recording: &Recording) -> Option<Protocol> {
    let folder = recording.path.parent()?.file_name()?.to_str()?;
    match folder {
        "postgres" | "kingbase" => Some(Protocol::Postgres),
        "opaque" => None,
        name => [
            Protocol::Mysql,
            Protocol::Redis,
            Protocol::Oracle,
            Protocol::Informix,
            Protocol::Drda,
            Protocol::Mongodb,
            Protocol::Tds,
            Protocol::Http,
            Protocol::Fastcgi,
            Protocol::Tls,
        ]
        .into_iter()
        .find(|protocol| protocol.name() == name),
    }
}

#[test]
fn known_protocols_are_found_on_any_port() {
    for recording in recordings() {
        let Some(protocol) = protocol(&recording) else {
            continue;
        };
        let (expected, _) = play(recording.server_port, &recording.segments);
        for port in PORTS {
            let (seen, stream) = play(port, &recording.segments);
            let context = format!("{} on {port}", recording.path.display());
            let found = stream.decoding();
            assert!(
                is_of(found.protocol, protocol) || found.encrypted,
                "{context}: {found:?}"
            );
            assert_eq!(seen, expected, "{context}");
        }
    }
}

/// Stores over HTTP are recorded with HTTP.
fn is_of(found: Protocol, folder: Protocol) -> bool {
    found == folder || (folder == Protocol::Http && found.is_over_http())
}

/// The lower port is not the server's: the content identifies the sides, from the first byte on.
#[test]
fn sides_that_were_guessed_wrong_are_exchanged_from_the_beginning() {
    for recording in recordings() {
        let Some(protocol) = protocol(&recording) else {
            continue;
        };
        let silent = recording
            .segments
            .iter()
            .all(|segment| segment.direction == Direction::ClientToServer);
        if silent {
            continue;
        }
        let (expected, _) = play(recording.server_port, &recording.segments);
        let (seen, stream, is_reversed) = play_with_sides(40_000, &turned(&recording.segments));
        let context = recording.path.display();
        let found = stream.decoding();
        assert!(
            is_of(found.protocol, protocol) || found.encrypted,
            "{context}: {found:?}"
        );
        assert!(is_reversed, "{context}");
        assert_eq!(seen, expected, "{context}");
    }
}

/// A pooled connection on an unknown port, first seen at any request.
#[test]
fn sides_are_found_in_the_middle_of_a_connection() {
    let mut tried = 0;
    for recording in recordings() {
        let Some(protocol) = protocol(&recording).filter(|protocol| protocol.is_database()) else {
            continue;
        };
        let begins: Vec<usize> = requests(&recording);
        for &place in &begins {
            let segments = &recording.segments[place..];
            let (expected, straight) = play_joined(recording.server_port, segments);
            if straight.decoding().protocol != protocol {
                continue;
            }
            let (seen, stream, is_reversed) = play_with_sides(40_000, &turned(segments));
            let context = format!("{} from segment {place}", recording.path.display());
            assert_eq!(stream.decoding().protocol, protocol, "{context}");
            assert!(is_reversed, "{context}");
            assert_eq!(seen, expected, "{context}");
            tried += 1;
        }
    }
    assert!(tried > 500, "{tried} places");
}

fn requests(recording: &Recording) -> Vec<usize> {
    let segments = &recording.segments;
    (4..segments.len().saturating_sub(4))
        .filter(|&place| {
            segments[place].direction == Direction::ClientToServer
                && segments[place - 1].direction == Direction::ServerToClient
                && segments[place].hole == 0
        })
        .collect()
}

/// Recognised requests in the middle of connections, by protocol. The others have no recognisable
/// content after them: an encrypted rest, a file, a piece of something longer.
#[test]
fn connections_joined_in_the_middle_are_recognised() {
    let mut counts: Vec<(Protocol, usize, usize)> = Vec::new();
    let mut missed = Vec::new();
    for recording in recordings() {
        let Some(protocol) = protocol(&recording).filter(|protocol| protocol.is_database()) else {
            continue;
        };
        let whole = play(recording.server_port, &recording.segments).1.decoding();
        if whole.encrypted || whole.opaque.is_some() {
            continue;
        }
        for place in requests(&recording) {
            let (_, stream) = play_joined(40_000, &recording.segments[place..]);
            let is_found = stream.decoding().protocol == protocol;
            if !is_found {
                missed.push(format!("{} from {place}", recording.path.display()));
            }
            match counts.iter_mut().find(|count| count.0 == protocol) {
                Some((_, found, tried)) => {
                    *found += usize::from(is_found);
                    *tried += 1;
                }
                None => counts.push((protocol, usize::from(is_found), 1)),
            }
        }
    }
    for (protocol, found, tried) in &counts {
        assert!(
            found * 100 >= tried * 97,
            "{protocol}: {found} of {tried}; {missed:#?}"
        );
    }
    assert_eq!(counts.len(), 8, "{counts:?}");
}

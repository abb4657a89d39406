//! PostgreSQL cases without a recording, written from the manual.

mod streams;

use model::{Direction, Role, Timestamp};
use streams::{Seen, Segment, play};

const STARTUP: &[u8] = b"\0\0\0\x11\0\x03\0\0user\0me\0\0";

fn message(tag: u8, body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(body.len() + 4).expect("a short body");
    [&[tag][..], &length.to_be_bytes(), body].concat()
}

fn messages(tags: &str) -> Vec<u8> {
    let body = |tag| -> &[u8] {
        match tag {
            'P' => b"\0select 1\0\0\0",
            'B' => b"\0\0\0\0\0\0\0\0",
            'E' => b"\0\0\0\0\0",
            'Q' => b"select 1\0",
            'Z' => b"I",
            'C' => b"SELECT 1\0",
            'G' | 'W' => b"\0\0\0",
            '!' => b"SERROR\0VERROR\0C42601\0Mno\0\0",
            'R' => b"\0\0\0\0",
            _ => b"",
        }
    };
    let tag = |tag: char| {
        if tag == '!' {
            b'E'
        } else {
            u8::try_from(tag).expect("ASCII")
        }
    };
    tags.chars()
        .flat_map(|name| message(tag(name), body(name)))
        .collect()
}

/// Plays a conversation after a login: `>` and the client's tags, `<` and the server's, and returns
/// the roles.
fn roles(conversation: &[&str]) -> Vec<Role> {
    let mut bytes = vec![
        (Direction::ClientToServer, STARTUP.to_vec()),
        (Direction::ServerToClient, messages("RZ")),
    ];
    for part in conversation {
        let direction = if part.starts_with('>') {
            Direction::ClientToServer
        } else {
            Direction::ServerToClient
        };
        bytes.push((direction, messages(&part[1..])));
    }
    play_all(&bytes)
        .into_iter()
        .skip(4)
        .map(|seen| seen.role)
        .collect()
}

fn play_all(bytes: &[(Direction, Vec<u8>)]) -> Vec<Seen> {
    play(5432, &segments(bytes)).0
}

fn segments(bytes: &[(Direction, Vec<u8>)]) -> Vec<Segment> {
    let segment = |(place, (direction, bytes)): (usize, &(Direction, Vec<u8>))| Segment {
        direction: *direction,
        at: Timestamp::from_nanos(place as u64),
        bytes: bytes.clone(),
        hole: 0,
    };
    bytes.iter().enumerate().map(segment).collect()
}

use Role::{Notice, OneWay, Reply, ReplyPart, ReplyPause, Request, RequestPart};

#[test]
fn several_syncs_may_be_outstanding() {
    let found = roles(&[">PBESPBES", "<12CZ", "<12CZ"]);
    let asked = [RequestPart, RequestPart, RequestPart, Request];
    let answered = [ReplyPart, ReplyPart, ReplyPart, Reply];
    assert_eq!(found, [asked, asked, answered, answered].concat());
}

#[test]
fn the_answer_to_flush_is_a_pause_while_the_client_waits() {
    let waits = roles(&[">PH", "<1", ">BES", "<2CZ"]);
    let second = [RequestPart, RequestPart, Request, ReplyPart, ReplyPart, Reply];
    assert_eq!(waits, [&[RequestPart, Request, ReplyPause][..], &second].concat());
    let goes_on = roles(&[">PHBES", "<1", "<2CZ"]);
    let asked = [RequestPart, Request, RequestPart, RequestPart, Request];
    assert_eq!(
        goes_on,
        [&asked[..], &[Reply, ReplyPart, ReplyPart, Reply]].concat()
    );
    assert_eq!(roles(&[">H"]), [OneWay]);
}

#[test]
fn an_error_answers_every_flush_before_the_next_sync() {
    let found = roles(&[">PHPHS", "<!Z"]);
    let asked = [RequestPart, Request, RequestPart, Request, Request];
    assert_eq!(found, [&asked[..], &[Reply, Reply, Reply]].concat());
}

#[test]
fn what_follows_an_error_is_skipped_up_to_the_sync() {
    let found = roles(&[">PBEH", "<!", ">PBEHS", "<Z", ">Q", "<CZ"]);
    let asked = [RequestPart, RequestPart, RequestPart, Request, ReplyPause];
    let skipped = [RequestPart, RequestPart, RequestPart, RequestPart, Request, Reply];
    assert_eq!(
        found,
        [&asked[..], &skipped, &[Request, ReplyPart, Reply]].concat()
    );
}

#[test]
fn copy_in_by_execute_ends_with_a_second_sync() {
    let found = roles(&[">PBES", "<12G", ">ddcS", "<CZ"]);
    let asked = [
        RequestPart,
        RequestPart,
        RequestPart,
        Request,
        ReplyPart,
        ReplyPart,
        ReplyPause,
    ];
    let data = [RequestPart, RequestPart, RequestPart, Request, ReplyPart, Reply];
    assert_eq!(found, [&asked[..], &data].concat());
}

#[test]
fn data_behind_a_failed_copy_is_nobodys_request() {
    let found = roles(&[">Q", "<G", ">d", "<!Z", ">dc", ">Q", "<CZ"]);
    let failed = [Request, ReplyPause, RequestPart, ReplyPart, Reply, OneWay, OneWay];
    assert_eq!(found, [&failed[..], &[Request, ReplyPart, Reply]].concat());
}

#[test]
fn replication_streams_both_ways_without_turns() {
    let found = roles(&[">Q", "<W", "<d", ">d", "<d", ">c", "<cCZ"]);
    let stream = [Notice, OneWay, Notice, Request, ReplyPart, ReplyPart, Reply];
    assert_eq!(found, [&[Request, Reply][..], &stream].concat());
}

#[test]
fn messages_nobody_asked_for_are_notices() {
    let status = message(b'S', b"TimeZone\0UTC\0");
    let all = [
        (Direction::ClientToServer, STARTUP.to_vec()),
        (Direction::ServerToClient, messages("RZ")),
        (Direction::ServerToClient, status.clone()),
        (Direction::ClientToServer, messages("Q")),
        (Direction::ServerToClient, [status, messages("CZ")].concat()),
        (Direction::ServerToClient, messages("!")),
    ];
    let found: Vec<Role> = play_all(&all).into_iter().skip(4).map(|seen| seen.role).collect();
    assert_eq!(found, [Notice, Request, ReplyPart, ReplyPart, Reply, Notice]);
}

/// KingbaseES with compressing drivers 8.6 and 9.0: after the plain start-up, blocks of a length
/// and compressed bytes. Some of them happen to begin like a message.
#[test]
fn announced_compression_is_opaque_once_the_server_agrees() {
    let startup = |parameter: &[u8]| {
        let body = [&b"\0\x03\0\0user\0me\0"[..], parameter, b"\0"].concat();
        let length = u32::try_from(body.len() + 4).expect("short");
        [&length.to_be_bytes()[..], &body].concat()
    };
    let block = b"\0\0\0\x09\x78\x9c\x01\x02\x03".to_vec();
    let like_a_message = b"Z\0\0\0\x05IQ\0\0".to_vec();
    for parameter in [
        &b"comm_compress\x006\x00"[..],
        b"compress_level\x006\x00compress_min\x00128\x00compress_max\x0016777216\x00",
    ] {
        let mut all = vec![
            (Direction::ClientToServer, startup(parameter)),
            (Direction::ServerToClient, block.clone()),
        ];
        for _ in 0..3 {
            all.push((Direction::ClientToServer, block.clone()));
            all.push((Direction::ServerToClient, like_a_message.clone()));
        }
        let (seen, stream) = play(54321, &segments(&all));
        let reason = stream.decoding().opaque.expect("opaque");
        assert!(reason.contains("KingbaseES compression"), "{reason}");
        let opaque = seen
            .iter()
            .filter(|seen| seen.role == Role::Opaque && seen.bytes == 9);
        assert_eq!(opaque.count(), all.len() - 1, "a message for each block");
        assert_eq!(stream.decoding().protocol, model::Protocol::Postgres);
    }
    let startup = startup(b"comm_compress\x006\x00");
    let refused = [
        (Direction::ClientToServer, startup),
        (Direction::ServerToClient, messages("!")),
    ];
    assert_eq!(play(54321, &segments(&refused)).1.decoding().opaque, None);
}

#[test]
fn gssapi_encryption_is_opaque() {
    let all = [
        (Direction::ClientToServer, b"\0\0\0\x08\x04\xd2\x16\x30".to_vec()),
        (Direction::ServerToClient, b"G".to_vec()),
        (Direction::ClientToServer, b"\0\0\0\x05abcde".to_vec()),
        (Direction::ServerToClient, b"\0\0\0\x05abcde".to_vec()),
    ];
    let (seen, stream) = play(5432, &segments(&all));
    let roles: Vec<Role> = seen.iter().map(|seen| seen.role).collect();
    assert_eq!(roles, [Request, Reply, Role::Opaque, Role::Opaque]);
    let reason = stream.decoding().opaque.expect("opaque");
    assert!(reason.contains("GSSAPI"), "{reason}");
}

#[test]
fn messages_above_the_limit_are_refused() {
    let limit = wire::postgres::MAXIMUM_MESSAGE;
    for (length, refused) in [(limit, false), (limit + 1, true), (3, true), (u32::MAX, true)] {
        let data = [&b"d"[..], &length.to_be_bytes(), b"data"].concat();
        let all = [
            (Direction::ClientToServer, STARTUP.to_vec()),
            (Direction::ServerToClient, messages("RZ")),
            (Direction::ServerToClient, data),
        ];
        let (_, stream) = play(5432, &segments(&all));
        assert_eq!(stream.decoding().opaque.is_some(), refused, "{length}");
    }
}

/// TLS may follow its request within the same segment.
#[test]
fn bytes_behind_the_answer_to_a_request_for_tls_are_tls() {
    let alert = b"\x15\x03\x03\0\x02\x02\x28";
    let all = [
        (Direction::ClientToServer, b"\0\0\0\x08\x04\xd2\x16\x2f".to_vec()),
        (Direction::ServerToClient, [&b"S"[..], alert].concat()),
    ];
    let (seen, stream) = play(5432, &segments(&all));
    let bytes: Vec<u64> = seen.iter().map(|seen| seen.bytes).collect();
    assert_eq!(bytes, [8, 1, 7]);
    assert!(stream.decoding().encrypted);
}

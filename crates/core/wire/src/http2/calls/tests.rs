//! Requests of the tests of HTTP/1, over HTTP/2.

use crate::decoding::decoder::Decoder;
use crate::http::dialects::tests::{NAMES, SIGNED};
use crate::http2::{Http2Decoder, OPENING};
use model::{Content, Direction, Protocol, Role, Timestamp};

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;
const PADDED: u8 = 8;

fn frame(kind: u8, flags: u8, stream: u8, body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(body.len()).expect("short").to_be_bytes();
    [&length[1..], &[kind, flags, 0, 0, 0, stream], body].concat()
}

/// Literal fields, without the table.
fn block(fields: &[(String, &str)]) -> Vec<u8> {
    let text = |text: &str| {
        let long = u16::try_from(text.len()).expect("short").checked_sub(127);
        let length = match long.map(|long| [long & 127 | 128, long >> 7]) {
            None => vec![u8::try_from(text.len()).expect("short")],
            Some([low, high]) => [&[127], &low.to_be_bytes()[1..], &high.to_be_bytes()[1..]].concat(),
        };
        [&length, text.as_bytes()].concat()
    };
    let fields = fields.iter();
    fields
        .flat_map(|(name, value)| [vec![0], text(name), text(value)].concat())
        .collect()
}

fn head(lines: &str) -> Vec<u8> {
    let mut lines = lines.split('\n');
    let words: Vec<&str> = lines.next().expect("a line").split(' ').collect();
    let mut fields = vec![(":method".to_owned(), words[0]), (":path".to_owned(), words[1])];
    for line in lines {
        let (name, value) = line.split_once(": ").expect("a field");
        let name = match name {
            "Host" => ":authority".to_owned(),
            name => name.to_lowercase(),
        };
        fields.push((name, value));
    }
    block(&fields)
}

/// A request on stream 1: the first half of its body is padded.
fn request(lines: &str, body: &str) -> Vec<u8> {
    let head = head(&lines.replace("SIGNED", SIGNED));
    if body.is_empty() {
        return frame(HEADERS, END_HEADERS | END_STREAM, 1, &head);
    }
    let (half, rest) = body.as_bytes().split_at(body.len() / 2);
    let padded = [&[2], half, b"\0\0"].concat();
    [
        frame(HEADERS, END_HEADERS, 1, &head),
        frame(DATA, PADDED, 1, &padded),
        frame(DATA, 0, 1, rest),
        frame(DATA, END_STREAM, 1, b""),
    ]
    .concat()
}

fn played(client: &[u8], server: &[u8], size: usize) -> Vec<(Protocol, Role, String)> {
    let mut decoder = Http2Decoder::new(true);
    let mut seen = Vec::new();
    for (direction, bytes) in [
        (Direction::ClientToServer, &[OPENING.as_slice(), client].concat()),
        (Direction::ServerToClient, &server.to_vec()),
    ] {
        for piece in bytes.chunks(size) {
            let fed = decoder.feed(Timestamp::default(), direction, piece, &mut |message| {
                let text = if let Content::Call { text, .. } = message.content {
                    text.to_vec()
                } else if let Content::HttpRequest { method, target, .. } = message.content {
                    [method, b" ", target].concat()
                } else if let Content::Error { code, .. } = message.content {
                    code.to_vec()
                } else {
                    return;
                };
                let text = String::from_utf8(text).expect("text");
                seen.push((message.protocol, message.role, text));
            });
            fed.expect("frames");
        }
    }
    seen
}

#[test]
fn names_are_those_of_http1() {
    for (lines, body, protocol, name) in NAMES {
        for size in [7, 100_000] {
            let seen = played(&request(lines, body), b"", size).into_iter();
            let named: Vec<_> = seen.map(|(protocol, _, name)| (protocol, name)).collect();
            assert_eq!(named, [(protocol, name.to_owned())], "{lines}");
        }
    }
}

#[test]
fn a_body_that_is_another_one_after_all_is_a_request_of_http() {
    let lines = "POST /graphql HTTP/1.1\nContent-Type: application/json";
    let seen = played(&request(lines, r#"{"name":"a"}"#), b"", 7);
    assert_eq!(
        seen,
        [(Protocol::Http2, Role::Request, "POST /graphql".to_owned())]
    );
}

#[test]
fn a_request_that_is_answered_before_its_end_has_the_name_that_was_seen() {
    let lines = "POST / HTTP/1.1\nX-Amz-Target: DynamoDB_20120810.PutItem";
    let client = [
        frame(HEADERS, END_HEADERS, 1, &head(lines)),
        frame(DATA, 0, 1, br#"{"TableName": "Orders", "Item""#),
    ]
    .concat();
    let server = frame(
        HEADERS,
        END_HEADERS | END_STREAM,
        1,
        &block(&[(":status".to_owned(), "413")]),
    );
    let seen = played(&client, &server, 7);
    assert_eq!(
        seen,
        [(Protocol::Dynamodb, Role::Request, "PutItem Orders".to_owned())]
    );
}

#[test]
fn a_reply_of_success_says_in_its_body_that_the_request_failed() {
    let lines = "POST / HTTP/1.1\nX-Amz-Target: DynamoDB_20120810.BatchGetItem";
    let client = request(lines, r#"{"RequestItems": {"Orders": {"Keys": []}}}"#);
    let head = frame(HEADERS, END_HEADERS, 1, &block(&[(":status".to_owned(), "200")]));
    let body = br#"{"Responses": {}, "UnprocessedKeys": {"Orders": {}}}"#;
    let trailer = frame(
        HEADERS,
        END_HEADERS | END_STREAM,
        1,
        &block(&[("x".to_owned(), "y")]),
    );
    let ends = [
        frame(DATA, END_STREAM, 1, body),
        [frame(DATA, 0, 1, body), trailer].concat(),
    ];
    for end in ends {
        let seen = played(&client, &[head.as_slice(), &end].concat(), 7);
        let reply = (Protocol::Dynamodb, Role::Reply, "UnprocessedKeys".to_owned());
        assert_eq!(seen.last(), Some(&reply));
    }
}

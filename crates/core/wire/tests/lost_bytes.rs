//! Decoding resumes after bytes that were not captured.

mod streams;

use model::{Decoding, Direction, Role, Timestamp};
use streams::{Seen, Segment, play};

const CLIENT: Direction = Direction::ClientToServer;
const SERVER: Direction = Direction::ServerToClient;

struct Script {
    port: u16,
    segments: Vec<Segment>,
}

impl Script {
    fn new(port: u16) -> Self {
        Self {
            port,
            segments: Vec::new(),
        }
    }

    fn add(mut self, direction: Direction, bytes: &[u8], hole: u64) -> Self {
        self.segments.push(Segment {
            direction,
            at: Timestamp::from_nanos(self.segments.len() as u64 * 1_000_000),
            bytes: bytes.to_vec(),
            hole,
        });
        self
    }

    fn c(self, bytes: &[u8]) -> Self {
        self.add(CLIENT, bytes, 0)
    }

    fn s(self, bytes: &[u8]) -> Self {
        self.add(SERVER, bytes, 0)
    }

    fn lost(self, direction: Direction, count: u64) -> Self {
        self.add(direction, b"", count)
    }

    fn play(&self) -> (Vec<Seen>, Decoding) {
        let (seen, stream) = play(self.port, &self.segments);
        let fed: u64 = self
            .segments
            .iter()
            .map(|segment| segment.bytes.len() as u64 + segment.hole)
            .sum();
        assert_eq!(seen.iter().map(|seen| seen.bytes).sum::<u64>(), fed);
        (seen, stream.decoding())
    }

    fn roles_and_contents(&self) -> Vec<String> {
        let (seen, _) = self.play();
        seen.iter()
            .map(|seen| format!("{:?} {}", seen.role, seen.what))
            .collect()
    }
}

fn pg(tag: u8, body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(body.len() + 4).expect("a short body");
    [&[tag][..], &length.to_be_bytes(), body].concat()
}

fn query(text: &str) -> Vec<u8> {
    pg(b'Q', &[text.as_bytes(), b"\0"].concat())
}

fn row(text: &str) -> Vec<u8> {
    let length = u32::try_from(text.len()).expect("a short text");
    pg(
        b'D',
        &[&[0, 1][..], &length.to_be_bytes(), text.as_bytes()].concat(),
    )
}

fn done(tag: &str) -> Vec<u8> {
    [pg(b'C', &[tag.as_bytes(), b"\0"].concat()), pg(b'Z', b"I")].concat()
}

const STARTUP: &[u8] = b"\0\0\0\x11\0\x03\0\0user\0me\0\0";
const SSL_REQUEST: &[u8] = b"\0\0\0\x08\x04\xd2\x16\x2f";

fn logged_in() -> Script {
    Script::new(5432)
        .c(STARTUP)
        .s(&[pg(b'R', &[0; 4]), pg(b'Z', b"I")].concat())
}

#[test]
fn a_lost_no_to_tls_is_not_encryption() {
    let script = Script::new(5432)
        .c(SSL_REQUEST)
        .lost(SERVER, 1)
        .c(STARTUP)
        .s(&[pg(b'R', &[0; 4]), pg(b'Z', b"I")].concat())
        .c(&query("select 1"))
        .s(&done("SELECT 1"));
    let (seen, decoding) = script.play();
    assert!(!decoding.encrypted);
    assert_eq!(decoding.opaque, None);
    assert!(
        seen.iter().any(|seen| seen.what == "Work Statement 'select 1'"),
        "{seen:?}"
    );
}

#[test]
fn a_lost_yes_to_tls_is_shown_by_the_greeting() {
    let hello = b"\x16\x03\x01\0\x09\x01\0\0\x05\x03\x03xyz";
    let script = Script::new(5432).c(SSL_REQUEST).lost(SERVER, 1).c(hello);
    let (_, decoding) = script.play();
    assert!(decoding.encrypted, "{decoding:?}");
}

#[test]
fn behind_lost_rows_the_next_whole_message_is_found() {
    let behind = row("four four");
    let rows = [&behind[6..], &row("five"), &row("six"), &done("SELECT 6")].concat();
    let script = logged_in()
        .c(&query("select v from t"))
        .s(&[pg(b'T', &[0; 27]), row("one"), row("two")].concat())
        .lost(SERVER, 20)
        .s(&rows)
        .c(&query("select 1"))
        .s(&done("SELECT 1"));
    assert_eq!(
        script.roles_and_contents()[4..],
        [
            "Request Work Statement 'select v from t'",
            "ReplyPart Work",
            "ReplyPart Work Row",
            "ReplyPart Work Row",
            "Opaque Work",
            "Opaque Work",
            "ReplyPart Work Row",
            "ReplyPart Work Row",
            "ReplyPart Work Done 6",
            "Reply Work Ready Idle",
            "Request Work Statement 'select 1'",
            "ReplyPart Work Done 1",
            "Reply Work Ready Idle",
        ]
    );
}

#[test]
fn a_lost_ready_is_not_waited_for() {
    let script = logged_in()
        .c(&query("select 1"))
        .s(&row("1"))
        .lost(SERVER, 19)
        .c(&query("select 2"))
        .s(&done("SELECT 1"));
    let told = script.roles_and_contents();
    assert_eq!(
        told[told.len() - 3..],
        [
            "Request Work Statement 'select 2'",
            "ReplyPart Work Done 1",
            "Reply Work Ready Idle"
        ]
    );
}

#[test]
fn statements_behind_a_lost_request_are_decoded() {
    let script = logged_in()
        .lost(CLIENT, 14)
        .s(&done("SELECT 1"))
        .c(&query("select 2"))
        .s(&done("SELECT 1"));
    let (seen, decoding) = script.play();
    assert_eq!(decoding.opaque, None);
    let roles: Vec<Role> = seen[4..].iter().map(|seen| seen.role).collect();
    assert_eq!(
        roles,
        [
            Role::Opaque,
            Role::ReplyPart,
            Role::Reply,
            Role::Request,
            Role::ReplyPart,
            Role::Reply
        ]
    );
}

#[test]
fn data_behind_a_lost_word_to_copy_is_a_request() {
    let script = logged_in()
        .c(&query("copy t from stdin"))
        .lost(SERVER, 12)
        .c(&[pg(b'd', b"1\n"), pg(b'c', b"")].concat())
        .s(&done("COPY 1"));
    let (seen, _) = script.play();
    let roles: Vec<Role> = seen[6..].iter().map(|seen| seen.role).collect();
    assert_eq!(
        roles,
        [Role::RequestPart, Role::Request, Role::ReplyPart, Role::Reply]
    );
}

#[test]
fn an_http_reply_is_found_behind_a_lost_body() {
    let reply = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
    let script = Script::new(80)
        .c(b"GET /a HTTP/1.1\r\n\r\nGET /b HTTP/1.1\r\n\r\nGET /c HTTP/1.1\r\n\r\n")
        .s(reply)
        .lost(SERVER, 20)
        .s(&[&reply[20..], reply].concat());
    assert_eq!(
        script.roles_and_contents(),
        [
            "Request Work HttpRequest GET /a",
            "Request Work HttpRequest GET /b",
            "Request Work HttpRequest GET /c",
            "ReplyPart Work HttpResponse 200",
            "Reply Work",
            "Opaque Work",
            "Opaque Work",
            "ReplyPart Work HttpResponse 200",
            "Reply Work",
        ]
    );
}

#[test]
fn records_of_tls_are_counted_behind_lost_ones() {
    let data = b"\x17\x03\x03\0\x04abcd";
    let hello = b"\x16\x03\x01\0\x09\x01\0\0\x05\x03\x03xyz";
    let script = Script::new(443)
        .c(hello)
        .lost(SERVER, 1500)
        .s(&[&data[3..], data, data].concat())
        .c(data)
        .s(data);
    let (seen, decoding) = script.play();
    assert!(decoding.encrypted);
    assert_eq!(
        seen.iter().map(|seen| seen.bytes).collect::<Vec<_>>(),
        [14, 1500, 6, 9, 9, 9, 9]
    );
}

#[test]
fn a_record_that_waited_when_the_place_was_lost_is_handed_out_once() {
    let client_hello = [&[22, 3, 1, 0, 200, 1, 0, 0, 196, 3, 3][..], &[7; 194]].concat();
    let server_hello = [&[22, 3, 3, 0, 85, 2, 0, 0, 81, 3, 3][..], &[9; 79]].concat();
    let behind = [&server_hello[..], b"no record", &[8; 42]].concat();
    let application_data = [&[23, 3, 3, 0, 20][..], &[5; 20]].concat();
    let script = Script::new(443).c(&client_hello).s(&behind).lost(CLIENT, 4_017);
    // `play` compares emitted bytes with fed bytes.
    script
        .s(&[&[4; 30][..], &application_data, &application_data].concat())
        .play();
}

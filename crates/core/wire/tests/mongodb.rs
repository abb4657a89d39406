//! MongoDB's messages that no server of the tests sends, made by hand.

use model::{Content, Direction, Message, PerDirection, Role, Timestamp};
use wire::{Decoder, PROTOCOLS};

fn decoder() -> Box<dyn Decoder + Send> {
    let row = PROTOCOLS
        .iter()
        .find(|row| row.protocol == model::Protocol::Mongodb);
    (row.expect("it has a row").decoder)(PerDirection::default())
}

fn document(elements: &[Vec<u8>]) -> Vec<u8> {
    let elements = elements.concat();
    [&(elements.len() as i32 + 5).to_le_bytes()[..], &elements, b"\0"].concat()
}

fn element(kind: u8, name: &str, value: &[u8]) -> Vec<u8> {
    [&[kind][..], name.as_bytes(), b"\0", value].concat()
}

fn text(name: &str, value: &str) -> Vec<u8> {
    let length = (value.len() as i32 + 1).to_le_bytes();
    element(2, name, &[&length[..], value.as_bytes(), b"\0"].concat())
}

fn int(name: &str, value: i32) -> Vec<u8> {
    element(0x10, name, &value.to_le_bytes())
}

fn long(name: &str, value: i64) -> Vec<u8> {
    element(0x12, name, &value.to_le_bytes())
}

fn message(opcode: i32, [id, responds_to]: [i32; 2], body: &[u8]) -> Vec<u8> {
    let header = [body.len() as i32 + 16, id, responds_to, opcode].map(i32::to_le_bytes);
    [&header.concat()[..], body].concat()
}

/// `OP_MSG` with a section of kind 0.
fn msg(flags: u32, ids: [i32; 2], document: &[u8]) -> Vec<u8> {
    message(2013, ids, &[&flags.to_le_bytes()[..], b"\0", document].concat())
}

fn find(id: i32, batch: i32) -> Vec<u8> {
    let filter = document(&[text("name", "secret")]);
    msg(
        0,
        [id, 0],
        &document(&[
            text("find", "users"),
            element(3, "filter", &filter),
            int("batchSize", batch),
        ]),
    )
}

fn batch(ids: [i32; 2], count: usize, cursor: i64) -> Vec<u8> {
    let row = document(&[text("name", &"x".repeat(100))]);
    let rows: Vec<Vec<u8>> = (0..count)
        .map(|index| element(3, &index.to_string(), &row))
        .collect();
    let cursor = document(&[element(4, "firstBatch", &document(&rows)), long("id", cursor)]);
    msg(
        0,
        ids,
        &document(&[
            element(3, "cursor", &cursor),
            element(1, "ok", &1f64.to_le_bytes()),
        ]),
    )
}

#[derive(Debug, Default)]
struct Seen {
    roles: Vec<Role>,
    contents: Vec<String>,
    errors: Vec<String>,
}

fn play(messages: &[(Direction, Vec<u8>)]) -> Seen {
    let mut decoder = decoder();
    let mut seen = Seen::default();
    for (direction, bytes) in messages {
        for piece in bytes.chunks(1000) {
            let result = decoder.feed(
                Timestamp::default(),
                *direction,
                piece,
                &mut |message: &Message<'_>| {
                    seen.roles.push(message.role);
                    seen.contents.push(match message.content {
                        Content::Run { text, sets, .. } => {
                            format!("{} x{sets}", String::from_utf8_lossy(text))
                        }
                        Content::Statement { text } => String::from_utf8_lossy(text).into_owned(),
                        Content::Done { rows, .. } => format!("rows {rows:?}"),
                        other => format!("{other:?}"),
                    });
                },
            );
            if let Err(error) = result {
                seen.errors.push(error.to_string());
                return seen;
            }
        }
    }
    seen
}

use Direction::{ClientToServer as C, ServerToClient as S};

#[test]
fn documents_beyond_the_kept_bytes_are_counted_and_their_cursor_is_found() {
    let more = document(&[
        long("getMore", 99),
        text("collection", "users"),
        int("batchSize", 7),
    ]);
    let seen = play(&[
        (C, find(1, 5)),
        (S, batch([8, 1], 2000, 99)),
        (C, msg(0, [2, 0], &more)),
    ]);
    assert_eq!(seen.contents[..2], ["find users {name} x1", "rows Some(2000)"]);
    assert!(
        seen.contents[2].starts_with("Fetch { statement: Some("),
        "{}",
        seen.contents[2]
    );
}

#[test]
fn a_checksum_and_a_section_before_the_command() {
    let row = document(&[text("name", "secret")]);
    let documents = [&b"documents\0"[..], &row, &row, &row].concat();
    let command = document(&[text("insert", "users"), text("$db", "shop")]);
    let body = [
        &1u32.to_le_bytes()[..],
        b"\x01",
        &(documents.len() as i32 + 4).to_le_bytes(),
        &documents,
        b"\0",
        &command,
        b"\x11\x22\x33\x44",
    ]
    .concat();
    let written = document(&[int("n", 3), int("ok", 1)]);
    let seen = play(&[(C, message(2013, [1, 0], &body)), (S, msg(0, [5, 1], &written))]);
    assert_eq!(seen.contents, ["insert users x3", "rows Some(3)"]);
}

#[test]
fn requests_of_old_clients() {
    let query = [&[0; 4][..], b"shop.users\0", &[0; 8], &document(&[int("a", 1)])].concat();
    let reply = [&[0; 16][..], &2i32.to_le_bytes(), &document(&[]), &document(&[])].concat();
    let insert = [&[0; 4][..], b"shop.users\0", &document(&[int("a", 1)])].concat();
    let seen = play(&[
        (C, message(2004, [1, 0], &query)),
        (S, message(1, [5, 1], &reply)),
        (C, message(2002, [2, 0], &insert)),
    ]);
    assert_eq!(seen.roles, [Role::Request, Role::Reply, Role::OneWay]);
    assert_eq!(seen.contents[0], "find users");
    assert_eq!(seen.contents[2], "insert users");
}

#[test]
fn content_of_an_unknown_compressor_is_counted() {
    let body = [&2013i32.to_le_bytes()[..], &40i32.to_le_bytes(), b"\x09whatever"].concat();
    let seen = play(&[
        (C, message(2012, [1, 0], &body)),
        (S, message(2012, [5, 1], &body)),
    ]);
    assert_eq!(seen.roles, [Role::Request, Role::Reply]);
    assert_eq!(seen.contents, ["Other", "Other"]);
}

#[test]
fn a_reply_to_another_request_is_an_error_and_to_none_a_notice() {
    let ok = document(&[int("ok", 1)]);
    let seen = play(&[
        (C, find(1, 5)),
        (S, msg(0, [8, 77], &ok)),
        (S, msg(0, [9, 1], &ok)),
    ]);
    assert_eq!(seen.roles, [Role::Request, Role::Notice, Role::Reply]);
    let seen = play(&[(C, find(1, 5)), (C, find(2, 5)), (S, msg(0, [8, 2], &ok))]);
    assert!(
        seen.errors[0].contains("the reply to the oldest request"),
        "{:?}",
        seen.errors
    );
}

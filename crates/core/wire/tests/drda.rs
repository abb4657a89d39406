//! DRDA cases without a recording, written from the specification.

mod streams;

use model::{Direction, Timestamp};
use streams::{Seen, Segment, play};

const CLIENT: Direction = Direction::ClientToServer;
const SERVER: Direction = Direction::ServerToClient;

fn object(code: u16, body: &[u8]) -> Vec<u8> {
    let length = u16::try_from(body.len() + 4).expect("short");
    [&length.to_be_bytes()[..], &code.to_be_bytes(), body].concat()
}

fn structure(format: u8, body: &[u8]) -> Vec<u8> {
    let length = u16::try_from(body.len() + 6).expect("short");
    [&length.to_be_bytes()[..], &[0xD0, format, 0, 1], body].concat()
}

fn contents(parts: &[(Direction, Vec<u8>)]) -> Vec<String> {
    let segments: Vec<Segment> = (0..)
        .zip(parts)
        .map(|(place, (direction, bytes))| Segment {
            direction: *direction,
            at: Timestamp::from_nanos(place),
            bytes: bytes.clone(),
            hole: 0,
        })
        .collect();
    let (seen, stream) = play(50000, &segments);
    assert_eq!(stream.decoding().opaque, None);
    let what = |seen: &Seen| seen.what.split_once(' ').map(|(_, content)| content.to_owned());
    seen.iter().filter_map(what).collect()
}

/// A Db2 on Linux describes itself and its numbers: least significant byte first.
fn db2() -> [(Direction, Vec<u8>); 4] {
    let class = object(
        0x1147,
        &[0xD8, 0xC4, 0xC2, 0xF2, 0x61, 0xD3, 0xC9, 0xD5, 0xE4, 0xE7],
    );
    let level = object(0x115A, &[0xE2, 0xD8, 0xD3, 0xF1, 0xF1, 0xF0, 0xF5, 0xF9]);
    [
        (CLIENT, structure(0x01, &object(0x1041, b""))),
        (SERVER, structure(0x02, &object(0x1443, &[class, level].concat()))),
        (
            CLIENT,
            structure(0x01, &object(0x2001, &object(0x002F, b"QTDSQLASC"))),
        ),
        (
            SERVER,
            structure(0x02, &object(0x2201, &object(0x002F, b"QTDSQLX86"))),
        ),
    ]
}

/// Outcome of a statement: -204, or changed rows.
fn card(code: i32, state: &[u8], rows: i32) -> Vec<u8> {
    let counts = [[0; 8].to_vec(), rows.to_le_bytes().to_vec(), [0; 12].to_vec()].concat();
    [
        &[0][..],
        &code.to_le_bytes(),
        state,
        b"SQL11059",
        &[0],
        &counts,
        b"           ",
        &[0; 6],
        &[0xFF],
    ]
    .concat()
}

#[test]
fn numbers_of_a_little_endian_server_are_read_as_it_said() {
    let run = structure(0x51, &object(0x200A, b""));
    let text = b"\0\0\0\0\x08delete t\xff";
    let parts = [
        &db2()[..],
        &[
            (
                CLIENT,
                [run.clone(), structure(0x03, &object(0x2414, text))].concat(),
            ),
            (SERVER, structure(0x03, &object(0x2408, &card(0, b"     ", 300)))),
            (CLIENT, [run, structure(0x03, &object(0x2414, text))].concat()),
            (SERVER, structure(0x03, &object(0x2408, &card(-204, b"42704", 0)))),
        ],
    ]
    .concat();
    assert_eq!(
        contents(&parts),
        [
            "ServerVersion QDB2/LINUX SQL11059",
            "Statement 'delete t'",
            "Done 300 Open",
            "Statement 'delete t'",
            "Error 42704 'SQLCODE -204'"
        ]
    );
}

/// A block of rows ends within a row; the next block continues it.
#[test]
fn rows_go_on_from_one_block_to_the_next() {
    let package = object(0x2113, b"package, section 1");
    let size = object(0x2114, &64u32.to_be_bytes());
    let described = object(
        0x241A,
        b"\x09\x76\xd0\x02\x00\x04\x33\x00\x64\x06\x71\xf0\xe0\x00\x00",
    );
    let row = |text: &[u8]| {
        let length = u16::try_from(text.len()).expect("short").to_le_bytes();
        [&[0xFF, 0, 1, 0, 0, 0, 0][..], &length, text].concat()
    };
    let null = [0xFF, 0, 2, 0, 0, 0, 0xFF].to_vec();
    let end = [card(100, b"02000", 0), vec![0xFF]].concat();
    let rows = [row(b"one"), null, row(&[b'x'; 300]), row(b""), end].concat();
    let (first, second) = rows.split_at(100);
    let parts = [
        &db2()[..],
        &[
            (
                CLIENT,
                structure(0x01, &object(0x200C, &[package.clone(), size.clone()].concat())),
            ),
            (
                SERVER,
                [
                    structure(0x43, &described),
                    structure(0x03, &object(0x241B, first)),
                ]
                .concat(),
            ),
            (
                CLIENT,
                structure(0x01, &object(0x2006, &[package, size].concat())),
            ),
            (SERVER, structure(0x03, &object(0x241B, second))),
        ],
    ]
    .concat();
    assert_eq!(
        contents(&parts)[1..],
        [
            "Unseen #0 'section 0' None",
            "Execute 0 rows unknown bytes 64 sets 1",
            "Done 2 Open",
            "Fetch 0 rows unknown bytes 64",
            "Done 2 Open"
        ]
    );
}

/// An object longer than a structure's segment, with four more length bytes, in three segments; and
/// one that lasts to the end of its structure.
#[test]
fn long_objects_are_one() {
    let text = [&b"\0\0\0\x9c\x40"[..], &[b'x'; 40_000], b"\xff"].concat();
    let length = u32::try_from(text.len()).expect("short").to_be_bytes();
    let body = [&b"\x80\x08\x24\x14"[..], &length, &text].concat();
    let (first, rest) = body.split_at(0x7FFF - 6);
    let (second, third) = rest.split_at(7000);
    let segment = |more: u16, part: &[u8]| {
        let length = u16::try_from(part.len() + 2).expect("short") | more;
        [&length.to_be_bytes()[..], part].concat()
    };
    let long = [
        &b"\xff\xff\xd0\x03\0\x01"[..],
        first,
        &segment(0x8000, second),
        &segment(0, third),
    ]
    .concat();
    let run = structure(0x51, &object(0x200A, b""));
    let lasting = structure(0x03, b"\x80\x04\x24\x14\0\0\0\0\x03set\xff");
    let parts = [
        &db2()[..],
        &[
            (CLIENT, [run.clone(), long].concat()),
            (SERVER, structure(0x03, &object(0x2408, &card(0, b"     ", 1)))),
            (CLIENT, [run, lasting].concat()),
        ],
    ]
    .concat();
    let told = contents(&parts);
    assert!(told[1].ends_with("... (40000 bytes)'"), "{}", told[1]);
    assert_eq!(told[2..], ["Done 1 Open", "Statement 'set'"]);
}

/// User, password and encryption keys are not stored; a refusal is reported by its name.
#[test]
fn nothing_of_a_login_is_told() {
    let user = object(0x11A0, b"secret-user");
    let password = object(0x11A1, b"secret-word");
    let parts = [
        &db2()[..2],
        &[
            (
                CLIENT,
                structure(0x01, &object(0x106D, &object(0x11DC, b"secret-token"))),
            ),
            (SERVER, structure(0x02, &object(0x14AC, b""))),
            (
                CLIENT,
                structure(0x01, &object(0x106E, &[user, password].concat())),
            ),
            (
                SERVER,
                structure(
                    0x02,
                    &object(
                        0x1219,
                        &[object(0x1149, b"\0\x08"), object(0x11A4, b"\x0f")].concat(),
                    ),
                ),
            ),
        ],
    ]
    .concat();
    let told = contents(&parts);
    assert!(told.iter().all(|told| !told.contains("secret")), "{told:?}");
    assert_eq!(told[1..], ["Error SECCHKRM ''"]);
}

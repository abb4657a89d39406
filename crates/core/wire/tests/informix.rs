//! SQLI cases without a recording, written from descriptions of the protocol.

mod streams;

use model::{Direction, Role, Timestamp};
use streams::{Seen, Segment, play};

fn shorts(numbers: &[u16]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_be_bytes()).collect()
}

fn text(text: &[u8]) -> Vec<u8> {
    let length = u16::try_from(text.len()).expect("short");
    let padding: &[u8] = if text.len() % 2 == 1 { b"\0" } else { b"" };
    [&length.to_be_bytes(), text, padding].concat()
}

/// A login each way, the server's features, then alternately client and server.
fn session(features: &[u8], turns: &[Vec<u8>]) -> Vec<Seen> {
    let login = |kind: u8| [&[0, 16, kind, 60, 0, 0, 0, 100, 0, 101][..], &[0; 6]].concat();
    let offer = [shorts(&[126]), text(&[0xff; 9]), shorts(&[12])].concat();
    let taken = [shorts(&[126]), text(features), shorts(&[12])].concat();
    let all = [vec![login(1), login(2), offer, taken], turns.to_vec()].concat();
    let segments: Vec<Segment> = (0..)
        .zip(all)
        .map(|(place, bytes)| Segment {
            direction: if place % 2 == 0 {
                Direction::ClientToServer
            } else {
                Direction::ServerToClient
            },
            at: Timestamp::from_nanos(place),
            bytes,
            hole: 0,
        })
        .collect();
    let (seen, stream) = play(9088, &segments);
    assert_eq!(stream.decoding().opaque, None);
    assert_eq!(stream.decoding().protocol, model::Protocol::Informix);
    let requests = seen.iter().filter(|seen| seen.role == Role::Request).count();
    let replies = seen.iter().filter(|seen| seen.role == Role::Reply).count();
    assert_eq!(
        [requests, replies],
        [segments.len().div_ceil(2), segments.len() / 2],
        "{seen:?}"
    );
    seen.into_iter()
        .skip_while(|seen| seen.started.as_nanos() < 4)
        .collect()
}

fn contents(seen: &[Seen]) -> Vec<&str> {
    seen.iter()
        .map(|seen| seen.what.trim_start_matches("Work"))
        .map(str::trim)
        .filter(|what| !what.is_empty())
        .collect()
}

const NOTHING: [u8; 9] = [0; 9];

#[test]
fn statements_have_two_bytes_of_length_where_that_was_agreed() {
    let prepare = [shorts(&[2, 0]), text(b"select 1 from t"), shorts(&[22, 49, 12])].concat();
    let describe = [
        shorts(&[8, 2, 5, 0, 0, 4, 1, 0, 2]),
        [0; 14].to_vec(),
        shorts(&[0, 0]),
    ]
    .concat();
    let described = [describe, [0; 12].to_vec(), b"a\0".to_vec(), shorts(&[12])].concat();
    let open = shorts(&[4, 5, 3, 2, 0x6161, 6, 4, 5, 9, 0, 4096, 0, 12]);
    let fault = [shorts(&[13, 0xff32, 0, 7]), text(b"secret"), shorts(&[12])].concat();
    let seen = session(&NOTHING, &[prepare, described, open, fault]);
    assert_eq!(
        contents(&seen),
        [
            "Prepare #0 'select 1 from t'",
            "Execute 0 rows unknown sets 1",
            "Fetch 0 rows unknown bytes 4096",
            "Error -206 ''"
        ]
    );
}

#[test]
fn counts_are_wide_where_that_was_agreed() {
    let features = [0, 0, 0, 0, 0, 0, 0, 0x02, 0x06];
    let command = [
        shorts(&[1, 0, 0, 8]),
        b"delete t".to_vec(),
        shorts(&[22, 7, 11, 12]),
    ]
    .concat();
    let describe = shorts(&[8, 5, 0, 0, 0, 0, 0, 0, 0, 0]);
    let done = [shorts(&[15, 0, 0, 0, 1, 2]), [0; 12].to_vec()].concat();
    let inserted = [shorts(&[94]), [0; 18].to_vec()].concat();
    let answer = [
        describe,
        done,
        inserted,
        shorts(&[55, 0, 1, 0, 1, 99, 3, 0, 1, 12]),
    ]
    .concat();
    let seen = session(&features, &[command, answer]);
    assert_eq!(
        contents(&seen),
        ["Statement 'delete t'", "Done 65538", "Ready Idle"]
    );
}

#[test]
fn large_values_are_passed_over() {
    let features = [0, 0, 0, 0, 0, 0, 0, 0x02, 0];
    let scroll = shorts(&[
        4, 0, 100, 0, 2, 13, 0, 40, 43, 0, 0, 0, 0, 23, 1, 0, 7, 0, 8192, 12,
    ]);
    let blob = |bytes: &[u8]| [shorts(&[39]), text(bytes)].concat();
    let row = [shorts(&[14, 0, 0, 3]), b"abc\0".to_vec()].concat();
    let object = [shorts(&[97, 0, 0, 5]), text(b"abc"), text(b"de")].concat();
    let rows = [row.clone(), blob(b"12345"), row, blob(b""), object, shorts(&[12])].concat();
    let more = [
        shorts(&[4, 0, 38]),
        [0; 56].to_vec(),
        shorts(&[97, 0, 1, 0, 100, 0, 12]),
    ]
    .concat();
    let seen = session(&features, &[scroll, rows, more, shorts(&[12])]);
    assert_eq!(
        contents(&seen),
        ["Fetch unknown rows unknown bytes 8192", "Row", "Row"]
    );
}

/// An unknown code, and a parameter of unknown type: both last until the other side speaks.
#[test]
fn what_is_not_known_costs_its_group_and_no_more() {
    let unknown = [
        shorts(&[4, 0, 0x0abc]),
        b"anything\0\x0c\0\x02".to_vec(),
        shorts(&[12]),
    ]
    .concat();
    let bind = [
        shorts(&[4, 0, 5, 1, 41, 0, 0]),
        b"anything".to_vec(),
        shorts(&[7, 12]),
    ]
    .concat();
    let odd = [shorts(&[0x0777]), b"anything".to_vec(), shorts(&[12])].concat();
    let commit = shorts(&[19, 12]);
    let committed = shorts(&[99, 2, 0, 1, 12]);
    let seen = session(&NOTHING, &[unknown, shorts(&[12]), bind, odd, commit, committed]);
    assert_eq!(
        contents(&seen),
        [
            "Execute unknown rows unknown sets 1",
            "Statement 'commit work'",
            "Ready Idle"
        ]
    );
}

/// A group that the server leaves open ends when the client speaks.
#[test]
fn an_answer_without_an_end_is_one() {
    let row = [shorts(&[14, 0, 0, 2]), b"ab".to_vec()].concat();
    let seen = session(
        &NOTHING,
        &[
            shorts(&[4, 0, 9, 0, 64, 0, 12]),
            row,
            shorts(&[20, 12]),
            shorts(&[12]),
        ],
    );
    assert_eq!(
        contents(&seen),
        [
            "Fetch unknown rows unknown bytes 64",
            "Row",
            "Statement 'rollback work'"
        ]
    );
}

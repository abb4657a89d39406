//! Recorded sessions of `openssl s_server` and `s_client` 3.0 with suites in CBC mode: TLS 1.0 to
//! 1.2, MAC before and after encryption. The first line of a recording is the client's key log, the
//! others are the bytes of one side.

use model::Direction::{self, ClientToServer, ServerToClient};
use std::path::Path;
use std::sync::Arc;
use tls_keys::{KeyLog, OpenedRecord, RecordOpener};

struct Session {
    name: String,
    keys: String,
    records: Vec<(Direction, Vec<u8>)>,
}

fn sessions() -> Vec<Session> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data");
    let files = std::fs::read_dir(folder).expect("tests/data is part of the crate");
    let sessions: Vec<Session> = files.map(|file| session(&file.expect("a file").path())).collect();
    assert_eq!(sessions.len(), 21);
    sessions
}

fn session(path: &Path) -> Session {
    let text = std::fs::read_to_string(path).expect("a recording");
    let (keys, lines) = text.split_once('\n').expect("a first line");
    let mut streams = [Vec::new(), Vec::new()];
    let mut records = Vec::new();
    for line in lines.lines() {
        let (who, digits) = line.split_once(' ').expect("who, and what");
        let direction = if who == "C" {
            ClientToServer
        } else {
            ServerToClient
        };
        let stream: &mut Vec<u8> = &mut streams[direction.index()];
        let pairs = (0..digits.len()).step_by(2);
        stream.extend(pairs.map(|at| u8::from_str_radix(&digits[at..at + 2], 16).expect("digits")));
        while let Some(length) = stream
            .get(3..5)
            .map(|two| 5 + usize::from(two[0]) * 256 + usize::from(two[1]))
            && stream.len() >= length
        {
            records.push((direction, stream.drain(..length).collect()));
        }
    }
    Session {
        name: path.file_name().expect("a name").to_string_lossy().into_owned(),
        keys: keys.to_owned(),
        records,
    }
}

fn opened(keys: &str, records: &[(Direction, Option<Vec<u8>>)]) -> ([String; 2], usize) {
    let mut log = KeyLog::default();
    log.line(keys.as_bytes()).expect("a line of a key log");
    let mut opener = RecordOpener::new(Arc::new(log));
    let (mut text, mut closed) = (<[String; 2]>::default(), 0);
    for (direction, record) in records {
        let Some(record) = record else {
            opener.miss(*direction);
            continue;
        };
        let (header, body) = record.split_first_chunk::<5>().expect("a record");
        match opener.open(*direction, header, body) {
            OpenedRecord::Data(plain) => text[direction.index()] += &String::from_utf8_lossy(plain),
            OpenedRecord::Closed(_) => closed += 1,
            OpenedRecord::Clear | OpenedRecord::Handshake | OpenedRecord::Alert => {}
        }
    }
    (text, closed)
}

fn whole(session: &Session) -> Vec<(Direction, Option<Vec<u8>>)> {
    let records = session.records.iter();
    records
        .map(|(direction, record)| (*direction, Some(record.clone())))
        .collect()
}

fn said() -> [String; 2] {
    let lines = |word: &str, letter: &str, step: usize| {
        (0..3)
            .map(|turn| format!("{word} {}\n", letter.repeat(step * turn)))
            .collect::<String>()
    };
    [lines("ask", "x", 7), lines("answer", "y", 300)]
}

#[test]
fn suites_in_cbc_mode_are_opened_with_their_keys() {
    for session in sessions() {
        assert_eq!(
            opened(&session.keys, &whole(&session)),
            (said(), 0),
            "{}",
            session.name
        );
    }
}

#[test]
fn a_wrong_key_opens_nothing() {
    for session in sessions() {
        let last = if session.keys.ends_with('0') { "1" } else { "0" };
        let keys = session.keys[..session.keys.len() - 1].to_owned() + last;
        let (text, closed) = opened(&keys, &whole(&session));
        assert_eq!(text, <[String; 2]>::default(), "{}", session.name);
        assert!(closed >= 8, "{}: {closed}", session.name);
    }
}

fn asked(session: &Session) -> Vec<usize> {
    let places = session.records.iter().enumerate();
    let data = places.filter(|(_, (direction, record))| *direction == ClientToServer && record[0] == 23);
    data.map(|(place, _)| place).collect()
}

#[test]
fn a_damaged_record_costs_itself_and_with_tls_10_at_most_the_next() {
    for session in sessions() {
        for byte in [5, usize::MAX] {
            let mut records = whole(&session);
            let record = records[asked(&session)[0]].1.as_mut().expect("a record");
            let place = byte.min(record.len() - 1);
            record[place] ^= 0x40;
            let (text, closed) = opened(&session.keys, &records);
            let most = if session.name.starts_with("tls1-") { 2 } else { 1 };
            assert!((1..=most).contains(&closed), "{}: {closed}", session.name);
            assert!(
                text[0].ends_with("ask xxxxxxxxxxxxxx\n"),
                "{}: {text:?}",
                session.name
            );
            assert_eq!(text[1], said()[1], "{}", session.name);
        }
    }
}

#[test]
fn behind_a_record_that_was_not_captured_the_others_are_opened() {
    for session in sessions() {
        let mut records = whole(&session);
        records[asked(&session)[0]].1 = None;
        let (text, closed) = opened(&session.keys, &records);
        // In TLS 1.0 a record depends on the previous one: one is lost for each that is missing.
        assert_eq!(
            closed,
            usize::from(session.name.starts_with("tls1-")),
            "{}",
            session.name
        );
        assert!(
            text[0].ends_with("ask xxxxxxxxxxxxxx\n"),
            "{}: {text:?}",
            session.name
        );
    }
}

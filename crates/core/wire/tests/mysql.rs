//! MySQL and MariaDB decoding of recordings with the counts of another decoder, and cases without a
//! recording, written from the protocol's documentation.

mod streams;

use model::{Direction, Role, Timestamp};
use proptest::prelude::*;
use streams::{Recording, Seen, Segment, play, play_joined, recordings};

/// Statement texts (`tshark -d tcp.port==33060,mysql -T fields -e mysql.query`, tshark 4.0) and
/// alternations of client and server payload, per recording. tshark finds 21 statements with
/// `rewritebatch-compress`: it does not inflate the two longest, which are the only ones that
/// driver compresses.
const COUNTS: [(&str, usize, usize); 6] = [
    ("mariadbcli-mariadb10.11-compress-zlib", 2, 3),
    ("mariadbjdbc341-mariadb10.11-compress", 20, 22),
    ("mariadbjdbc341-mariadb10.11-plain", 20, 21),
    ("mariadbjdbc341-mariadb10.11-serverprep", 11, 23),
    ("mysqljdbc910-mariadb10.11-rewritebatch-compress", 23, 24),
    ("mysqljdbc910-mariadb10.11-serverprep-cursor", 14, 235),
];

fn mysql_recordings() -> Vec<(String, Recording)> {
    let named = recordings().into_iter().filter_map(|recording| {
        let folder = recording.path.parent()?.file_name()?.to_str()?;
        let name = recording.path.file_stem()?.to_str()?.to_owned();
        (folder == "mysql").then_some((name, recording))
    });
    named.collect()
}

fn recording(name: &str) -> Recording {
    let found = mysql_recordings().into_iter().find(|(found, _)| found == name);
    found
        .unwrap_or_else(|| panic!("tests/data/mysql/{name}.stream is missing"))
        .1
}

fn is_statement(seen: &&Seen) -> bool {
    seen.what.contains(" Statement '") || seen.what.contains(" Prepare #")
}

#[test]
fn statements_and_turns_are_as_many_as_another_decoder_finds() {
    for (name, statements, turns) in COUNTS {
        let recording = recording(name);
        let (seen, _) = play(recording.server_port, &recording.segments);
        assert_eq!(
            seen.iter().filter(is_statement).count(),
            statements,
            "{name}: statements"
        );
        let replies = seen.windows(2).filter(|pair| {
            pair[0].direction == Direction::ClientToServer && pair[1].direction == Direction::ServerToClient
        });
        assert_eq!(replies.count(), turns, "{name}: round trips");
        assert!(seen.iter().all(|seen| seen.role != Role::Opaque), "{name}");
    }
}

#[test]
fn every_request_of_a_recording_gets_one_reply() {
    for (name, recording) in mysql_recordings() {
        let (seen, stream) = play(recording.server_port, &recording.segments);
        if stream.decoding().encrypted {
            continue;
        }
        let count = |role| seen.iter().filter(|seen| seen.role == role).count();
        assert_eq!(count(Role::Greeting), 1, "{name}");
        // A replica's last request is answered without end.
        let unfinished = usize::from(name.contains("binlog"));
        assert_eq!(
            count(Role::Request),
            count(Role::Reply) + count(Role::ReplyPause) + unfinished,
            "{name}"
        );
        assert_eq!(count(Role::Notice) + count(Role::Opaque), 0, "{name}");
    }
}

#[derive(Default)]
struct Script(Vec<Segment>);

impl Script {
    fn logged_in(flags: u32, mariadb_flags: u32) -> Self {
        Self::default()
            .s(0, &greeting(flags, mariadb_flags))
            .c(1, &handshake_response(flags, mariadb_flags))
            .s(2, OK)
    }

    fn c(self, sequence: u8, body: &[u8]) -> Self {
        self.bytes(Direction::ClientToServer, framed(sequence, body))
    }

    fn s(self, sequence: u8, body: &[u8]) -> Self {
        self.bytes(Direction::ServerToClient, framed(sequence, body))
    }

    fn bytes(mut self, direction: Direction, bytes: Vec<u8>) -> Self {
        let at = Timestamp::from_nanos(self.0.len() as u64);
        self.0.push(Segment {
            direction,
            at,
            bytes,
            hole: 0,
        });
        self
    }

    fn hole(mut self, direction: Direction, hole: u64) -> Self {
        let at = Timestamp::from_nanos(self.0.len() as u64);
        self.0.push(Segment {
            direction,
            at,
            bytes: Vec::new(),
            hole,
        });
        self
    }

    fn lose_login(&mut self, client: bool) {
        let segment = &mut self.0[if client { 1 } else { 2 }];
        segment.hole = std::mem::take(&mut segment.bytes).len() as u64;
    }

    /// Plays the script whole and byte by byte (large segments in larger pieces), and compares.
    /// Returns role and content of each message.
    fn roles_and_contents(&self) -> Vec<String> {
        let (seen, _) = play(3306, &self.0);
        let mut pieces = Vec::new();
        for segment in &self.0 {
            let size = if segment.bytes.len() > 100_000 { 9_999 } else { 1 };
            pieces.extend(segment.bytes.chunks(size).map(|bytes| Segment {
                bytes: bytes.to_vec(),
                ..*segment
            }));
            if segment.hole > 0 {
                pieces.push(segment.clone());
            }
        }
        assert_eq!(joined(&play(3306, &pieces).0), joined(&seen));
        let fed: u64 = self
            .0
            .iter()
            .map(|segment| segment.bytes.len() as u64 + segment.hole)
            .sum();
        assert_eq!(
            seen.iter().map(|seen| seen.bytes).sum::<u64>(),
            fed,
            "bytes handed out, bytes fed"
        );
        seen.iter()
            .map(|seen| format!("{:?} {}", seen.role, seen.what))
            .collect()
    }

    fn roles_and_contents_after_login(&self) -> Vec<String> {
        self.roles_and_contents().split_off(3)
    }
}

fn joined(seen: &[Seen]) -> Vec<(Direction, Role, String)> {
    let mut all: Vec<_> = seen
        .iter()
        .map(|seen| (seen.direction, seen.role, seen.what.clone()))
        .collect();
    all.dedup_by(|next, last| next == last && next.1 == Role::Opaque);
    all
}

fn framed(sequence: u8, body: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rest = body;
    for step in 0u8.. {
        let (now, later) = rest.split_at(rest.len().min(0x00FF_FFFF));
        bytes.extend_from_slice(&u32::try_from(now.len()).expect("24 bits").to_le_bytes()[..3]);
        bytes.push(sequence.wrapping_add(step));
        bytes.extend_from_slice(now);
        rest = later;
        if now.len() < 0x00FF_FFFF {
            break;
        }
    }
    bytes
}

fn greeting(flags: u32, mariadb_flags: u32) -> Vec<u8> {
    let [a, b, c, d] = flags.to_le_bytes();
    let parts: [&[u8]; 9] = [
        b"\x0a8.4.0\0",
        &[1, 0, 0, 0],
        b"12345678\0",
        &[a, b, 45, 2, 0, c, d, 21],
        &[0; 6],
        &mariadb_flags.to_le_bytes(),
        b"123456789012\0",
        b"mysql_native_password\0",
        &[],
    ];
    parts.concat()
}

fn handshake_response(flags: u32, mariadb_flags: u32) -> Vec<u8> {
    let head = [
        &flags.to_le_bytes()[..],
        &[0, 0, 0, 1, 45],
        &[0; 19],
        &mariadb_flags.to_le_bytes(),
    ]
    .concat();
    [&head, &b"me\0\x02pw"[..]].concat()
}

const MYSQL: u32 = 1;
const COMPRESS: u32 = 1 << 5;
const PROTOCOL_41: u32 = 1 << 9;
const DEPRECATE_EOF: u32 = 1 << 24;
const OPTIONAL_METADATA: u32 = 1 << 25;
const QUERY_ATTRIBUTES: u32 = 1 << 27;

const OK: &[u8] = &[0, 0, 0, 2, 0, 0, 0];
const OK_AT_END: &[u8] = &[0xfe, 0, 0, 2, 0, 0, 0];
const EOF: &[u8] = &[0xfe, 0, 0, 2, 0];
const DEFINITION: &[u8] = b"\x03def\0\0\0\x01a\0\x0c\x3f\0\x0b\0\0\0\x03\0\0\0\0\0";

#[test]
fn sha2_password_known_to_the_server_takes_one_leg() {
    let flags = MYSQL | PROTOCOL_41;
    let script = Script::default()
        .s(0, &greeting(flags, 0))
        .c(1, &handshake_response(flags, 0))
        .s(2, &[1, 3])
        .s(3, OK)
        .c(0, &[0x0e])
        .s(1, OK);
    assert_eq!(
        script.roles_and_contents(),
        [
            "Greeting Connect ServerVersion 8.4.0",
            "Request Login Parameter user=me",
            "ReplyPart Login",
            "Reply Login Ready Idle",
            "Request Work Command COM_PING",
            "Reply Work Ready Idle",
        ]
    );
}

#[test]
fn sha2_password_unknown_to_the_server_takes_three_legs() {
    let flags = MYSQL | PROTOCOL_41;
    let script = Script::default()
        .s(0, &greeting(flags, 0))
        .c(1, &handshake_response(flags, 0))
        .s(2, &[1, 4])
        .c(3, &[2])
        .s(4, b"\x01-----BEGIN PUBLIC KEY-----")
        .c(5, &[9; 256])
        .s(6, OK);
    assert_eq!(
        script.roles_and_contents()[1..],
        [
            "Request Login Parameter user=me",
            "Reply Login",
            "Request Login",
            "Reply Login",
            "Request Login",
            "Reply Login Ready Idle",
        ]
    );
}

#[test]
fn a_refused_connection_greets_with_the_error() {
    let script = Script::default().s(0, b"\xff\x10\x04Too many connections");
    assert_eq!(
        script.roles_and_contents(),
        ["Greeting Connect Error 1040 'Too many connections'"]
    );
}

#[test]
fn query_attributes_are_not_part_of_the_statement() {
    let attributes = b"\x03\x03\x01\x02\x01\
        \xfe\0\x01a\x03\0\x01b\x08\x80\x01c\
        \x02hi\x01\x02\x03\x04\x05\x06\x07\x08select 1";
    let none = b"\x03\0\x01select 2";
    let script = Script::logged_in(MYSQL | PROTOCOL_41 | QUERY_ATTRIBUTES, 0)
        .c(0, attributes)
        .s(1, OK)
        .c(0, none)
        .s(1, OK);
    let told = script.roles_and_contents_after_login();
    assert_eq!(told[0], "Request Work Statement 'select 1'");
    assert_eq!(told[2], "Request Work Statement 'select 2'");
}

#[test]
fn results_without_metadata_have_their_rows_counted() {
    let flags = MYSQL | PROTOCOL_41 | DEPRECATE_EOF | OPTIONAL_METADATA;
    let script = Script::logged_in(flags, 0)
        .c(0, b"\x03select a from t")
        .s(1, &[0, 1])
        .s(2, b"\x011")
        .s(3, b"\xfb")
        .s(4, OK_AT_END)
        .c(0, b"\x16select a from t where a = ?")
        .s(1, &[0, 1, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0, 0])
        .c(0, &[0x17, 1, 0, 0, 0, 0, 1, 0, 0, 0])
        .s(1, &[1, 1])
        .s(2, DEFINITION)
        .s(3, OK_AT_END);
    assert_eq!(
        script.roles_and_contents_after_login(),
        [
            "Request Work Statement 'select a from t'",
            "ReplyPart Work",
            "ReplyPart Work Row",
            "ReplyPart Work Row",
            "Reply Work Done 2 Idle",
            "Request Work Prepare #0 'select a from t where a = ?'",
            "ReplyPart Work Named #0 '1' Some(1)",
            "ReplyPart Work Columns #0 1",
            "Reply Work",
            "Request Work Execute 0 rows unknown sets 1",
            "ReplyPart Work",
            "ReplyPart Work",
            "Reply Work Done 0 Idle",
        ]
    );
}

#[test]
fn messages_of_16_mib_and_more_are_one_message() {
    for length in [0x00FF_FFFE, 0x00FF_FFFF, 0x0100_0000, 0x01FF_FFFF] {
        // The largest rows begin like an EOF.
        let mut row = vec![0xfe; length];
        if length < 0x00FF_FFFF {
            row[0] = 1;
        }
        let mut statement = vec![b'x'; length];
        statement[0] = 3;
        let script = Script::logged_in(PROTOCOL_41, 0)
            .c(0, &statement)
            .s(1, &[1])
            .s(2, DEFINITION)
            .s(3, EOF)
            .s(4, &row)
            .s(5, EOF);
        let told = script.roles_and_contents_after_login();
        assert!(told[0].ends_with("(65536 bytes)'"), "{}", told[0]);
        assert_eq!(
            told[1..],
            [
                "ReplyPart Work",
                "ReplyPart Work",
                "ReplyPart Work",
                "ReplyPart Work Row",
                "Reply Work Done 1 Idle",
            ]
        );
    }
}

#[test]
fn a_file_of_more_messages_than_sequence_numbers_is_sent_whole() {
    let mut script = Script::logged_in(PROTOCOL_41, 0)
        .c(0, b"\x03load data local infile 'f'")
        .s(1, b"\xfbf");
    for sequence in 2..=600u32 {
        script = script.c(sequence as u8, b"\x01a row\n");
    }
    let told = script
        .c(89, b"")
        .s(90, OK)
        .c(0, b"\x01")
        .roles_and_contents_after_login();
    assert_eq!(told[1], "ReplyPause Work");
    assert!(told[2..601].iter().all(|told| told == "RequestPart Work"));
    assert_eq!(
        told[601..],
        ["Request Work", "Reply Work Done 0 Idle", "OneWay Close"]
    );
}

#[test]
fn a_replica_gets_events_without_end() {
    let mut script = Script::logged_in(PROTOCOL_41, 0)
        .c(0, &[0x15, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0])
        .s(1, OK)
        .c(0, &[0x12, 4, 0, 0, 0, 0, 0, 2, 0, 0, 0, b'b']);
    for sequence in 1..=300u32 {
        script = script.s(sequence as u8, b"\0\0\0\0\0event");
    }
    let told = script
        .c(0, &[0xef, 4, 0, 0, 0, 0, 0, 0, 0, b'b'])
        .s(45, b"\0\0\0\0\0event")
        .roles_and_contents_after_login();
    assert_eq!(
        told[..3],
        [
            "Request Work",
            "Reply Work Ready Idle",
            "Request Work Command COM_BINLOG_DUMP"
        ]
    );
    assert!(told[3..303].iter().all(|told| told == "ReplyPart Work"));
    assert_eq!(told[303..], ["OneWay Work", "ReplyPart Work"]);
}

#[test]
fn pipelined_requests_get_their_replies_in_order() {
    let execute_last = [&[0x17][..], &[0xff; 4], &[0, 1, 0, 0, 0]].concat();
    let failed = b"\xff\x7a\x04#42S02no such table";
    let script = Script::logged_in(PROTOCOL_41, 0)
        .c(0, b"\x16select a from t")
        .c(0, &execute_last)
        .c(0, b"\x03do 1")
        .s(1, failed)
        .s(1, failed)
        .s(1, OK);
    assert_eq!(
        script.roles_and_contents_after_login(),
        [
            "Request Work Prepare #0 'select a from t'",
            "Request Work Execute 0 rows unknown sets 1",
            "Request Work Statement 'do 1'",
            "Reply Work Error 1146/42S02 'no such table'",
            "Reply Work Error 1146/42S02 'no such table'",
            "Reply Work Done 0 Idle",
        ]
    );
}

#[test]
fn a_server_that_ends_the_connection_says_so_unasked() {
    let script = Script::logged_in(PROTOCOL_41, 0).s(0, b"\xff\xbf\x0f#08S01the client was idle");
    assert_eq!(
        script.roles_and_contents_after_login(),
        ["Notice Work Error 4031/08S01 'the client was idle'"]
    );
}

#[test]
fn too_many_owed_replies_leave_the_requests_decoded() {
    let script = Script::logged_in(PROTOCOL_41, 0)
        .bytes(Direction::ClientToServer, framed(0, b"\x03do 1").repeat(65_538))
        .bytes(Direction::ServerToClient, framed(1, OK).repeat(65_538))
        .c(0, b"\x01");
    let told = script.roles_and_contents_after_login();
    assert_eq!(told[65_537], "Request Work Statement 'do 1'");
    assert_eq!(told[131_073], "Reply Work Done 0 Idle");
    assert_eq!(told[131_074..], ["Opaque Work", "OneWay Close"]);
}

#[test]
fn bytes_that_were_not_captured_inside_a_body_change_nothing() {
    let server = Direction::ServerToClient;
    let client = Direction::ClientToServer;
    let script = Script::logged_in(PROTOCOL_41, 0)
        .bytes(client, b"\x20\0\0\0\x03select 'a te".to_vec())
        .hole(client, 19)
        .s(1, &[1])
        .s(2, DEFINITION)
        .s(3, EOF)
        .bytes(server, b"\x10\0\0\x04\x0fabc".to_vec())
        .hole(server, 12)
        .s(5, EOF);
    assert_eq!(
        script.roles_and_contents_after_login(),
        [
            "Request Work Statement 'select \\'a te'",
            "ReplyPart Work",
            "ReplyPart Work",
            "ReplyPart Work",
            "ReplyPart Work Row",
            "Reply Work Done 1 Idle",
        ]
    );
}

#[test]
fn a_hole_in_a_reply_is_opaque_until_the_next_reply() {
    let script = Script::logged_in(PROTOCOL_41, 0)
        .c(0, b"\x03select a from t")
        .s(1, &[1])
        .bytes(Direction::ServerToClient, b"\x10\0\0\x02\x03def".to_vec())
        .hole(Direction::ServerToClient, 40)
        .s(9, b"\x01a")
        .s(10, EOF)
        .c(0, b"\x03do 1")
        .s(1, OK);
    assert_eq!(
        script.roles_and_contents_after_login(),
        [
            "Request Work Statement 'select a from t'",
            "ReplyPart Work",
            "Opaque Work",
            "Opaque Work",
            "Opaque Work",
            "Request Work Statement 'do 1'",
            "Reply Work Done 0 Idle",
        ]
    );
}

#[test]
fn a_hole_in_the_requests_is_opaque_and_is_answered() {
    let script = Script::logged_in(PROTOCOL_41, 0)
        .bytes(Direction::ClientToServer, b"\x10\0\0".to_vec())
        .hole(Direction::ClientToServer, 17)
        .bytes(Direction::ClientToServer, b"\x02\0\0".to_vec())
        .s(1, OK)
        .c(0, b"\x03do 1")
        .s(1, OK);
    assert_eq!(
        script.roles_and_contents_after_login(),
        [
            "Opaque Work",
            "Opaque Work",
            "Reply Work Done 0 Idle",
            "Request Work Statement 'do 1'",
            "Reply Work Done 0 Idle",
        ]
    );
}

#[test]
fn a_lost_number_of_a_statement_is_the_next_one_that_is_used() {
    let script = Script::logged_in(PROTOCOL_41, 0)
        .c(0, b"\x16select 1")
        .s(1, b"\0\x01\0\0\0\0\0\0\0\0\0\0")
        .c(0, b"\x16select 2")
        .hole(Direction::ServerToClient, 16)
        .c(0, b"\x17\x02\0\0\0\0\x01\0\0\0")
        .s(1, OK)
        .c(0, b"\x17\x01\0\0\0\0\x01\0\0\0")
        .s(1, OK);
    let told = script.roles_and_contents_after_login();
    let executions: Vec<&String> = told.iter().filter(|line| line.contains("Execute")).collect();
    assert_eq!(
        executions,
        [
            "Request Work Execute 1 rows unknown sets 1",
            "Request Work Execute 0 rows unknown sets 1"
        ]
    );
}

#[test]
fn a_lost_reply_of_a_pipeline_leaves_the_others() {
    let script = Script::logged_in(PROTOCOL_41, 0)
        .c(0, b"\x03do 1")
        .c(0, b"\x03do 2")
        .c(0, b"\x03do 3")
        .s(1, OK)
        .hole(Direction::ServerToClient, 11)
        .s(1, OK)
        .c(0, b"\x03select 1")
        .s(1, &[1])
        .s(2, DEFINITION)
        .s(3, EOF)
        .s(4, b"\x01a")
        .s(5, EOF);
    assert_eq!(
        script.roles_and_contents_after_login()[3..],
        [
            "Reply Work Done 0 Idle",
            "Opaque Work",
            "Reply Work Done 0 Idle",
            "Request Work Statement 'select 1'",
            "ReplyPart Work",
            "ReplyPart Work",
            "ReplyPart Work",
            "ReplyPart Work Row",
            "Reply Work Done 1 Idle",
        ]
    );
}

#[test]
fn an_eof_of_one_byte_ends_definitions_and_rows() {
    let script = Script::logged_in(PROTOCOL_41, 0)
        .c(0, b"\x03select 1")
        .s(1, &[1])
        .s(2, DEFINITION)
        .s(3, &[0xfe])
        .s(4, b"\x01a")
        .s(5, &[0xfe])
        .c(0, b"\x03do 1")
        .s(1, OK);
    assert_eq!(
        script.roles_and_contents_after_login(),
        [
            "Request Work Statement 'select 1'",
            "ReplyPart Work",
            "ReplyPart Work",
            "ReplyPart Work",
            "ReplyPart Work Row",
            "Reply Work Done 1 Idle",
            "Request Work Statement 'do 1'",
            "Reply Work Done 0 Idle",
        ]
    );
}

#[test]
fn a_lost_login_is_over_with_the_first_command() {
    for client in [true, false] {
        let mut script = Script::logged_in(PROTOCOL_41, 0);
        script.lose_login(client);
        let told = script.c(0, b"\x03do 1").s(1, OK).roles_and_contents();
        assert_eq!(
            told[told.len() - 2..],
            ["Request Work Statement 'do 1'", "Reply Work Done 0 Idle"],
            "{told:?}"
        );
    }
}

fn commands(recording: &Recording) -> Vec<usize> {
    let pairs = recording.segments.windows(2).enumerate();
    let begins = pairs.filter(|(_, pair)| {
        pair[0].direction == Direction::ServerToClient
            && pair[1].direction == Direction::ClientToServer
            && pair[1].bytes.get(3) == Some(&0)
    });
    begins.map(|(place, _)| place + 1).collect()
}

#[test]
fn a_connection_seen_from_any_command_on_is_decoded() {
    for (name, recording) in mysql_recordings() {
        if name.contains("compress") || name.ends_with("tls") {
            continue;
        }
        // Announcements of prepared statements depend on the start of observation.
        let said = |seen: Vec<Seen>| {
            let is_announced = |seen: &Seen| {
                let words = ["Unseen", "Named", "Columns"];
                words
                    .iter()
                    .any(|word| seen.what.starts_with(&format!("Work {word} ")))
            };
            seen.into_iter()
                .filter(|seen| !is_announced(seen))
                .collect::<Vec<_>>()
        };
        let whole = said(play(recording.server_port, &recording.segments).0);
        for place in commands(&recording) {
            let (seen, stream) = play_joined(3306, &recording.segments[place..]);
            let seen = said(seen);
            assert_eq!(stream.decoding().opaque, None, "{name} from segment {place}");
            let tail = &whole[whole.len() - seen.len()..];
            assert_eq!(
                seen.iter().filter(is_statement).count(),
                tail.iter().filter(is_statement).count(),
                "{name} from segment {place}"
            );
            let rows = |seen: &[Seen]| seen.iter().filter(|seen| seen.what == "Work Row").count();
            assert_eq!(rows(&seen), rows(tail), "{name} from segment {place}");
            let count = |role| seen.iter().filter(|seen| seen.role == role).count();
            let unfinished = usize::from(name.contains("binlog"));
            assert_eq!(
                count(Role::Request),
                count(Role::Reply) + count(Role::ReplyPause) + unfinished,
                "{name} from segment {place}"
            );
        }
    }
}

#[test]
fn the_end_of_a_reply_whose_beginning_was_not_seen_is_opaque() {
    let recording = recording("mysqljdbc910-mariadb10.11-serverprep-cursor");
    let first = commands(&recording)[3];
    let mut segments = recording.segments[first + 1..].to_vec();
    segments[0].bytes.drain(..3);
    let (seen, stream) = play_joined(3306, &segments);
    assert_eq!(stream.decoding().opaque, None);
    assert_eq!(seen[0].role, Role::Opaque);
    assert!(seen[1..].iter().all(|seen| seen.role != Role::Opaque));
}

#[derive(Debug, Clone, Copy)]
enum Codec {
    Zlib,
    Zstd,
    Stored,
}

fn block(sequence: u8, content: &[u8], codec: Codec, claimed: usize) -> Vec<u8> {
    use std::io::Write;
    let (inside, claimed) = match codec {
        Codec::Zlib => {
            let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::default());
            encoder.write_all(content).expect("writes to memory");
            (encoder.finish().expect("writes to memory"), claimed)
        }
        Codec::Zstd => (
            zstd::stream::encode_all(content, 3).expect("writes to memory"),
            claimed,
        ),
        Codec::Stored => (content.to_vec(), 0),
    };
    let length = |length: usize| u32::try_from(length).expect("24 bits").to_le_bytes();
    [
        &length(inside.len())[..3],
        &[sequence],
        &length(claimed)[..3],
        &inside,
    ]
    .concat()
}

fn compressed(recording: &Recording, codec: Codec, size: usize) -> Vec<Segment> {
    let mut segments = recording.segments.clone();
    for segment in &mut segments[..2] {
        // The flag in the greeting follows the version text, in the handshake response it comes
        // first.
        let place = if segment.direction == Direction::ClientToServer {
            4
        } else {
            5 + segment.bytes[5..]
                .iter()
                .position(|&byte| byte == 0)
                .expect("a version")
                + 1
                + 13
        };
        segment.bytes[place] |= COMPRESS as u8;
    }
    for segment in &mut segments[3..] {
        let blocks = segment.bytes.chunks(size).enumerate();
        segment.bytes = blocks
            .flat_map(|(step, content)| block(step as u8, content, codec, content.len()))
            .collect();
    }
    segments
}

#[test]
fn compressed_connections_say_the_same() {
    for name in [
        "pymysql1.2-mariadb10.11-multi",
        "mysqljdbc910-mariadb10.11-serverprep-cursor",
    ] {
        let recording = recording(name);
        let (plain, _) = play(3306, &recording.segments);
        for codec in [Codec::Zlib, Codec::Zstd, Codec::Stored] {
            for size in [3, 100, 16 * 1024] {
                let script = Script(compressed(&recording, codec, size));
                let told: Vec<_> = plain
                    .iter()
                    .map(|seen| format!("{:?} {}", seen.role, seen.what))
                    .collect();
                assert_eq!(script.roles_and_contents(), told, "{name} {codec:?} {size}");
            }
        }
    }
}

#[test]
fn a_block_that_lies_about_its_length_ends_the_decoding() {
    let script = || Script::logged_in(PROTOCOL_41 | COMPRESS, 0);
    let content = framed(0, b"\x03do 1");
    for codec in [Codec::Zlib, Codec::Zstd] {
        for claimed in [1, content.len() - 1, content.len() + 1, 0x00FF_FFFF] {
            let lying = script()
                .bytes(Direction::ClientToServer, block(0, &content, codec, claimed))
                .bytes(
                    Direction::ServerToClient,
                    block(1, &framed(1, OK), Codec::Stored, 0),
                );
            let told = lying.roles_and_contents_after_login();
            let opaque = told.iter().filter(|told| told.starts_with("Opaque")).count();
            assert!(opaque > 0, "{codec:?} {claimed}: {told:?}");
        }
        let bomb = script().bytes(Direction::ClientToServer, block(0, &[3; 1 << 20], codec, 4));
        assert!(bomb.roles_and_contents_after_login()[0].starts_with("Opaque"));
        let honest = script().bytes(
            Direction::ClientToServer,
            block(0, &content, codec, content.len()),
        );
        assert_eq!(
            honest.roles_and_contents_after_login(),
            ["Request Work Statement 'do 1'"]
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    /// Frames of random commands and replies after a login: no panic, no lost byte, no effect of
    /// the split.
    #[test]
    fn random_frames_behind_a_login_lose_nothing(
        flags in any::<u32>(),
        mariadb_flags in any::<u32>(),
        messages in prop::collection::vec((any::<bool>(), 0u8..3, prop::collection::vec(likely_byte(), 0..40)), 0..40),
    ) {
        let quiet = !(1 << 11); // no TLS
        let mut script = Script::logged_in((flags | PROTOCOL_41) & quiet, mariadb_flags);
        for (client, sequence, body) in messages {
            script = if client { script.c(sequence, &body) } else { script.s(sequence, &body) };
        }
        // Until a direction fails, every message is reported; opaque bytes are cut as fed.
        let (seen, _) = play(3306, &script.0);
        let fed: usize = script.0.iter().map(|segment| segment.bytes.len()).sum();
        prop_assert_eq!(seen.iter().map(|seen| seen.bytes).sum::<u64>(), fed as u64);
    }
}

fn likely_byte() -> impl Strategy<Value = u8> {
    prop_oneof![
        3 => prop::sample::select(b"\0\0\0\0\0\0\x01\x01\x02\x03\x16\x17\x18\x19\x1a\x1c\x12\x11\x08\xfa\xfb\xfc\xfe\xff\x28\x78\x9c".to_vec()),
        1 => any::<u8>(),
    ]
}

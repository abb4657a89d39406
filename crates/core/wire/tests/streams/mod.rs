//! Recorded streams: `tests/data/<folder>/<name>.stream`, and their messages as text.
//!
//! A `.stream` file is one TCP connection without TCP: first `port <server port>`, then a line per
//! segment: `C` or `S` for the sender, nanoseconds since the first segment, and the bytes in
//! hexadecimal. `hole <count>` in place of the bytes stands for bytes that were not captured.

#![allow(dead_code, reason = "each test uses some of it")]

pub mod names;

use model::{Content, Direction, Message, Role, Timestamp};
use std::path::{Path, PathBuf};
use wire::{DetectionState, Stream};

pub struct Recording {
    pub path: PathBuf,
    pub server_port: u16,
    pub segments: Vec<Segment>,
}

#[derive(Clone, Debug)]
pub struct Segment {
    pub direction: Direction,
    pub at: Timestamp,
    pub bytes: Vec<u8>,
    pub hole: u64,
}

pub fn recordings() -> Vec<Recording> {
    recordings_in(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data"))
}

pub fn recordings_in(folder: &Path) -> Vec<Recording> {
    let mut paths = Vec::new();
    collect(folder, &mut paths);
    paths.sort();
    assert!(!paths.is_empty(), "no recordings in {}", folder.display());
    paths.into_iter().map(read_recording).collect()
}

fn collect(folder: &Path, paths: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("tests/data is part of the crate") {
        let path = entry.expect("a readable folder").path();
        if path.is_dir() {
            collect(&path, paths);
        } else if path.extension().is_some_and(|extension| extension == "stream") {
            paths.push(path);
        }
    }
}

fn read_recording(path: PathBuf) -> Recording {
    let text = std::fs::read_to_string(&path).expect("a readable recording");
    let mut lines = text.lines();
    let server_port = lines
        .next()
        .and_then(|line| line.strip_prefix("port "))
        .and_then(|port| port.parse().ok())
        .expect("the first line is 'port <number>'");
    Recording {
        server_port,
        segments: lines.map(segment).collect(),
        path,
    }
}

fn segment(line: &str) -> Segment {
    let mut words = line.split(' ');
    let direction = match words.next() {
        Some("C") => Direction::ClientToServer,
        Some("S") => Direction::ServerToClient,
        other => panic!("a line begins with C or S, not {other:?}"),
    };
    let at = words
        .next()
        .and_then(|at| at.parse().ok())
        .expect("then nanoseconds");
    let payload = words.next().expect("then bytes");
    let hole = (payload == "hole").then(|| {
        words
            .next()
            .and_then(|count| count.parse().ok())
            .expect("a count")
    });
    let bytes = if hole.is_some() {
        Vec::new()
    } else {
        from_hex(payload)
    };
    Segment {
        direction,
        at: Timestamp::from_nanos(at),
        bytes,
        hole: hole.unwrap_or(0),
    }
}

fn from_hex(text: &str) -> Vec<u8> {
    let digit = |byte: u8| (byte as char).to_digit(16).expect("hexadecimal digits");
    text.as_bytes()
        .chunks(2)
        .map(|pair| u8::try_from(digit(pair[0]) * 16 + digit(pair[1])).expect("two digits"))
        .collect()
}

pub fn play(server_port: u16, segments: &[Segment]) -> (Vec<Seen>, Stream) {
    play_to(Stream::new(server_port), segments)
}

pub fn play_joined(server_port: u16, segments: &[Segment]) -> (Vec<Seen>, Stream) {
    let (seen, stream, _) = play_with_sides(server_port, segments);
    (seen, stream)
}

/// Also whether client and server were mistaken for each other: later input is turned.
pub fn play_with_sides(server_port: u16, segments: &[Segment]) -> (Vec<Seen>, Stream, bool) {
    let mut stream = Stream::joined(server_port);
    let mut seen = Vec::new();
    let mut is_reversed = false;
    let mut sink = |message: &Message<'_>| seen.push(Seen::from_message(message));
    let mut release = |stream: &mut Stream, is_reversed: &mut bool| {
        if let DetectionState::Decided { reversed } = stream.detection() {
            *is_reversed = reversed;
            stream.flush_buffered(&mut sink);
        }
    };
    let mut rest = segments.iter();
    while stream.detection() == DetectionState::Undecided {
        let Some(segment) = rest.next() else {
            stream.decide_at_end();
            break;
        };
        stream.detect_protocol(segment.at, segment.direction, &segment.bytes, segment.hole);
        release(&mut stream, &mut is_reversed);
    }
    release(&mut stream, &mut is_reversed);
    let turned: Vec<Segment> = rest
        .map(|segment| Segment {
            direction: match is_reversed {
                true => segment.direction.reverse(),
                false => segment.direction,
            },
            ..segment.clone()
        })
        .collect();
    let (behind, stream) = play_to(stream, &turned);
    seen.extend(behind);
    (seen, stream, is_reversed)
}

pub fn play_to(mut stream: Stream, segments: &[Segment]) -> (Vec<Seen>, Stream) {
    let mut seen = Vec::new();
    let mut sink = |message: &Message<'_>| seen.push(Seen::from_message(message));
    for segment in segments {
        if segment.hole > 0 {
            stream.skip(segment.at, segment.direction, segment.hole, &mut sink);
        } else {
            stream.feed(segment.at, segment.direction, &segment.bytes, &mut sink);
        }
    }
    stream.finish(&mut sink);
    (seen, stream)
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    pub direction: Direction,
    pub started: Timestamp,
    pub ended: Timestamp,
    pub bytes: u64,
    pub role: Role,
    pub what: String,
}

impl Seen {
    fn from_message(message: &Message<'_>) -> Self {
        Self {
            direction: message.direction,
            started: message.started,
            ended: message.ended,
            bytes: message.bytes,
            role: message.role,
            what: format!("{:?} {}", message.phase, describe(message.content))
                .trim_end()
                .to_owned(),
        }
    }
}

fn bytes(limit: Option<u32>) -> String {
    limit.map_or_else(String::new, |bytes| format!(" bytes {bytes}"))
}

fn describe(content: Content<'_>) -> String {
    match content {
        Content::Other | Content::Cut | Content::Undecoded { .. } => String::new(),
        Content::Statement { text } => format!("Statement '{}'", shown(text)),
        Content::Run {
            statement,
            text,
            fetch_rows,
            sets,
            values,
        } => {
            let id = number(statement.map(|id| id.0));
            let whole = if values.is_some() { "" } else { " cut" };
            format!(
                "Run {id} '{}' rows {} sets {sets}{whole}",
                shown(text),
                number(fetch_rows)
            )
        }
        Content::Prepare { statement, text } => format!("Prepare #{} '{}'", statement.0, shown(text)),
        Content::Execute {
            statement,
            fetch_rows,
            fetch_bytes,
            sets,
            values: _,
        } => {
            format!(
                "Execute {} rows {}{} sets {sets}",
                number(statement.map(|id| id.0)),
                number(fetch_rows),
                bytes(fetch_bytes)
            )
        }
        Content::Fetch {
            statement,
            fetch_rows,
            fetch_bytes,
        } => {
            format!(
                "Fetch {} rows {}{}",
                number(statement.map(|id| id.0)),
                number(fetch_rows),
                bytes(fetch_bytes)
            )
        }
        Content::Bind { values } => format!("Bind {}", if values.is_some() { "whole" } else { "cut" }),
        Content::Close => "Close".to_owned(),
        Content::Unseen {
            statement,
            name,
            parameters,
        } => format!("Unseen #{} '{}' {parameters:?}", statement.0, shown(name)),
        Content::Named {
            statement,
            name,
            parameters,
        } => format!("Named #{} '{}' {parameters:?}", statement.0, shown(name)),
        Content::Columns { statement, count } => format!("Columns #{} {count}", statement.0),
        Content::Call {
            text: name, syntax, ..
        } => format!("Call {syntax:?} {}", shown(name)),
        Content::Command { name, number } => match number {
            Some(number) => format!("Command {name} {number}"),
            None => format!("Command {name}"),
        },
        Content::Row => "Row".to_owned(),
        Content::Done { rows, transaction } => match transaction {
            Some(state) => format!("Done {} {state:?}", number(rows)),
            None => format!("Done {}", number(rows)),
        },
        Content::Ready(state) => format!("Ready {state:?}"),
        Content::Error { code, text } => format!("Error {} '{}'", shown(code), shown(text)),
        Content::ServerVersion { text } => format!("ServerVersion {}", shown(text)),
        Content::Client { text } => format!("Client {}", shown(text)),
        Content::Parameter { name, value } => format!("Parameter {}={}", shown(name), shown(value)),
        Content::HttpRequest { method, target, .. } => {
            format!("HttpRequest {} {}", shown(method), shown(target))
        }
        Content::HttpResponse { status } => format!("HttpResponse {status}"),
    }
}

fn number(number: Option<impl ToString>) -> String {
    number.map_or_else(|| "unknown".to_owned(), |number| number.to_string())
}

fn shown(text: &[u8]) -> String {
    let start: String = String::from_utf8_lossy(text).chars().take(60).collect();
    let more = if text.len() > 60 {
        format!("... ({} bytes)", text.len())
    } else {
        String::new()
    };
    format!("{}{more}", start.escape_debug())
}

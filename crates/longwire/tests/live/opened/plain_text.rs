//! Plain text of a captured TLS connection, by longwire and by tshark.

use model::{ConnectionEvent, ConnectionId, Direction, Observer};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use testbed::process;
use tls_keys::{KeyLog, OpenedRecord, RecordOpener};

pub fn opened(capture: &Path, keys: &Path) -> [Vec<u8>; 2] {
    let mut log = KeyLog::default();
    for line in std::fs::read(keys)
        .expect("a key log")
        .split(|byte| *byte == b'\n')
    {
        log.line(line).expect("a line of a key log");
    }
    let mut plain = PlainText {
        opener: RecordOpener::new(Arc::new(log)),
        waiting: Default::default(),
        has_begun: false,
        text: Default::default(),
    };
    capture::read_sources(vec![capture::Source::File(capture)], &mut plain).expect("a capture");
    plain.text
}

pub fn followed(capture: &Path, keys: &Path, port: u16) -> [Vec<u8>; 2] {
    let mut command = Command::new(process::require("tshark"));
    command.args(["-o", &format!("tls.keylog_file:{}", keys.display())]);
    // The client's port may be registered for another protocol, such as 34980 for EtherCAT.
    command.args(["-o", "tcp.try_heuristic_first:TRUE", "-q", "-r"]);
    command.arg(capture).args(["-z", "follow,tls,raw,0"]);
    let mut text: [Vec<u8>; 2] = Default::default();
    let said = process::run(command);
    // Lines of the side that speaks second are indented.
    let is_server_first = said.contains(&format!("Node 0: 127.0.0.1:{port}\n"));
    for line in said.lines() {
        let is_server = line.starts_with('\t') != is_server_first;
        let digits = line.trim();
        if !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            let pairs = digits.as_bytes().chunks(2).map(|pair| {
                let pair = std::str::from_utf8(pair).expect("digits");
                u8::from_str_radix(pair, 16).expect("digits")
            });
            text[usize::from(is_server)].extend(pairs);
        }
    }
    text
}

struct PlainText {
    opener: RecordOpener,
    waiting: [Vec<u8>; 2],
    has_begun: bool,
    text: [Vec<u8>; 2],
}

impl Observer for PlainText {
    fn event(&mut self, _: ConnectionId, event: ConnectionEvent<'_>) {
        let ConnectionEvent::Segment(segment) = event else {
            return;
        };
        let lane = segment.direction.index();
        let is_hello = segment.direction == Direction::ClientToServer
            && matches!(segment.payload, [22, 3, _, _, _, 1, ..]);
        self.has_begun |= is_hello;
        if !self.has_begun {
            return;
        }
        self.waiting[lane].extend_from_slice(segment.payload);
        while let Some((header, rest)) = self.waiting[lane].split_first_chunk::<5>() {
            let length = usize::from(u16::from_be_bytes([header[3], header[4]]));
            let Some(body) = rest.get(..length) else { break };
            match self.opener.open(segment.direction, header, body) {
                OpenedRecord::Data(plain) => self.text[lane].extend_from_slice(plain),
                OpenedRecord::Closed(closed) => panic!("{closed:?}"),
                OpenedRecord::Clear | OpenedRecord::Handshake | OpenedRecord::Alert => {}
            }
            self.waiting[lane].drain(..5 + length);
        }
    }
}

//! Names of recorded messages, from the bytes that each one begins with.

use super::{Recording, Seen};
use model::{Direction, Protocol, Role};
use std::collections::HashMap;
use wire::mysql::messages::{COMMANDS, PROTOCOL_VERSION, reply};
use wire::postgres::messages::messages_sent;
use wire::reader::Reader;
use wire::tds::messages::{PACKETS, TOKENS};
use wire::tns::messages::{FUNCTIONS, MESSAGES, PACKETS as TNS_PACKETS, message, packet};
use wire::{drda, informix};

/// One per message; `None` inside of one, without a name, and once the protocol is opaque.
pub fn names(recording: &Recording, protocol: Protocol, seen: &[Seen]) -> Vec<Option<&'static str>> {
    let mut walks: HashMap<Direction, Walk> = HashMap::new();
    let name = |message: &Seen| {
        let walk = walks
            .entry(message.direction)
            .or_insert_with(|| Walk::new(recording, message.direction));
        walk.name(protocol, message)
    };
    seen.iter().map(name).collect()
}

struct Walk {
    bytes: Vec<u8>,
    offset: usize,
    /// Where the next message begins, or the next packet of TDS.
    next: usize,
    /// The last message was a part of one.
    in_parts: bool,
    is_lost: bool,
}

impl Walk {
    fn new(recording: &Recording, direction: Direction) -> Self {
        let mut bytes = Vec::new();
        for segment in &recording.segments {
            if segment.direction == direction {
                bytes.extend_from_slice(&segment.bytes);
                bytes.resize(bytes.len() + segment.hole as usize, 0);
            }
        }
        Self {
            bytes,
            offset: 0,
            next: 0,
            in_parts: false,
            is_lost: false,
        }
    }

    fn name(&mut self, protocol: Protocol, message: &Seen) -> Option<&'static str> {
        self.is_lost |= message.role == Role::Opaque;
        let is_part = [" Parameter ", " Client "]
            .iter()
            .any(|part| message.what.contains(part));
        let was_in_parts = std::mem::replace(&mut self.in_parts, is_part);
        let start = self.offset;
        self.offset += message.bytes as usize;
        if self.is_lost || message.bytes == 0 {
            return None;
        }
        let begun = self.bytes.get(start..)?;
        match protocol {
            Protocol::Postgres | Protocol::Mysql if start != self.next => None,
            Protocol::Postgres => {
                let (name, length) = postgres(message, begun)?;
                self.next = start + length;
                name
            }
            Protocol::Mysql => {
                self.next = self.offset;
                mysql(message, begun)
            }
            Protocol::Tds => self.tds(message, start),
            Protocol::Oracle => oracle(begun),
            Protocol::Informix if was_in_parts => None,
            Protocol::Informix => informix::messages::find(Reader::new(begun).u16_be()?).map(|row| row.name),
            Protocol::Drda => {
                // The first object of a structure follows its header.
                let object = if begun.get(2) == Some(&0xD0) {
                    &begun[6..]
                } else {
                    begun
                };
                drda::code_point_name(Reader::new(object.get(2..)?).u16_be()?)
            }
            _ => None,
        }
    }

    /// A client's message by its first packet, and a response by its tokens.
    fn tds(&mut self, message: &Seen, start: usize) -> Option<&'static str> {
        let mut kind = None;
        while self.next < self.offset {
            let header: [u8; 8] = *self.bytes.get(self.next..)?.first_chunk()?;
            if self.next == start {
                kind = Some(header[0]);
            }
            self.next += usize::from(u16::from_be_bytes([header[2], header[3]])).max(8);
        }
        let token = self.bytes.get(if kind.is_some() { start + 8 } else { start });
        match message.direction {
            Direction::ClientToServer => PACKETS.find(kind?).map(|row| row.name),
            Direction::ServerToClient => TOKENS.find(*token?).map(|row| row.name),
        }
    }
}

/// The name, and the length of the whole message.
fn postgres(message: &Seen, begun: &[u8]) -> Option<(Option<&'static str>, usize)> {
    let mut reader = Reader::new(begun);
    if message.direction == Direction::ServerToClient && message.bytes == 1 {
        return Some((None, 1));
    }
    if begun.first() == Some(&0) {
        let length = reader.u32_be()? as usize;
        let name = match reader.u32_be()? {
            80_877_102 => "CancelRequest",
            80_877_103 => "SSLRequest",
            80_877_104 => "GSSENCRequest",
            _ => "StartupMessage",
        };
        return Some((Some(name), length));
    }
    let row = messages_sent(message.direction).find(reader.u8()?);
    Some((row.map(|row| row.name), 1 + reader.u32_be()? as usize))
}

/// A command, or a reply that is neither a row nor a definition.
fn mysql(message: &Seen, begun: &[u8]) -> Option<&'static str> {
    let &[low, middle, high, sequence, first, ..] = begun else {
        return None;
    };
    let length = u64::from(u32::from_le_bytes([low, middle, high, 0]));
    let is_login = message.what.starts_with("Login");
    match message.direction {
        _ if message.bytes != length + 4 || message.what.ends_with(" Row") => None,
        Direction::ClientToServer if sequence == 0 => COMMANDS.find(first).map(|row| row.name),
        Direction::ClientToServer => None,
        Direction::ServerToClient => match first {
            PROTOCOL_VERSION if sequence == 0 => Some("HandshakeV10"),
            reply::ERR if begun.get(5..7) == Some(&[0xff, 0xff]) => Some("Progress"),
            reply::ERR => Some("ERR"),
            reply::AUTH_MORE_DATA if is_login => Some("AuthMoreData"),
            reply::AUTH_SWITCH if is_login => Some("AuthSwitchRequest"),
            reply::OK => Some("OK"),
            reply::EOF if length < 9 => Some("EOF"),
            reply::EOF => Some("OK"),
            reply::LOCAL_INFILE => Some("LOCAL INFILE"),
            _ => None,
        },
    }
}

/// A packet, or the first message of TTC in it: a call by its function.
fn oracle(begun: &[u8]) -> Option<&'static str> {
    let kind = *begun.get(4)?;
    match begun.get(10..) {
        Some(&[message::FUNCTION, code, ..]) if kind == packet::DATA => {
            FUNCTIONS.find(code).map(|row| row.name)
        }
        Some(&[first, ..]) if kind == packet::DATA => MESSAGES.find(first).map(|row| row.name),
        _ => TNS_PACKETS.find(kind).map(|row| row.name),
    }
}

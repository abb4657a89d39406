//! Packets of one message, until it is complete.

use super::super::messages::message::END_OF_RESPONSE;
use super::super::messages::packet;
use model::{Content, Direction, Message, Phase, Protocol, Role, Timestamp};

#[derive(Debug, Clone, Copy)]
pub(in crate::tns) struct Packet<'a> {
    pub kind: u8,
    pub started: Timestamp,
    pub ended: Timestamp,
    pub bytes: u64,
    pub body: &'a [u8],
    pub is_holed: bool,
}

#[derive(Debug, Default)]
pub(super) struct BufferedPackets {
    pub(super) packets: u64,
    pub(super) bytes: u64,
    pub(super) span: Option<(Timestamp, Timestamp)>,
    /// Type of a request's first packet, or of a response's only one.
    pub(super) kind: u8,
    pub(super) is_holed: bool,
    /// The last packet of a response is marked as such.
    pub(super) is_marked: bool,
}

impl BufferedPackets {
    pub(super) fn from_packet(packet: Packet<'_>) -> Self {
        let mut held = Self::default();
        held.add(packet);
        held
    }

    pub(super) fn add(&mut self, packet: Packet<'_>) {
        if self.packets == 0 {
            self.kind = packet.kind;
        }
        let started = self.span.map_or(packet.started, |(started, _)| started);
        self.span = Some((started, packet.ended));
        self.packets += 1;
        self.bytes += packet.bytes;
        self.is_holed |= packet.is_holed;
        self.is_marked = is_marked(packet);
    }

    pub(super) fn request<'a>(&self, role: Role, phase: Phase, content: Content<'a>) -> Message<'a> {
        self.message(Direction::ClientToServer, role, phase, content)
    }

    pub(super) fn reply<'a>(&self, role: Role, phase: Phase, content: Content<'a>) -> Message<'a> {
        self.message(Direction::ServerToClient, role, phase, content)
    }

    pub(super) fn message<'a>(
        &self,
        direction: Direction,
        role: Role,
        phase: Phase,
        content: Content<'a>,
    ) -> Message<'a> {
        let (started, ended) = self.span.unwrap_or((NEVER, NEVER));
        Message {
            stream: 0,
            protocol: Protocol::Oracle,
            direction,
            started,
            ended,
            bytes: self.bytes,
            role,
            phase,
            content,
        }
    }
}

fn is_marked(packet: Packet<'_>) -> bool {
    packet.kind == packet::DATA
        && (flags(packet.body) & FLAG_END_OF_RESPONSE != 0
            || packet.body.get(FLAGS..) == Some(&[END_OF_RESPONSE]))
}

pub(super) fn flags(body: &[u8]) -> u16 {
    body.first_chunk().map_or(0, |&flags| u16::from_be_bytes(flags))
}

const NEVER: Timestamp = Timestamp::from_nanos(0);

pub(super) const FLAGS: usize = 2;
pub(super) const FLAG_END_OF_FILE: u16 = 0x0040;
pub(super) const FLAG_END_OF_REQUEST: u16 = 0x0800;
const FLAG_END_OF_RESPONSE: u16 = 0x2000;

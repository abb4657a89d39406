//! Several sessions of TDS on one connection (SMP, MARS).
//!
//! Source: MC-SMP (Microsoft, open specification), section 2.2. A packet has a header of 16 bytes;
//! a DATA packet also holds a packet of TDS. Other packets of the client (SYN, ACK) belong to its
//! next message.
//!
//! Replies are paired with requests in order, which several sessions need not keep: once a session
//! sends a request while another has a pending reply, the connection is opaque to its end.

use super::HEADER;
use super::messages;
use super::session::Session;
use crate::decoding::decoder::MessageSink;
use crate::decoding::fault::fault;
use crate::decoding::framing::{Frame, FramePlan, HeaderFault};
use model::{Content, Direction, Message, Phase, Protocol, Role, Timestamp};
use std::collections::HashMap;

#[derive(Debug, Default)]
pub(super) struct Sessions {
    open: HashMap<u16, Session>,
    /// Bytes of the client that belong to its next message, and when the first of them passed.
    carried: u64,
    since: Timestamp,
    until: Timestamp,
    next_statement: u32,
}

/// Begins a packet of SMP, unless inside a message of TDS.
pub(super) const SMP: u8 = 0x53;
pub(super) const SMP_HEADER: usize = 16;

pub(super) fn plan(header: &[u8]) -> Result<FramePlan, HeaderFault> {
    let &[first, flags, _, _, a, b, c, d, ..] = header else {
        return Err(fault("a header of SMP", header.len().to_string()));
    };
    let length = u32::from_le_bytes([a, b, c, d]) as usize;
    let is_right = match flags {
        DATA => (SMP_HEADER + HEADER..=MAX_PACKET_LEN).contains(&length),
        SYN | ACK | FIN => length == SMP_HEADER,
        _ => false,
    };
    if first != SMP || !is_right {
        return Err(fault(
            "a packet of SMP (MARS)",
            format!("flags {flags:#04x}, length {length}"),
        ));
    }
    let body = length - SMP_HEADER;
    Ok(FramePlan {
        body: body as u64,
        keep: body,
    })
}

impl Sessions {
    pub(super) fn pending(&self) -> u64 {
        let begun: u64 = self
            .open
            .values()
            .map(|session| session.pending(Direction::ClientToServer))
            .sum();
        self.carried + begun
    }

    pub(super) fn pending_of_server(&self) -> u64 {
        self.open
            .values()
            .map(|session| session.pending(Direction::ServerToClient))
            .sum()
    }

    pub(super) fn has_pending_reply(&self) -> bool {
        self.open.values().any(Session::has_pending_reply)
    }

    pub(super) fn process_packet(
        &mut self,
        direction: Direction,
        frame: &Frame<'_>,
        login: &mut Session,
        sink: &mut MessageSink<'_>,
    ) -> Result<(), HeaderFault> {
        let &[_, flags, low, high, ..] = frame.header else {
            return Err(fault("a header of SMP", frame.header.len().to_string()));
        };
        let number = u16::from_le_bytes([low, high]);
        if flags == DATA {
            return self.data(number, direction, frame, login, sink);
        }
        if flags == FIN && direction == Direction::ClientToServer {
            self.open.remove(&number);
        }
        match direction {
            Direction::ClientToServer => self.carry(frame),
            Direction::ServerToClient => sink(&message(
                direction,
                Role::Notice,
                frame.started,
                frame.ended,
                frame.bytes,
            )),
        }
        Ok(())
    }

    pub(super) fn finish(&mut self, sink: &mut MessageSink<'_>) {
        let bytes = std::mem::take(&mut self.carried);
        if bytes > 0 {
            let direction = Direction::ClientToServer;
            sink(&message(direction, Role::OneWay, self.since, self.until, bytes));
        }
    }

    fn carry(&mut self, frame: &Frame<'_>) {
        if self.carried == 0 {
            self.since = frame.started;
        }
        self.carried += frame.bytes;
        self.until = frame.ended;
    }

    fn data(
        &mut self,
        number: u16,
        direction: Direction,
        frame: &Frame<'_>,
        login: &mut Session,
        sink: &mut MessageSink<'_>,
    ) -> Result<(), HeaderFault> {
        let Some((header, body)) = frame.body.split_at_checked(HEADER).filter(|_| !frame.holed) else {
            return Err(fault(
                "a packet of TDS in one of SMP (MARS)",
                "bytes that were not captured".to_owned(),
            ));
        };
        let planned = messages::plan(direction, header)?;
        if planned.body != body.len() as u64 {
            return Err(fault(
                "one packet of TDS in one of SMP (MARS)",
                format!("{} bytes", body.len()),
            ));
        }
        let others_wait = |(other, session): (&u16, &Session)| *other != number && session.is_busy();
        if direction == Direction::ClientToServer && self.open.iter().any(others_wait) {
            return Err(fault(
                "requests of one session at a time",
                "several sessions at once (MARS)".to_owned(),
            ));
        }
        if !self.open.contains_key(&number) && self.open.len() >= MAX_SESSIONS {
            return Err(fault("fewer sessions (MARS)", MAX_SESSIONS.to_string()));
        }
        let mut packet = Frame {
            header,
            body,
            ..*frame
        };
        if direction == Direction::ClientToServer && self.carried > 0 {
            packet.bytes += std::mem::take(&mut self.carried);
            packet.started = self.since;
        }
        let session = self.open.entry(number).or_insert_with(|| login.another());
        session.next_statement = self.next_statement.max(login.next_statement);
        let passed = match direction {
            Direction::ClientToServer => session.client_sent(&packet, sink),
            Direction::ServerToClient => session.server_sent(&packet, sink),
        };
        self.next_statement = session.next_statement;
        passed
    }
}

fn message(
    direction: Direction,
    role: Role,
    started: Timestamp,
    ended: Timestamp,
    bytes: u64,
) -> Message<'static> {
    Message {
        stream: 0,
        protocol: Protocol::Tds,
        direction,
        started,
        ended,
        bytes,
        role,
        phase: Phase::Work,
        content: Content::Other,
    }
}

const SYN: u8 = 1;
const ACK: u8 = 2;
const FIN: u8 = 4;
const DATA: u8 = 8;
/// The largest packet of TDS, and its header of SMP.
const MAX_PACKET_LEN: usize = SMP_HEADER + 0xffff;
/// SQL Server's drivers keep at most 10 sessions for reuse.
const MAX_SESSIONS: usize = 32;

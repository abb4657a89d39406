//! Lengths and inspected parts of messages.

use super::codes::{encryption, transaction};
use super::messages::backend::{self, DATA_ROW, FUNCTION_CALL_RESPONSE, READY_FOR_QUERY};
use super::messages::frontend::{self, BIND, FUNCTION_CALL, PARSE, QUERY};
use super::messages::{MAXIMUM_MESSAGE, messages_sent};
use crate::decoding::framing::{FramePlan, HeaderFault};
use crate::decoding::reader::Reader;
use crate::decoding::resume::MessageShape;
use model::Direction;
use std::ops::RangeInclusive;

/// Framing of the next messages, which depends on the start of the connection.
#[derive(Debug, Default)]
pub(super) struct Shapes {
    /// The client has sent a message with a tag: no start-up message follows.
    pub(super) started: bool,
    pub(super) negotiating: bool,
    pub(super) encryption_asked: bool,
    /// The client announced compression (KingbaseES): once the server agrees, the stream is
    /// unreadable.
    pub(super) compression_announced: bool,
    pub(super) server_is_plain: bool,
    pub(super) row_bytes: usize,
    pub(super) gss_encrypted: bool,
}

impl Shapes {
    pub(super) fn client_header(&self, first: Option<u8>) -> usize {
        if first == Some(0) && !self.started {
            STARTUP_HEADER
        } else {
            TAGGED_HEADER
        }
    }

    pub(super) fn server_header(&self, first: Option<u8>) -> usize {
        let answer = matches!(first, Some(encryption::TLS | encryption::NONE | encryption::GSS));
        if self.negotiating && answer {
            ANSWER_HEADER
        } else {
            TAGGED_HEADER
        }
    }

    /// Whether the stream is now compressed blocks, each with a length, without visible messages.
    pub(super) fn is_compressed(&self) -> bool {
        self.compression_announced && !self.server_is_plain
    }

    pub(super) fn client(&self, header: &[u8]) -> Result<FramePlan, HeaderFault> {
        let mut reader = Reader::new(header);
        if header.len() == STARTUP_HEADER {
            let (length, code) = (reader.u32_be(), reader.u32_be());
            return self.startup(length.unwrap_or(0), code.unwrap_or(0));
        }
        let (Some(tag), Some(length)) = (reader.u8(), reader.u32_be()) else {
            return Err(self.fault("a message of 5 bytes or more", "less"));
        };
        let (lengths, keep) = match frontend::MESSAGES.find(tag) {
            Some(row) => (&row.lengths, row.keep),
            None if tag.is_ascii_alphanumeric() => (&UNKNOWN, 0),
            None => return Err(self.fault("the tag of a client message", tag)),
        };
        self.plan(length, lengths, keep)
    }

    pub(super) fn server(&self, header: &[u8]) -> Result<FramePlan, HeaderFault> {
        let mut reader = Reader::new(header);
        if header.len() == ANSWER_HEADER {
            return Ok(FramePlan { body: 0, keep: 0 });
        }
        let (Some(tag), Some(length)) = (reader.u8(), reader.u32_be()) else {
            return Err(self.fault("a message of 5 bytes or more", "less"));
        };
        let (lengths, keep) = match backend::MESSAGES.find(tag) {
            Some(row) if tag == DATA_ROW => (&row.lengths, self.row_bytes),
            Some(row) => (&row.lengths, row.keep),
            None if tag.is_ascii_alphanumeric() => (&UNKNOWN, 0),
            None => return Err(self.fault("the tag of a server message", tag)),
        };
        self.plan(length, lengths, keep)
    }

    fn startup(&self, length: u32, code: u32) -> Result<FramePlan, HeaderFault> {
        let lengths = match code {
            SSL_REQUEST | GSSENC_REQUEST => 8..=8,
            CANCEL_REQUEST => 16..=MAXIMUM_CANCEL,
            version if version >> 16 == 3 => 9..=MAXIMUM_STARTUP,
            _ => return Err(self.fault("start-up of protocol version 3", code)),
        };
        let plan = self.plan(length, &lengths, MAXIMUM_STARTUP as usize)?;
        let body = plan.body.saturating_sub(4);
        Ok(FramePlan { body, ..plan })
    }

    fn plan(
        &self,
        length: u32,
        lengths: &RangeInclusive<u32>,
        keep: usize,
    ) -> Result<FramePlan, HeaderFault> {
        if self.gss_encrypted {
            return Err(self.fault("a message", length));
        }
        if lengths.contains(&length) {
            Ok(FramePlan {
                body: u64::from(length.saturating_sub(4)),
                keep,
            })
        } else {
            Err(self.fault("a length that this message can have", length))
        }
    }

    fn fault(&self, expected: &'static str, found: impl ToString) -> HeaderFault {
        let found = if self.gss_encrypted {
            "bytes encrypted with GSSAPI".to_owned()
        } else if self.compression_announced {
            "something else: probably KingbaseES compression, announced at start-up".to_owned()
        } else {
            found.to_string()
        };
        HeaderFault { expected, found }
    }
}

pub(super) fn at(direction: Direction, bytes: &[u8]) -> MessageShape {
    let shapes = Shapes::default();
    let tag = bytes.first().copied().unwrap_or_default();
    if direction == Direction::ClientToServer && tag == 0 {
        let Some(header) = bytes.get(..STARTUP_HEADER) else {
            return MessageShape::Cut;
        };
        return shapes.client(header).map_or(MessageShape::Wrong, |plan| {
            MessageShape::Sure(STARTUP_HEADER + usize::try_from(plan.body).unwrap_or(usize::MAX))
        });
    }
    let header = bytes.get(..TAGGED_HEADER);
    let planned = match direction {
        Direction::ClientToServer => header.map(|header| shapes.client(header)),
        Direction::ServerToClient => header.map(|header| shapes.server(header)),
    };
    let body = match (messages_sent(direction).find(tag), planned) {
        (None, _) | (Some(_), Some(Err(_))) => return MessageShape::Wrong,
        (Some(_), None) => return MessageShape::Cut,
        (Some(_), Some(Ok(plan))) if plan.body > plausible_body(direction, tag) => {
            return MessageShape::Wrong;
        }
        (Some(_), Some(Ok(plan))) => usize::try_from(plan.body).unwrap_or(usize::MAX),
    };
    let rest = bytes.get(TAGGED_HEADER..).unwrap_or_default();
    let mut reader = Reader::new(rest);
    let total = TAGGED_HEADER + body;
    match (direction, tag) {
        (Direction::ServerToClient, READY_FOR_QUERY) => match rest.first() {
            None => MessageShape::Cut,
            Some(&(transaction::IDLE | transaction::OPEN | transaction::FAILED)) => MessageShape::Sure(total),
            Some(_) => MessageShape::Wrong,
        },
        (Direction::ServerToClient, DATA_ROW) => match reader.u16_be() {
            None => MessageShape::Cut,
            Some(columns) if body >= 2 + usize::from(columns) * 4 => MessageShape::Likely(total),
            Some(_) => MessageShape::Wrong,
        },
        (Direction::ClientToServer, QUERY) => match rest.get(..body) {
            None => MessageShape::Likely(total),
            Some([text @ .., 0]) if !text.contains(&0) => MessageShape::Sure(total),
            Some(_) => MessageShape::Wrong,
        },
        (Direction::ClientToServer | Direction::ServerToClient, _) => MessageShape::Likely(total),
    }
}

/// Longest body accepted where any byte could be mistaken for a tag: larger for statements, values
/// and rows.
const fn plausible_body(direction: Direction, tag: u8) -> u64 {
    match (direction, tag) {
        (Direction::ClientToServer, BIND | frontend::COPY_DATA | FUNCTION_CALL | PARSE | QUERY)
        | (Direction::ServerToClient, backend::COPY_DATA | DATA_ROW | FUNCTION_CALL_RESPONSE) => 16 << 20,
        (Direction::ClientToServer | Direction::ServerToClient, _) => 64 << 10,
    }
}

pub(super) const SSL_REQUEST: u32 = 80_877_103;
pub(super) const GSSENC_REQUEST: u32 = 80_877_104;
pub(super) const CANCEL_REQUEST: u32 = 80_877_102;

pub(super) const STARTUP_HEADER: usize = 8;
pub(super) const ANSWER_HEADER: usize = 1;
const TAGGED_HEADER: usize = 5;

pub(super) const MAXIMUM_STARTUP: u32 = 10_000;
/// Four bytes of process number and up to 256 of secret (protocol 3.2).
const MAXIMUM_CANCEL: u32 = 8 + 4 + 256;
/// Lengths of a message without a row in the table.
const UNKNOWN: RangeInclusive<u32> = 4..=MAXIMUM_MESSAGE;

//! Tags, length limits and inspected parts of messages.

use decoding::framing::{FramePlan, HeaderFault};
use decoding::reader::Reader;
use decoding::resume::MessageShape;
use model::Direction;

/// PostgreSQL itself allocates at most 1 GiB for one message.
pub const MAXIMUM_MESSAGE: u32 = 1 << 30;

pub(super) const STATEMENT_LIMIT: usize = 64 * 1024;

/// Inspected bytes of parameter values: they show repeated calls.
const VALUES_LIMIT: usize = 1024;

pub(super) const NAME_LIMIT: usize = 256;

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
        let answer = matches!(first, Some(b'S' | b'N' | b'G'));
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
        let (lengths, keep) = match tag {
            b'Q' => (5..=MAXIMUM_MESSAGE, STATEMENT_LIMIT),
            b'P' => (8..=MAXIMUM_MESSAGE, NAME_LIMIT + STATEMENT_LIMIT),
            b'B' => (12..=MAXIMUM_MESSAGE, 2 * NAME_LIMIT + 2 + VALUES_LIMIT),
            b'E' => (9..=MAXIMUM_MESSAGE, NAME_LIMIT + 5),
            b'D' | b'C' => (6..=MAXIMUM_MESSAGE, NAME_LIMIT + 2),
            b'S' | b'H' | b'X' | b'c' => (4..=4, 0),
            b'F' => (4..=MAXIMUM_MESSAGE, 4),
            b'd' | b'f' | b'p' => (4..=MAXIMUM_MESSAGE, 0),
            _ if tag.is_ascii_alphanumeric() => (4..=MAXIMUM_MESSAGE, 0),
            _ => return Err(self.fault("the tag of a client message", tag)),
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
        let (lengths, keep) = match tag {
            b'D' => (4..=MAXIMUM_MESSAGE, self.row_bytes),
            b'd' => (4..=MAXIMUM_MESSAGE, 0),
            b'1' | b'2' | b'3' | b'n' | b's' | b'I' | b'c' => (4..=4, 0),
            b'Z' => (5..=5, 1),
            b'C' => (5..=MAXIMUM_TAG_LENGTH, MAXIMUM_TAG_LENGTH as usize),
            b'R' => (8..=MAXIMUM_SHORT, 4),
            b'S' => (6..=MAXIMUM_SHORT, NAME_LIMIT),
            b'E' | b'N' => (5..=MAXIMUM_MESSAGE, ERROR_LIMIT),
            b'K' => (12..=MAXIMUM_SHORT, 0),
            b'T' | b't' => (6..=MAXIMUM_MESSAGE, 0),
            b'G' | b'H' | b'W' => (7..=MAXIMUM_MESSAGE, 0),
            b'A' | b'V' | b'v' => (8..=MAXIMUM_MESSAGE, 0),
            _ if tag.is_ascii_alphanumeric() => (4..=MAXIMUM_MESSAGE, 0),
            _ => return Err(self.fault("the tag of a server message", tag)),
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
        let plan = self.plan(length, lengths, MAXIMUM_STARTUP as usize)?;
        let body = plan.body.saturating_sub(4);
        Ok(FramePlan { body, ..plan })
    }

    fn plan(
        &self,
        length: u32,
        lengths: std::ops::RangeInclusive<u32>,
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
    let (tags, planned) = match direction {
        Direction::ClientToServer => (
            CLIENT_TAGS,
            bytes.get(..TAGGED_HEADER).map(|header| shapes.client(header)),
        ),
        Direction::ServerToClient => (
            SERVER_TAGS,
            bytes.get(..TAGGED_HEADER).map(|header| shapes.server(header)),
        ),
    };
    let body = match planned {
        _ if !tags.contains(&tag) => return MessageShape::Wrong,
        None => return MessageShape::Cut,
        Some(Err(_)) => return MessageShape::Wrong,
        Some(Ok(plan)) if plan.body > likely(direction, tag) => return MessageShape::Wrong,
        Some(Ok(plan)) => usize::try_from(plan.body).unwrap_or(usize::MAX),
    };
    let rest = bytes.get(TAGGED_HEADER..).unwrap_or_default();
    let mut reader = Reader::new(rest);
    let total = TAGGED_HEADER + body;
    match (direction, tag) {
        (Direction::ServerToClient, b'Z') => match rest.first() {
            None => MessageShape::Cut,
            Some(b'I' | b'T' | b'E') => MessageShape::Sure(total),
            Some(_) => MessageShape::Wrong,
        },
        (Direction::ServerToClient, b'D') => match reader.u16_be() {
            None => MessageShape::Cut,
            Some(columns) if body >= 2 + usize::from(columns) * 4 => MessageShape::Likely(total),
            Some(_) => MessageShape::Wrong,
        },
        (Direction::ClientToServer, b'Q') => match rest.get(..body) {
            None => MessageShape::Likely(total),
            Some([text @ .., 0]) if !text.contains(&0) => MessageShape::Sure(total),
            Some(_) => MessageShape::Wrong,
        },
        (Direction::ClientToServer | Direction::ServerToClient, _) => MessageShape::Likely(total),
    }
}

const CLIENT_TAGS: &[u8] = b"QPBDECSHXFdcfp";
const SERVER_TAGS: &[u8] = b"RSKZTDCEN123ntsIcAGHWdVv";

/// Longest body accepted where any byte could be mistaken for a tag: larger for statements, values
/// and rows.
const fn likely(direction: Direction, tag: u8) -> u64 {
    match (direction, tag) {
        (Direction::ClientToServer, b'Q' | b'P' | b'B' | b'F' | b'd') => 16 << 20,
        (Direction::ServerToClient, b'D' | b'd' | b'V') => 16 << 20,
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
const MAXIMUM_TAG_LENGTH: u32 = 256;
const MAXIMUM_SHORT: u32 = 64 * 1024;
/// Inspected bytes of an error: its code comes first.
const ERROR_LIMIT: usize = 4096;

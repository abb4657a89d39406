//! Frames of a lane, with a header of eight bytes and a payload.
//!
//! ```text
//!  0       1       2               4                               8
//! +-------+-------+---------------+-------------------------------+----------
//! | kind  | flags | payload bytes | stream                        | payload
//! +-------+-------+---------------+-------------------------------+----------
//! ```
//! All numbers are big-endian. The first frame each way is HELLO; its first ten payload bytes, the
//! magic and the version, are the same in every version. The near end numbers streams upwards from
//! 1; 0 is the lane itself.

use crate::{Coding, CompressionLevel, LevelChoice, MAX_CHUNK_BYTES, MAX_CHUNK_OVERHEAD};
use std::fmt;

pub const HEADER_BYTES: usize = 8;

/// An incompressible chunk with the codec's overhead.
pub const MAX_PAYLOAD_BYTES: usize = MAX_CHUNK_BYTES + MAX_CHUNK_OVERHEAD;

pub const VERSION: u16 = 2;

const MAGIC: [u8; 8] = *b"longwire";
const HELLO_BYTES: usize = MAGIC.len() + 5;
const LEVEL_AUTO: u8 = 10;
const ISOLATE_STATEMENTS: u8 = 1;
const COMPRESS_LOGIN: u8 = 2;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum End {
    Near,
    /// Next to the database.
    Far,
}

impl End {
    pub const fn other(self) -> Self {
        match self {
            Self::Near => Self::Far,
            Self::Far => Self::Near,
        }
    }
}

impl fmt::Display for End {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Near => "near end",
            Self::Far => "far end",
        })
    }
}

/// Unique on a lane while it is up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StreamId(pub u32);

/// The data that a chunk's compression may depend on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Isolation {
    /// Everything sent the same way on the lane.
    #[default]
    None,
    /// The same statement only: the context is reset for each.
    Statements,
}

/// Requested by the near end; the far end follows unless configured otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LanePreferences {
    pub level: LevelChoice,
    pub isolation: Isolation,
    pub compress_login: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum ResetReason {
    Broken = 0,
    NoDatabase = 1,
    Full = 2,
}

impl ResetReason {
    const ALL: [Self; 3] = [Self::Broken, Self::NoDatabase, Self::Full];
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum GoodbyeReason {
    Stopped = 0,
    Protocol = 1,
    Full = 2,
}

impl GoodbyeReason {
    const ALL: [Self; 3] = [Self::Stopped, Self::Protocol, Self::Full];
}

impl fmt::Display for GoodbyeReason {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Stopped => "was stopped",
            Self::Protocol => "closed the lane over a breach of the tunnel's protocol",
            Self::Full => "has no room for another lane",
        })
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LaneFrame<'a> {
    Data {
        stream: StreamId,
        coding: Coding,
        /// The compressor's context was reset before this chunk.
        fresh: bool,
        /// The sender had more bytes but no credit.
        starved: bool,
        payload: &'a [u8],
    },
    Control(ControlFrame),
}

/// A frame without stream bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ControlFrame {
    Hello(LanePreferences),
    Open(StreamId),
    /// End of a stream in this direction.
    Fin(StreamId),
    /// End of a stream in both directions.
    Reset(StreamId, ResetReason),
    /// Allows the peer this many more bytes of a stream.
    Credit(StreamId, u32),
    Ping,
    Pong,
    Goodbye(GoodbyeReason),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    #[error("does not speak the tunnel's protocol")]
    NotATunnel,
    #[error("speaks version {theirs} of the tunnel's protocol, this longwire version {VERSION}")]
    Version { theirs: u16 },
    #[error("sent a frame of the unknown kind {kind}")]
    Kind { kind: u8 },
    #[error("sent a {kind} frame with {length} payload bytes")]
    Length { kind: &'static str, length: usize },
    #[error("sent a {kind} frame with a value that means nothing")]
    Value { kind: &'static str },
}

const HELLO: u8 = b'l';
const OPEN: u8 = 2;
const DATA: u8 = 3;
const FIN: u8 = 4;
const RESET: u8 = 5;
const CREDIT: u8 = 6;
const PING: u8 = 7;
const PONG: u8 = 8;
const GOODBYE: u8 = 9;

const FRESH: u8 = 0x40;
const STARVED: u8 = 0x80;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Header {
    kind: u8,
    flags: u8,
    length: usize,
    stream: StreamId,
}

/// Also returns the length of the frame; `None` while it is incomplete, within
/// [`MAX_PAYLOAD_BYTES`].
///
/// # Errors
/// If `bytes` cannot become a frame, as soon as that is certain.
pub fn parse_frame(bytes: &[u8]) -> Result<Option<(LaneFrame<'_>, usize)>, FrameError> {
    let Some((header, behind)) = bytes.split_first_chunk::<HEADER_BYTES>() else {
        return Ok(None);
    };
    let header = Header::parse(*header);
    header.check_length()?;
    let Some(payload) = behind.get(..header.length) else {
        return Ok(None);
    };
    let frame = header.frame(payload)?;
    Ok(Some((frame, HEADER_BYTES + header.length)))
}

/// Also returns the length of the hello; `None` while it is incomplete. Detects other protocols by
/// their first byte, and other versions by the first ten of the payload.
///
/// # Errors
/// If `bytes` do not begin a hello of this version.
pub fn read_hello(bytes: &[u8]) -> Result<Option<(LanePreferences, usize)>, FrameError> {
    if bytes.first().is_some_and(|kind| *kind != HELLO) {
        return Err(FrameError::NotATunnel);
    }
    let said = bytes.get(HEADER_BYTES..).unwrap_or_default();
    let common = said.len().min(MAGIC.len());
    if said.get(..common) != MAGIC.get(..common) {
        return Err(FrameError::NotATunnel);
    }
    let Some([high, low]) = said.get(MAGIC.len()..MAGIC.len() + 2) else {
        // The error must not depend on how the bytes were split.
        return Ok(None);
    };
    let theirs = u16::from_be_bytes([*high, *low]);
    if theirs != VERSION {
        return Err(FrameError::Version { theirs });
    }
    match parse_frame(bytes)? {
        Some((LaneFrame::Control(ControlFrame::Hello(preferences)), length)) => {
            Ok(Some((preferences, length)))
        }
        Some(_) => Err(FrameError::NotATunnel),
        None => Ok(None),
    }
}

impl Header {
    fn parse(bytes: [u8; HEADER_BYTES]) -> Self {
        let [kind, flags, high, low, a, b, c, d] = bytes;
        Self {
            kind,
            flags,
            length: usize::from(u16::from_be_bytes([high, low])),
            stream: StreamId(u32::from_be_bytes([a, b, c, d])),
        }
    }

    fn check_length(&self) -> Result<(), FrameError> {
        let length = self.length;
        let (kind, fits) = match self.kind {
            HELLO => ("HELLO", length == HELLO_BYTES),
            OPEN => ("OPEN", length == 0),
            DATA => ("DATA", (1..=MAX_PAYLOAD_BYTES).contains(&length)),
            FIN => ("FIN", length == 0),
            RESET => ("RESET", length == 1),
            CREDIT => ("CREDIT", length == 4),
            PING => ("PING", length == 0),
            PONG => ("PONG", length == 0),
            GOODBYE => ("GOODBYE", length == 1),
            kind => return Err(FrameError::Kind { kind }),
        };
        if fits {
            Ok(())
        } else {
            Err(FrameError::Length { kind, length })
        }
    }

    fn frame<'a>(&self, payload: &'a [u8]) -> Result<LaneFrame<'a>, FrameError> {
        if self.kind == DATA {
            return Ok(LaneFrame::Data {
                stream: self.stream,
                coding: coding(self.flags).ok_or(FrameError::Value { kind: "DATA" })?,
                fresh: self.flags & FRESH != 0,
                starved: self.flags & STARVED != 0,
                payload,
            });
        }
        self.control(payload).map(LaneFrame::Control)
    }

    fn control(&self, payload: &[u8]) -> Result<ControlFrame, FrameError> {
        let stream = self.stream;
        let meaningless = |kind| FrameError::Value { kind };
        Ok(match self.kind {
            HELLO => ControlFrame::Hello(parse_preferences(payload).ok_or(meaningless("HELLO"))?),
            OPEN => ControlFrame::Open(stream),
            FIN => ControlFrame::Fin(stream),
            RESET => {
                let reason = ResetReason::ALL
                    .into_iter()
                    .find(|reason| payload == [*reason as u8]);
                ControlFrame::Reset(stream, reason.ok_or(meaningless("RESET"))?)
            }
            CREDIT => {
                let amount = payload.first_chunk().map(|bytes| u32::from_be_bytes(*bytes));
                ControlFrame::Credit(stream, amount.ok_or(meaningless("CREDIT"))?)
            }
            PING => ControlFrame::Ping,
            PONG => ControlFrame::Pong,
            GOODBYE => {
                let reason = GoodbyeReason::ALL
                    .into_iter()
                    .find(|reason| payload == [*reason as u8]);
                ControlFrame::Goodbye(reason.ok_or(meaningless("GOODBYE"))?)
            }
            kind => return Err(FrameError::Kind { kind }),
        })
    }
}

fn coding(flags: u8) -> Option<Coding> {
    [Coding::Stored, Coding::Zstd]
        .into_iter()
        .find(|coding| flags & !(FRESH | STARVED) == *coding as u8)
}

fn parse_preferences(payload: &[u8]) -> Option<LanePreferences> {
    let said = payload.strip_prefix(&MAGIC)?;
    let [_, _, level, flags, 0] = said else {
        return None;
    };
    let level = match *level {
        LEVEL_AUTO => LevelChoice::Auto,
        number => LevelChoice::Fixed(CompressionLevel::from_number(number)?),
    };
    let isolation = if flags & ISOLATE_STATEMENTS == 0 {
        Isolation::None
    } else {
        Isolation::Statements
    };
    (flags & !(ISOLATE_STATEMENTS | COMPRESS_LOGIN) == 0).then_some(LanePreferences {
        level,
        isolation,
        compress_login: flags & COMPRESS_LOGIN != 0,
    })
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ChunkHeader {
    pub stream: StreamId,
    pub coding: Coding,
    pub fresh: bool,
    pub starved: bool,
}

pub(crate) fn write(out: &mut Vec<u8>, frame: ControlFrame) {
    match frame {
        ControlFrame::Hello(preferences) => write_hello(out, preferences),
        ControlFrame::Open(stream) => put(out, OPEN, stream, &[]),
        ControlFrame::Fin(stream) => put(out, FIN, stream, &[]),
        ControlFrame::Reset(stream, reason) => put(out, RESET, stream, &[reason as u8]),
        ControlFrame::Credit(stream, amount) => put(out, CREDIT, stream, &amount.to_be_bytes()),
        ControlFrame::Ping => put(out, PING, StreamId(0), &[]),
        ControlFrame::Pong => put(out, PONG, StreamId(0), &[]),
        ControlFrame::Goodbye(reason) => put(out, GOODBYE, StreamId(0), &[reason as u8]),
    }
}

/// Returns the start of the frame.
pub(crate) fn begin_chunk(out: &mut Vec<u8>) -> usize {
    let start = out.len();
    out.extend_from_slice(&[0; HEADER_BYTES]);
    start
}

/// The payload is everything appended since `start`, at most [`MAX_PAYLOAD_BYTES`].
pub(crate) fn end_chunk(out: &mut [u8], start: usize, chunk: ChunkHeader) {
    let length = out.len().saturating_sub(start + HEADER_BYTES);
    let mut flags = chunk.coding as u8;
    if chunk.fresh {
        flags |= FRESH;
    }
    if chunk.starved {
        flags |= STARVED;
    }
    let header = header(DATA, flags, length, chunk.stream);
    if let Some(place) = out.get_mut(start..start + HEADER_BYTES) {
        place.copy_from_slice(&header);
    }
}

fn put(out: &mut Vec<u8>, kind: u8, stream: StreamId, payload: &[u8]) {
    out.extend_from_slice(&header(kind, 0, payload.len(), stream));
    out.extend_from_slice(payload);
}

fn header(kind: u8, flags: u8, length: usize, stream: StreamId) -> [u8; HEADER_BYTES] {
    let [high, low] = u16::try_from(length).unwrap_or(u16::MAX).to_be_bytes();
    let [a, b, c, d] = stream.0.to_be_bytes();
    [kind, flags, high, low, a, b, c, d]
}

fn write_hello(out: &mut Vec<u8>, preferences: LanePreferences) {
    let mut payload = Vec::with_capacity(HELLO_BYTES);
    payload.extend_from_slice(&MAGIC);
    payload.extend_from_slice(&VERSION.to_be_bytes());
    payload.push(match preferences.level {
        LevelChoice::Auto => LEVEL_AUTO,
        LevelChoice::Fixed(level) => level.number(),
    });
    let isolate = match preferences.isolation {
        Isolation::None => 0,
        Isolation::Statements => ISOLATE_STATEMENTS,
    };
    payload.push(
        isolate
            | if preferences.compress_login {
                COMPRESS_LOGIN
            } else {
                0
            },
    );
    payload.push(0);
    put(out, HELLO, StreamId(0), &payload);
}

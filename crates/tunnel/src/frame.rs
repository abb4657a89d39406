//! What passes on a lane: frames, each a header of eight bytes and a payload.
//!
//! ```text
//!  0       1       2               4                               8
//! +-------+-------+---------------+-------------------------------+----------
//! | kind  | flags | payload bytes | stream                        | payload
//! +-------+-------+---------------+-------------------------------+----------
//! ```
//! Numbers are big-endian. The first frame each way is HELLO; its first ten payload bytes, the magic and the
//! version, are the same in every version. Streams are numbered by the near end, upwards from 1; 0 is the
//! lane itself.

use crate::{Coding, CompressionLevel, LevelChoice, MAX_CHUNK_BYTES, MAX_CHUNK_OVERHEAD};
use std::fmt;

/// Bytes of a frame before its payload.
pub const HEADER_BYTES: usize = 8;

/// Most bytes of a frame's payload: a chunk that did not become smaller, and what a codec adds to one.
pub const MAX_PAYLOAD_BYTES: usize = MAX_CHUNK_BYTES + MAX_CHUNK_OVERHEAD;

/// What this version speaks.
pub const VERSION: u16 = 2;

const MAGIC: [u8; 8] = *b"longwire";
const HELLO_BYTES: usize = MAGIC.len() + 5;
const LEVEL_AUTO: u8 = 10;
const ISOLATE_STATEMENTS: u8 = 1;
const COMPRESS_LOGIN: u8 = 2;

/// One of the two ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum End {
    /// Next to the clients; it opens lanes and streams.
    Near,
    /// Next to the database.
    Far,
}

impl End {
    /// The one at the other side.
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

/// The number of a stream on its lane. Not used again while the lane is up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StreamId(pub u32);

/// What the compression of a chunk may depend on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Isolation {
    /// All that went the same way on the lane before.
    #[default]
    None,
    /// What went the same way of the same statement: the context is forgotten when another begins.
    Statements,
}

/// How the near end wants its bytes carried; the far end does the same unless it was told otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LanePreferences {
    /// How hard to compress.
    pub level: LevelChoice,
    /// What a chunk's compression may depend on.
    pub isolation: Isolation,
    /// Whether logins are compressed as well.
    pub compress_login: bool,
}

/// Why a stream ended before both sides were done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum ResetReason {
    /// Its socket was reset, or broke.
    Broken = 0,
    /// The far end could not connect to the database.
    NoDatabase = 1,
    /// The far end carries as many streams as it may.
    Full = 2,
}

impl ResetReason {
    const ALL: [Self; 3] = [Self::Broken, Self::NoDatabase, Self::Full];
}

/// Why an end leaves the lane.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum GoodbyeReason {
    /// It was stopped.
    Stopped = 0,
    /// The other end broke the protocol.
    Protocol = 1,
    /// It has enough lanes.
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

/// One frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LaneFrame<'a> {
    /// Bytes of a stream.
    Data {
        /// Whose.
        stream: StreamId,
        /// How they were put into `payload`.
        coding: Coding,
        /// The compressor had forgotten all before it made `payload`.
        fresh: bool,
        /// The sender had more and no credit for it: the window holds the stream back.
        starved: bool,
        /// What the compressor made of the chunk.
        payload: &'a [u8],
    },
    /// Anything else.
    Control(ControlFrame),
}

/// A frame without bytes of a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ControlFrame {
    /// The first one each way.
    Hello(LanePreferences),
    /// A client connected.
    Open(StreamId),
    /// No more bytes of this stream will come this way.
    Fin(StreamId),
    /// The stream is over, both ways.
    Reset(StreamId, ResetReason),
    /// This many more bytes of a stream may be sent this way.
    Credit(StreamId, u32),
    /// To be answered with [`ControlFrame::Pong`].
    Ping,
    /// The answer.
    Pong,
    /// The lane will be closed.
    Goodbye(GoodbyeReason),
}

/// Bytes are not a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum FrameError {
    /// The first bytes are not a tunnel's.
    #[error("does not speak the tunnel's protocol")]
    NotATunnel,
    /// Another version's hello.
    #[error("speaks version {theirs} of the tunnel's protocol, this longwire version {VERSION}")]
    Version {
        /// What it said.
        theirs: u16,
    },
    /// No frame has this kind.
    #[error("sent a frame of the unknown kind {kind}")]
    Kind {
        /// The kind's number.
        kind: u8,
    },
    /// The frame is longer or shorter than one of its kind is.
    #[error("sent a {kind} frame with {length} payload bytes")]
    Length {
        /// The kind's name.
        kind: &'static str,
        /// As the header says.
        length: usize,
    },
    /// A number in a frame means nothing.
    #[error("sent a {kind} frame with a value that means nothing")]
    Value {
        /// The kind's name.
        kind: &'static str,
    },
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

/// A header that has been inspected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Header {
    kind: u8,
    flags: u8,
    length: usize,
    stream: StreamId,
}

/// The frame at the beginning of `bytes` and how long it is; `None` while bytes of it are missing. Whatever a
/// header claims, it waits for [`MAX_PAYLOAD_BYTES`] bytes at most.
///
/// # Errors
/// When `bytes` cannot become a frame, as soon as that shows.
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

/// The hello at the beginning of `bytes` and how long it is; `None` while bytes of it are missing. Recognises
/// a stranger by its first byte, and another version whatever else it has in its hello.
///
/// # Errors
/// When `bytes` are not the beginning of a hello of this version.
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
        // What is wrong with a stranger does not depend on how its bytes were split.
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

/// What a chunk's header says besides its length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ChunkHeader {
    pub stream: StreamId,
    pub coding: Coding,
    pub fresh: bool,
    pub starved: bool,
}

/// Appends a frame without a chunk.
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

/// Leaves room for the header of a chunk that is appended next; returns where the frame begins.
pub(crate) fn begin_chunk(out: &mut Vec<u8>) -> usize {
    let start = out.len();
    out.extend_from_slice(&[0; HEADER_BYTES]);
    start
}

/// Writes the header of the frame that began at `start`; its payload, at most [`MAX_PAYLOAD_BYTES`] bytes, is
/// all that was appended since.
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

//! Frame headers, and the strict check of a direction's first bytes.

use crate::decoding::fault::fault;
use crate::decoding::framing::{FramePlan, HeaderFault};
use crate::decoding::recognition::Recognition;
use crate::decoding::resume::MessageShape;
use model::{Direction, PerDirection};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Data,
    Headers,
    Priority,
    Reset,
    Settings,
    PushPromise,
    Ping,
    GoAway,
    WindowUpdate,
    Continuation,
    Preface,
    /// Extensions, which are ignored.
    Unknown,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct FrameHeader {
    pub(super) length: u64,
    pub(super) kind: Kind,
    pub(super) flags: u8,
    pub(super) stream: u32,
}

impl FrameHeader {
    pub(super) fn parse(header: &[u8]) -> Option<Self> {
        let header: &[u8; FRAME_HEADER] = header.first_chunk()?;
        let [a, b, c, kind, flags, stream @ ..] = *header;
        if header.as_slice() == &PREFACE[..FRAME_HEADER] {
            return Some(Self {
                length: (PREFACE.len() - FRAME_HEADER) as u64,
                kind: Kind::Preface,
                flags: 0,
                stream: 0,
            });
        }
        Some(Self {
            length: u64::from(u32::from_be_bytes([0, a, b, c])),
            kind: KINDS.get(usize::from(kind)).copied().unwrap_or(Kind::Unknown),
            flags,
            stream: u32::from_be_bytes(stream) & 0x7FFF_FFFF,
        })
    }

    pub(super) const fn ends_stream(&self) -> bool {
        self.flags & 1 != 0
    }

    pub(super) const fn ends_headers(&self) -> bool {
        self.flags & 4 != 0
    }

    pub(super) const fn is_padded(&self) -> bool {
        self.flags & 8 != 0
    }

    pub(super) const fn is_ack(&self) -> bool {
        self.flags & 1 != 0
    }

    /// Whether length and stream are as this kind has them.
    pub(super) fn fits(&self) -> bool {
        let fits = match self.kind {
            Kind::Data | Kind::Headers | Kind::Continuation => true,
            Kind::Priority => self.length == 5,
            Kind::Reset => self.length == 4,
            Kind::Settings => self.length.is_multiple_of(6) && self.length <= MAX_FRAME,
            Kind::PushPromise => self.length >= 4,
            Kind::Ping => self.length == 8,
            Kind::GoAway => (8..=MAX_FRAME).contains(&self.length),
            Kind::WindowUpdate => self.length == 4,
            Kind::Preface => true,
            Kind::Unknown => self.length <= MAX_FRAME,
        };
        fits && match self.kind {
            Kind::Settings | Kind::Ping | Kind::GoAway => self.stream == 0,
            Kind::WindowUpdate | Kind::Preface | Kind::Unknown => true,
            Kind::Data
            | Kind::Headers
            | Kind::Priority
            | Kind::Reset
            | Kind::PushPromise
            | Kind::Continuation => self.stream != 0,
        }
    }

    /// As [`FrameHeader::fits`], with usual flags, lengths and streams of clients only.
    fn is_usual(&self, header: &[u8]) -> bool {
        let flags = match self.kind {
            Kind::Data => 0x09,
            Kind::Headers => 0x2D,
            Kind::Settings | Kind::Ping => 0x01,
            Kind::Continuation => 0x04,
            Kind::Preface => 0,
            Kind::Unknown | Kind::PushPromise => return false,
            Kind::Priority | Kind::Reset | Kind::GoAway | Kind::WindowUpdate => 0,
        };
        let is_reserved = header.get(5).is_some_and(|byte| byte & 0x80 != 0) && self.kind != Kind::Preface;
        let is_odd = self.stream == 0 || self.stream % 2 == 1;
        self.fits() && self.flags & !flags == 0 && !is_reserved && is_odd && self.length <= MAX_FRAME
    }
}

pub(super) fn plan(header: &[u8]) -> Result<FramePlan, HeaderFault> {
    let found = FrameHeader::parse(header).ok_or_else(|| fault("a frame", "less"))?;
    if !found.fits() {
        let found = format!("type {}, length {}", header[3], found.length);
        return Err(fault("the header of a frame", found));
    }
    let keep = match found.kind {
        Kind::Headers | Kind::Continuation | Kind::PushPromise => MAX_BLOCK,
        Kind::Preface | Kind::Reset | Kind::WindowUpdate => 16,
        Kind::Settings => MAX_SETTINGS,
        Kind::Data | Kind::Priority | Kind::Ping | Kind::GoAway | Kind::Unknown => 0,
    };
    Ok(FramePlan {
        body: found.length,
        keep,
    })
}

/// The client's preface is certain. In the middle of a connection, a frame other than data.
pub(super) fn detect(openings: PerDirection<&[u8]>, direction: Direction) -> Recognition {
    let bytes = openings[direction];
    let start = bytes.get(..PREFACE.len()).unwrap_or(bytes);
    if direction == Direction::ClientToServer && PREFACE.starts_with(start) {
        return match start.len() == PREFACE.len() {
            true => Recognition::Certain,
            false => Recognition::More,
        };
    }
    match FrameHeader::parse(bytes) {
        None => Recognition::More,
        Some(found) if found.kind == Kind::Preface => Recognition::Never,
        Some(found) if found.kind == Kind::Data || !found.is_usual(bytes) => Recognition::Never,
        Some(_) => Recognition::Plausible,
    }
}

/// A frame at the start of `bytes`.
pub(super) fn shape(bytes: &[u8]) -> MessageShape {
    let Some(found) = FrameHeader::parse(bytes) else {
        return MessageShape::Cut;
    };
    if found.kind == Kind::Preface || !found.is_usual(bytes) {
        return MessageShape::Wrong;
    }
    MessageShape::Likely(FRAME_HEADER + usize::try_from(found.length).unwrap_or(usize::MAX))
}

/// The block's fragment in a frame: without padding, priority and promised stream.
pub(super) fn fragment(header: FrameHeader, body: &[u8]) -> Option<&[u8]> {
    let (padding, rest) = match header.kind != Kind::Continuation && header.is_padded() {
        true => body
            .split_first()
            .map(|(length, rest)| (usize::from(*length), rest))?,
        false => (0, body),
    };
    let before = if header.kind == Kind::PushPromise {
        4
    } else if header.kind == Kind::Headers && header.flags & 0x20 != 0 {
        5
    } else {
        0
    };
    rest.get(before..rest.len().checked_sub(padding)?)
}

pub(super) const FRAME_HEADER: usize = 9;
pub(super) const PREFACE: &[u8; 24] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// Larger header blocks are not decoded.
pub(super) const MAX_BLOCK: usize = 64 * 1024;
const MAX_SETTINGS: usize = 1024;
/// Unless agreed otherwise.
pub(super) const MAX_FRAME: u64 = 16 * 1024;
const KINDS: [Kind; 10] = [
    Kind::Data,
    Kind::Headers,
    Kind::Priority,
    Kind::Reset,
    Kind::Settings,
    Kind::PushPromise,
    Kind::Ping,
    Kind::GoAway,
    Kind::WindowUpdate,
    Kind::Continuation,
];

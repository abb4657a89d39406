//! Frames of `bridges/jdbc/PROTOCOL.md`: a length, a channel, a type, and fields.

use super::BridgeError;
use std::io::{self, Read};

#[derive(Debug)]
pub(super) struct Writer {
    bytes: Vec<u8>,
}

#[derive(Debug)]
pub(super) struct Frame {
    pub(super) channel: u32,
    pub(super) kind: u8,
    body: Vec<u8>,
    at: usize,
}

pub(super) mod request {
    pub const HELLO: u8 = 1;
    pub const OPEN: u8 = 2;
    pub const EXECUTE: u8 = 3;
    pub const INSERT: u8 = 4;
    pub const UPDATE: u8 = 5;
    pub const AUTOCOMMIT: u8 = 6;
    pub const COMMIT: u8 = 7;
    pub const ROLLBACK: u8 = 8;
    pub const OVERHEAD: u8 = 9;
    pub const COLUMNS: u8 = 10;
    pub const CLOSE: u8 = 11;
    pub const CANCEL: u8 = 12;
}

pub(super) mod reply {
    pub const HELLO: u8 = 65;
    pub const OPENED: u8 = 66;
    pub const SAMPLES: u8 = 67;
    pub const DONE: u8 = 68;
    pub const FAILED: u8 = 69;
    pub const COLUMNS: u8 = 70;
}

impl Writer {
    pub(super) fn new(channel: u32, kind: u8) -> Self {
        let mut writer = Self { bytes: vec![0; 4] };
        writer.bytes.extend(channel.to_be_bytes());
        writer.bytes.push(kind);
        writer
    }

    pub(super) fn tag(&mut self, value: u8) {
        self.bytes.push(value);
    }

    pub(super) fn flag(&mut self, value: bool) {
        self.bytes.push(u8::from(value));
    }

    pub(super) fn number(&mut self, value: i32) {
        self.bytes.extend(value.to_be_bytes());
    }

    pub(super) fn count(&mut self, value: u64) {
        self.number(i32::try_from(value).unwrap_or(i32::MAX));
    }

    pub(super) fn large(&mut self, value: i64) {
        self.bytes.extend(value.to_be_bytes());
    }

    pub(super) fn text(&mut self, value: Option<&str>) {
        match value {
            None => self.number(-1),
            Some(text) => {
                self.count(text.len() as u64);
                self.bytes.extend(text.as_bytes());
            }
        }
    }

    /// The frame with its length; `None` if it exceeds the limit.
    pub(super) fn finish(mut self) -> Option<Vec<u8>> {
        let length = self.bytes.len() - 4;
        let length = u32::try_from(length)
            .ok()
            .filter(|length| *length <= MAX_FRAME_LEN)?;
        self.bytes.splice(..4, length.to_be_bytes());
        Some(self.bytes)
    }
}

impl Frame {
    /// Returns `None` at the end of the stream, also within a frame.
    pub(super) fn read_from(from: &mut impl Read) -> io::Result<Option<Self>> {
        let mut head = [0; 9];
        if !filled(from, &mut head)? {
            return Ok(None);
        }
        let [a, b, c, d, e, f, g, h, kind] = head;
        let length = u32::from_be_bytes([a, b, c, d]);
        if !(5..=MAX_FRAME_LEN).contains(&length) {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let mut body = Vec::new();
        let wanted = u64::from(length) - 5;
        // Allocates for the received bytes only, not for the claimed length.
        if from.take(wanted).read_to_end(&mut body)? as u64 != wanted {
            return Ok(None);
        }
        Ok(Some(Self {
            channel: u32::from_be_bytes([e, f, g, h]),
            kind,
            body,
            at: 0,
        }))
    }

    pub(super) fn tag(&mut self) -> Result<u8, BridgeError> {
        self.array::<1>().map(|[tag]| tag)
    }

    pub(super) fn number(&mut self) -> Result<i32, BridgeError> {
        self.array().map(i32::from_be_bytes)
    }

    pub(super) fn large(&mut self) -> Result<i64, BridgeError> {
        self.array().map(i64::from_be_bytes)
    }

    pub(super) fn text(&mut self) -> Result<Option<String>, BridgeError> {
        let Ok(length) = usize::try_from(self.number()?) else {
            return Ok(None);
        };
        let bytes = self.bytes(length)?;
        Ok(Some(String::from_utf8_lossy(bytes).into_owned()))
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], BridgeError> {
        self.bytes(N)?.try_into().map_err(|_| BridgeError::Garbled)
    }

    fn bytes(&mut self, length: usize) -> Result<&[u8], BridgeError> {
        let end = self.at.checked_add(length).ok_or(BridgeError::Garbled)?;
        let bytes = self.body.get(self.at..end).ok_or(BridgeError::Garbled)?;
        self.at = end;
        Ok(bytes)
    }
}

fn filled(from: &mut impl Read, head: &mut [u8]) -> io::Result<bool> {
    match from.read_exact(head) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error),
    }
}

const MAX_FRAME_LEN: u32 = 64 * 1024 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_comes_back_as_it_was_written() {
        let mut writer = Writer::new(7, reply::DONE);
        writer.large(-3);
        writer.text(None);
        writer.text(Some("ü"));
        let bytes = writer.finish().unwrap();
        let mut frame = Frame::read_from(&mut bytes.as_slice()).unwrap().unwrap();
        assert_eq!((frame.channel, frame.kind), (7, reply::DONE));
        assert_eq!(frame.large().unwrap(), -3);
        assert_eq!(frame.text().unwrap(), None);
        assert_eq!(frame.text().unwrap().as_deref(), Some("ü"));
        assert_eq!(frame.number(), Err(BridgeError::Garbled));
    }

    #[test]
    fn what_is_cut_is_the_end_and_a_wrong_length_is_an_error() {
        let bytes = Writer::new(1, 2).finish().unwrap();
        for cut in 0..bytes.len() {
            assert!(
                Frame::read_from(&mut bytes.get(..cut).unwrap())
                    .unwrap()
                    .is_none()
            );
        }
        assert!(Frame::read_from(&mut [0xff; 16].as_slice()).is_err());
        let mut claims = Frame {
            channel: 0,
            kind: 0,
            body: vec![0x7f, 0xff, 0xff, 0xff],
            at: 0,
        };
        assert_eq!(claims.text(), Err(BridgeError::Garbled));
    }
}

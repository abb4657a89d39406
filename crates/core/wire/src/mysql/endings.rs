//! Ends of a result or a reply, with OK, EOF or error.

use super::messages::reply::{EOF, OK};
use super::unit::{FULL_FRAME, MessageStart, Unit};
use crate::decoding::fault::fault;
use crate::decoding::framing::HeaderFault;
use crate::decoding::reader::Reader;
use model::{Content, Role, TransactionState};

pub(super) struct OkFields {
    pub affected: u64,
    status: u16,
}

impl OkFields {
    pub const MIN_LEN: u64 = 7;

    pub fn parse(head: &[u8]) -> Option<Self> {
        let mut fields = Reader::new(head);
        fields.u8()?;
        let affected = fields.lenenc_int()?;
        fields.lenenc_int()?; // last generated key
        Some(Self {
            affected,
            status: fields.u16_le()?,
        })
    }

    pub const fn transaction(&self) -> TransactionState {
        transaction(self.status)
    }

    pub const fn role(&self) -> Role {
        role_with(self.status)
    }

    pub const fn done<'a>(&self, rows: u64) -> Content<'a> {
        Content::Done {
            rows: Some(rows),
            transaction: Some(self.transaction()),
        }
    }
}

/// Status at the end of a result: of an EOF, or of an OK in its place.
pub(super) struct EndFields {
    pub status: u16,
}

impl EndFields {
    pub fn parse(head: &[u8]) -> Result<Self, HeaderFault> {
        // An EOF without fields: protocol 4.0, and some replies of 4.1.
        if head == [EOF] {
            return Ok(Self { status: 0 });
        }
        let status = if head.len() < 7 {
            head.get(3..5).and_then(|status| Reader::new(status).u16_le())
        } else {
            OkFields::parse(head).map(|ok| ok.status)
        };
        status
            .map(|status| Self { status })
            .ok_or_else(|| fault("the end of a result", "a shorter message"))
    }

    pub const fn role(&self) -> Role {
        role_with(self.status)
    }

    pub const fn done<'a>(&self, rows: u64) -> Content<'a> {
        Content::Done {
            rows: Some(rows),
            transaction: Some(transaction(self.status)),
        }
    }
}

/// Content of an OK or EOF that ends a reply without counted rows.
pub(super) fn ready<'a>(unit: &Unit<'_>) -> Content<'a> {
    match EndFields::parse(unit.head) {
        Ok(end) if matches!(unit.opening.first, Some(OK | EOF)) => Content::Ready(transaction(end.status)),
        Ok(_) | Err(_) => Content::Other,
    }
}

const fn transaction(status: u16) -> TransactionState {
    if status & IN_TRANSACTION == 0 {
        TransactionState::Idle
    } else {
        TransactionState::Open
    }
}

const fn role_with(status: u16) -> Role {
    if status & MORE_RESULTS == 0 {
        Role::Reply
    } else {
        Role::ReplyPart
    }
}

/// Writes an error's number and SQLSTATE to `code`, as `1146/42S02`, and returns its text. Before
/// login the server sends no SQLSTATE.
pub(super) fn error_content<'a>(head: &'a [u8], code: &'a mut [u8; 11]) -> Content<'a> {
    let mut fields = Reader::new(head);
    fields.u8();
    let number = fields.u16_le().unwrap_or_default();
    let after_number = fields;
    let state = fields.take_bytes(6).and_then(|state| state.strip_prefix(b"#"));
    let text = state.map_or(after_number.rest(), |_| fields.rest());
    let mut length = 0;
    let digits = [10_000, 1_000, 100, 10, 1].map(|power| b'0' + (number / power % 10) as u8);
    let significant = digits.iter().position(|&digit| digit != b'0').unwrap_or(4);
    let parts = [digits.get(significant..), state.map(|_| &b"/"[..]), state];
    for &byte in parts.into_iter().flatten().flatten() {
        if let Some(place) = code.get_mut(length) {
            *place = byte;
            length += 1;
        }
    }
    Content::Error {
        code: code.get(..length).unwrap_or_default(),
        text,
    }
}

pub(super) fn is_plain_eof(unit: &Unit<'_>) -> bool {
    unit.opening.first == Some(EOF) && matches!(unit.length, 1 | 5)
}

/// A row's first byte is 0xfe only for a first value of 16 MiB or more, which fills the frame.
pub(super) fn is_end_of_rows(opening: MessageStart) -> bool {
    opening.first == Some(EOF) && opening.length < FULL_FRAME
}

const IN_TRANSACTION: u16 = 0x0001;
const MORE_RESULTS: u16 = 0x0008;

//! Reads the tokens of a response across packets.
//!
//! Source: MS-TDS 2.2.7. A row's length depends on the types of its columns, so these are kept.
//! Values longer than a packet are skipped as they arrive.

use super::first_token::NO_COLUMNS;
use super::messages::token::{
    COLINFO, COLMETADATA, DONE, DONEINPROC, DONEPROC, ENVCHANGE, ERROR, FEATUREEXTACK, FEDAUTHINFO, INFO,
    LOGINACK, NBCROW, OFFSET, ORDER, RETURNSTATUS, RETURNVALUE, ROW, SESSIONSTATE, SSPI, TABNAME,
};
use super::types::{self, ColumnShape, Of};
use super::utf16;
use crate::decoding::reader::Reader;
use model::TransactionState;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Token {
    Other,
    Row,
    Done(Done),
    Error {
        number: u32,
        text: String,
    },
    Accepted {
        version: String,
    },
    Transaction(TransactionState),
    /// An output parameter, with its value if it is a whole number.
    Returned {
        value: Option<u32>,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Done {
    pub rows: Option<u64>,
    pub has_more: bool,
    /// Answers a client that asked to stop.
    pub is_attention: bool,
}

#[derive(Debug, Default)]
pub(super) struct Tokens {
    carry: Vec<u8>,
    skip: u64,
    in_chunks: bool,
    /// The next column of the current row, and the NULL columns.
    row: Option<(usize, Vec<u8>)>,
    undescribed: u16,
    columns: Vec<ColumnShape>,
    is_lost: bool,
    /// Row counts have four bytes, as before TDS 7.2.
    pub short_counts: bool,
}

impl Tokens {
    /// Takes the body of a packet. `found` receives each whole token and the number of bytes of the
    /// body after it.
    pub(super) fn process_body(&mut self, body: &[u8], mut found: impl FnMut(Token, usize)) {
        if self.is_lost {
            return;
        }
        let mut carried = std::mem::take(&mut self.carry);
        let joined = if carried.is_empty() {
            body
        } else {
            carried.extend_from_slice(body);
            &carried
        };
        let mut reader = Reader::new(joined);
        loop {
            match self.step(&mut reader) {
                Step::Token(token) => found(token, reader.left()),
                Step::Part => {}
                Step::More => break,
                Step::Lost => {
                    self.is_lost = true;
                    return;
                }
            }
        }
        if carried.is_empty() {
            self.carry.extend_from_slice(reader.rest());
        } else {
            let used = carried.len() - reader.left();
            carried.drain(..used);
            self.carry = carried;
        }
        self.is_lost |= self.carry.len() > MAX_TOKEN_LEN;
        self.carry.shrink_to(MAX_TOKEN_LEN);
    }

    pub(super) fn restart(&mut self) {
        self.carry.clear();
        self.skip = 0;
        self.in_chunks = false;
        self.row = None;
        self.undescribed = 0;
        self.columns.clear();
        self.is_lost = false;
    }

    /// Bytes were not seen, or not understood.
    pub(super) fn desync(&mut self) {
        self.restart();
        self.is_lost = true;
    }

    pub(super) const fn is_lost(&self) -> bool {
        self.is_lost
    }

    fn step(&mut self, reader: &mut Reader<'_>) -> Step {
        if self.skip > 0 {
            let there = usize::try_from(self.skip)
                .unwrap_or(usize::MAX)
                .min(reader.left());
            reader.take_bytes(there);
            self.skip -= there as u64;
            return if self.skip > 0 { Step::More } else { Step::Part };
        }
        if self.in_chunks {
            return self.chunk(reader).map_or(Step::More, |()| Step::Part);
        }
        if let Some((column, nulls)) = self.row.take() {
            return self.value(reader, column, nulls);
        }
        if self.undescribed > 0 {
            return self.column(reader);
        }
        let mut ahead = *reader;
        match self.token(&mut ahead) {
            Step::More => Step::More,
            step @ (Step::Token(_) | Step::Part | Step::Lost) => {
                *reader = ahead;
                step
            }
        }
    }

    fn chunk(&mut self, reader: &mut Reader<'_>) -> Option<()> {
        let length = reader.u32_le()?;
        self.skip = u64::from(length);
        self.in_chunks = length > 0;
        Some(())
    }

    fn value(&mut self, reader: &mut Reader<'_>, column: usize, nulls: Vec<u8>) -> Step {
        let Some(&shape) = self.columns.get(column) else {
            return Step::Token(Token::Row);
        };
        let is_null = nulls
            .get(column / 8)
            .is_some_and(|byte| byte >> (column % 8) & 1 == 1);
        if !is_null && self.begin_value(reader, shape).is_none() {
            self.row = Some((column, nulls));
            return Step::More;
        }
        self.row = Some((column + 1, nulls));
        Step::Part
    }

    /// Takes the length of a value, which is then skipped.
    fn begin_value(&mut self, reader: &mut Reader<'_>, shape: ColumnShape) -> Option<()> {
        let mut ahead = *reader;
        self.skip = match shape {
            ColumnShape::Fixed(length) => u64::from(length),
            ColumnShape::Byte => u64::from(ahead.u8()?),
            ColumnShape::Short => match ahead.u16_le()? {
                types::NULL_SHORT => 0,
                length => u64::from(length),
            },
            ColumnShape::Long => u64::from(ahead.u32_le()?),
            ColumnShape::Pointed => match ahead.u8()? {
                0 => 0,
                pointer => {
                    ahead.take_bytes(usize::from(pointer) + TIME_STAMP)?;
                    u64::from(ahead.u32_le()?)
                }
            },
            ColumnShape::Chunks => {
                self.in_chunks = ahead.u64_le()? != types::NULL_CHUNKS;
                0
            }
        };
        *reader = ahead;
        Some(())
    }

    fn column(&mut self, reader: &mut Reader<'_>) -> Step {
        let mut ahead = *reader;
        match column(&mut ahead, self.short_counts) {
            Some(shape) => {
                *reader = ahead;
                self.columns.push(shape);
                self.undescribed -= 1;
                if self.undescribed > 0 {
                    Step::Part
                } else {
                    Step::Token(Token::Other)
                }
            }
            None if is_unknown_column(*reader, self.short_counts) => Step::Lost,
            None => Step::More,
        }
    }

    fn token(&mut self, reader: &mut Reader<'_>) -> Step {
        let Some(kind) = reader.u8() else {
            return Step::More;
        };
        let token = match kind {
            COLMETADATA => return self.describe(reader),
            ROW => {
                self.row = Some((0, Vec::new()));
                return Step::Part;
            }
            NBCROW => {
                let Some(nulls) = reader.take_bytes(self.columns.len().div_ceil(8)) else {
                    return Step::More;
                };
                self.row = Some((0, nulls.to_vec()));
                return Step::Part;
            }
            DONE | DONEPROC | DONEINPROC => self.done(reader).map(Token::Done),
            RETURNSTATUS | OFFSET => reader.take_bytes(4).map(|_| Token::Other),
            RETURNVALUE => match returned(reader, self.short_counts) {
                Some(token) => Some(token),
                None if reader.left() > MAX_TOKEN_LEN => return Step::Lost,
                None => None,
            },
            FEATUREEXTACK => features(reader),
            SESSIONSTATE | FEDAUTHINFO => {
                let Some(length) = reader.u32_le() else {
                    return Step::More;
                };
                self.skip = u64::from(length);
                return Step::Token(Token::Other);
            }
            ERROR | INFO | LOGINACK | ENVCHANGE | ORDER | TABNAME | COLINFO | SSPI => sized(reader, kind),
            _ => return Step::Lost,
        };
        token.map_or(Step::More, Step::Token)
    }

    fn describe(&mut self, reader: &mut Reader<'_>) -> Step {
        let Some(count) = reader.u16_le() else {
            return Step::More;
        };
        self.columns.clear();
        self.undescribed = if count == NO_COLUMNS { 0 } else { count };
        if self.undescribed > MAXIMUM_COLUMNS {
            return Step::Lost;
        }
        if self.undescribed > 0 {
            Step::Part
        } else {
            Step::Token(Token::Other)
        }
    }

    fn done(&self, reader: &mut Reader<'_>) -> Option<Done> {
        let status = reader.u16_le()?;
        reader.u16_le()?;
        let rows = if self.short_counts {
            u64::from(reader.u32_le()?)
        } else {
            reader.u64_le()?
        };
        Some(done_of(status, rows))
    }

    /// Reads the last bytes of a response that is otherwise not understood.
    pub(super) fn last_done(&self, tail: &[u8]) -> Option<Done> {
        let length = if self.short_counts { 9 } else { 13 };
        let mut reader = Reader::new(tail.get(tail.len().checked_sub(length)?..)?);
        matches!(reader.u8()?, DONE | DONEPROC | DONEINPROC)
            .then(|| self.done(&mut reader))
            .flatten()
    }
}

enum Step {
    Token(Token),
    Part,
    More,
    /// The rest of this response cannot be decoded.
    Lost,
}

const fn done_of(status: u16, rows: u64) -> Done {
    Done {
        rows: if status & STATUS_COUNT != 0 {
            Some(rows)
        } else {
            None
        },
        has_more: status & STATUS_MORE != 0,
        is_attention: status & STATUS_ATTENTION != 0,
    }
}

fn column(reader: &mut Reader<'_>, short_counts: bool) -> Option<ColumnShape> {
    reader.take_bytes(before_type(short_counts))?;
    let (code, shape) = types::shape(reader, Of::Result)?;
    if types::names_table(code) {
        let parts = if short_counts { 1 } else { reader.u8()? };
        for _ in 0..parts {
            types::long_name(reader)?;
        }
    }
    types::short_name(reader)?;
    Some(shape)
}

fn is_unknown_column(mut reader: Reader<'_>, short_counts: bool) -> bool {
    let code = reader
        .take_bytes(before_type(short_counts))
        .and_then(|_| reader.u8());
    code.is_some_and(|code| !types::is_known(code))
}

const fn before_type(short_counts: bool) -> usize {
    if short_counts { 4 } else { 6 }
}

fn returned(reader: &mut Reader<'_>, short_counts: bool) -> Option<Token> {
    reader.u16_le()?;
    types::short_name(reader)?;
    reader.u8()?;
    reader.take_bytes(before_type(short_counts))?;
    let (_, shape) = types::shape(reader, Of::Result)?;
    let value = types::value(reader, shape, Of::Result)?;
    let number = value.and_then(|bytes| <[u8; 4]>::try_from(bytes).ok());
    Some(Token::Returned {
        value: number.map(u32::from_le_bytes),
    })
}

/// Answers to the features of a login: numbers and lengths up to a terminator.
fn features(reader: &mut Reader<'_>) -> Option<Token> {
    while reader.u8()? != LAST_FEATURE {
        let length = reader.u32_le()?;
        reader.take_bytes(usize::try_from(length).ok()?)?;
    }
    Some(Token::Other)
}

fn sized(reader: &mut Reader<'_>, kind: u8) -> Option<Token> {
    let length = usize::from(reader.u16_le()?);
    let mut body = reader.sub(length)?;
    let token = match kind {
        ERROR => error(&mut body),
        LOGINACK => accepted(&mut body),
        ENVCHANGE => match body.u8() {
            Some(TRANSACTION_BEGUN) => Some(Token::Transaction(TransactionState::Open)),
            Some(COMMITTED | ROLLED_BACK | TRANSACTION_ENDED) => {
                Some(Token::Transaction(TransactionState::Idle))
            }
            _ => None,
        },
        _ => None,
    };
    Some(token.unwrap_or(Token::Other))
}

fn error(body: &mut Reader<'_>) -> Option<Token> {
    let number = body.u32_le()?;
    body.take_bytes(2)?;
    let text = utf16::text(types::long_name(body)?);
    Some(Token::Error { number, text })
}

fn accepted(body: &mut Reader<'_>) -> Option<Token> {
    body.take_bytes(5)?;
    let name = utf16::text(types::short_name(body)?);
    let [major, minor, high, low] = body.array()?;
    let name = name.trim_end_matches('\0').trim();
    Some(Token::Accepted {
        version: format!("{name} {major}.{minor}.{}", u16::from_be_bytes([high, low])),
    })
}

const STATUS_MORE: u16 = 0x01;
const STATUS_COUNT: u16 = 0x10;
const STATUS_ATTENTION: u16 = 0x20;

const TRANSACTION_BEGUN: u8 = 8;
const COMMITTED: u8 = 9;
const ROLLED_BACK: u8 = 10;
const TRANSACTION_ENDED: u8 = 17;

const LAST_FEATURE: u8 = 0xff;
const TIME_STAMP: usize = 8;
/// SQL Server allows 4096 columns in a result, and 30,000 in wide tables.
const MAXIMUM_COLUMNS: u16 = 30_000;
const MAX_TOKEN_LEN: usize = 72 * 1024;

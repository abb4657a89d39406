//! Fields of each code, as far as they determine a message's end.

use model::Direction;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Field {
    Skip(u16),
    /// Two bytes of length, the bytes, and one more if odd.
    Text,
    /// Four bytes of length, the bytes, and one more if odd.
    LongText,
    /// A statement as [`Field::LongText`] or [`Field::Text`], by negotiation.
    Sql,
    /// Size of a tuple in four or two bytes, by negotiation.
    TupleSize,
    /// Position of an error in the statement, in four or two bytes by negotiation.
    ErrorOffset,
    ErrorCode,
    /// Twelve or twenty bytes of counts, by negotiation.
    DoneCounts,
    /// Number of repetitions of [`Field::Each`], in two bytes.
    Count,
    /// Length of [`Field::Names`] in four bytes.
    NamesLength,
    /// These fields, repeated [`Field::Count`] times.
    Each(&'static [Field]),
    /// As many bytes as [`Field::NamesLength`], and one more if odd.
    Names,
    /// Type, indicator, precision, and a value in the form of the type.
    Parameter,
    ReturnColumn,
    /// Pairs of a kind and a text, ended by kind 0.
    Infos,
    LargeObject,
    /// Four bytes of size and as many bytes in chunks, each with two bytes of length, padded to be
    /// even.
    Chunks,
    /// The rest of a login packet, with its length in place of the code; two bytes identify it.
    Login,
    /// Everything until the other side speaks: the end of the message is unknown.
    Rest,
}

use Field::{
    Chunks, Count, DoneCounts, Each, ErrorCode, Infos, LargeObject, LongText, Names, NamesLength, Parameter,
    Rest, ReturnColumn, Skip, Sql, Text, TupleSize,
};

/// `None` if `direction` has no such code.
pub(super) fn shape(direction: Direction, code: u16) -> Option<&'static [Field]> {
    let fields: &'static [Field] = match (direction, code) {
        (_, EOT | EXIT) => &[],
        (_, PROTOCOLS) => &[Text],
        (_, INFO) => &[Infos],
        (_, BLOB) => &[Text],
        (Direction::ClientToServer, code) => match code {
            COMMAND | PREPARE => &[Skip(2), Sql],
            CURSOR_NAME => &[Text],
            ID | ISOLATION | LOCK_WAIT => &[Skip(2)],
            BIND => &[Count, Each(&[Parameter])],
            OPEN | EXECUTE | CLOSE | RELEASE | COMMIT | ROLLBACK | WANT_DESCRIBE | SCROLL | BEGIN
            | DATABASE_CLOSE | HOLD | WANT_DONE | AUTOFREE | WANT_INPUT_DESCRIBE | ACKNOWLEDGE
            | BATCH_START | BATCH_END => &[],
            FETCH => &[Skip(6)],
            SCROLL_FETCH => &[Skip(10)],
            DATABASE_OPEN => &[Text, Skip(2)],
            FETCH_BLOB => &[Skip(BLOB_DESCRIPTOR)],
            LARGE_OBJECT => &[LargeObject],
            RETURN_TYPES => &[Skip(2), Count, Each(&[ReturnColumn])],
            RESPONSE => &[Rest],
            _ => return None,
        },
        (Direction::ServerToClient, code) => match code {
            DESCRIBE => &[
                Skip(8),
                TupleSize,
                Count,
                NamesLength,
                Each(&[Skip(14), Text, Text, Skip(12)]),
                Names,
            ],
            ERROR => &[ErrorCode],
            TUPLE => &[Skip(2), LongText],
            DONE => &[Skip(2), DoneCounts],
            COST => &[Skip(8)],
            INSERT_DONE => &[Skip(10)],
            LARGE_OBJECT => &[Skip(2), Chunks],
            TRANSACTION => &[Skip(6)],
            CLOSE | ACCEPT => &[],
            CHALLENGE => &[Rest],
            _ => return None,
        },
    };
    Some(fields)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Features {
    /// Statements and offsets in them have four bytes of length; `None` before negotiation.
    pub(super) long_statements: Option<bool>,
    pub(super) long_tuples: bool,
    pub(super) long_counts: bool,
}

impl Features {
    /// Bits of the server's answer to the offered features, most significant first.
    pub(super) fn from_bits(bits: &[u8]) -> Self {
        let has = |byte: usize, bit: u8| bits.get(byte).is_some_and(|byte| byte & bit != 0);
        Self {
            long_statements: Some(has(7, 0x02)),
            long_tuples: has(8, 0x04),
            long_counts: has(8, 0x02),
        }
    }
}

pub(super) const COMMAND: u16 = 1;
pub(super) const PREPARE: u16 = 2;
const CURSOR_NAME: u16 = 3;
/// Selects the prepared statement of the next codes.
pub(super) const ID: u16 = 4;
pub(super) const BIND: u16 = 5;
pub(super) const OPEN: u16 = 6;
pub(super) const EXECUTE: u16 = 7;
pub(super) const DESCRIBE: u16 = 8;
pub(super) const FETCH: u16 = 9;
const CLOSE: u16 = 10;
pub(super) const RELEASE: u16 = 11;
/// End of a group: the other side speaks next.
pub(super) const EOT: u16 = 12;
pub(super) const ERROR: u16 = 13;
pub(super) const TUPLE: u16 = 14;
pub(super) const DONE: u16 = 15;
pub(super) const COMMIT: u16 = 19;
pub(super) const ROLLBACK: u16 = 20;
const WANT_DESCRIBE: u16 = 22;
pub(super) const SCROLL_FETCH: u16 = 23;
const SCROLL: u16 = 24;
pub(super) const BEGIN: u16 = 35;
pub(super) const DATABASE_OPEN: u16 = 36;
const DATABASE_CLOSE: u16 = 37;
const FETCH_BLOB: u16 = 38;
const BLOB: u16 = 39;
const HOLD: u16 = 43;
const ISOLATION: u16 = 47;
const LOCK_WAIT: u16 = 48;
const WANT_DONE: u16 = 49;
const COST: u16 = 55;
pub(super) const EXIT: u16 = 56;
pub(super) const INFO: u16 = 81;
pub(super) const INSERT_DONE: u16 = 94;
const LARGE_OBJECT: u16 = 97;
pub(super) const TRANSACTION: u16 = 99;
const RETURN_TYPES: u16 = 100;
const AUTOFREE: u16 = 108;
const WANT_INPUT_DESCRIBE: u16 = 124;
pub(super) const PROTOCOLS: u16 = 126;
const ACCEPT: u16 = 127;
/// First and last code of challenge authentication.
pub(super) const ACKNOWLEDGE: u16 = 128;
const CHALLENGE: u16 = 129;
pub(super) const RESPONSE: u16 = 130;
const BATCH_START: u16 = 141;
const BATCH_END: u16 = 142;

/// In a tuple, stands for a `BYTE` or `TEXT`; sent back to request it.
const BLOB_DESCRIPTOR: u16 = 56;

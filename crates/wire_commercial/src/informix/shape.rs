//! What follows each code: the fields of its message, as far as its end depends on them.

use model::Direction;

/// One field of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Field {
    /// So many bytes.
    Skip(u16),
    /// Two bytes of length, the bytes, and one more when they are odd.
    Text,
    /// Four bytes of length, the bytes, and one more when they are odd.
    LongText,
    /// A statement: as [`Field::LongText`] or [`Field::Text`], as was negotiated.
    Sql,
    /// Size of a tuple: four bytes or two, as was negotiated.
    TupleSize,
    /// Where in the statement an error is: four bytes or two, as was negotiated.
    ErrorOffset,
    /// The two codes of an error, which determine what follows.
    ErrorCode,
    /// Twelve bytes of counts, or twenty, as was negotiated.
    DoneCounts,
    /// Two bytes: how often [`Field::Each`] occurs.
    Count,
    /// Four bytes: how long [`Field::Names`] is.
    NamesLength,
    /// These fields, as often as [`Field::Count`] said.
    Each(&'static [Field]),
    /// So many bytes as [`Field::NamesLength`] said, and one more when they are odd.
    Names,
    /// A parameter: type, indicator, precision, and a value whose form depends on the type.
    Parameter,
    /// A column that is to be returned in a given type.
    ReturnColumn,
    /// Pairs of a kind and a text, ended by kind 0.
    Infos,
    /// What is asked of a large object.
    LargeObject,
    /// Four bytes of size and as many bytes in chunks, each with two bytes of length, padded to be even.
    Chunks,
    /// The rest of a login packet, whose code was its length; two bytes show that it is one.
    Login,
    /// All that comes before the other side speaks: where this message ends is not known.
    Rest,
}

use Field::{
    Chunks, Count, DoneCounts, Each, ErrorCode, Infos, LargeObject, LongText, Names, NamesLength, Parameter,
    Rest, ReturnColumn, Skip, Sql, Text, TupleSize,
};

/// The fields behind `code`; `None` if it is not a known code of `direction`.
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

/// What both sides agreed on, as far as it changes where messages end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Features {
    /// Statements and offsets in them have four bytes of length; `None` before the server said so.
    pub(super) long_statements: Option<bool>,
    /// Sizes of tuples have four bytes.
    pub(super) long_tuples: bool,
    /// Counts of rows have eight bytes.
    pub(super) long_counts: bool,
}

impl Features {
    /// What the server answers to the offer of features: bits, most significant first.
    pub(super) fn from_bits(bits: &[u8]) -> Self {
        let has = |byte: usize, bit: u8| bits.get(byte).is_some_and(|byte| byte & bit != 0);
        Self {
            long_statements: Some(has(7, 0x02)),
            long_tuples: has(8, 0x04),
            long_counts: has(8, 0x02),
        }
    }
}

/// A statement that runs now.
pub(super) const COMMAND: u16 = 1;
/// A statement that is prepared.
pub(super) const PREPARE: u16 = 2;
const CURSOR_NAME: u16 = 3;
/// Which prepared statement the next codes mean.
pub(super) const ID: u16 = 4;
/// Values of parameters.
pub(super) const BIND: u16 = 5;
/// A prepared statement with rows runs.
pub(super) const OPEN: u16 = 6;
/// A prepared statement without rows runs.
pub(super) const EXECUTE: u16 = 7;
/// The server's number and columns of a statement.
pub(super) const DESCRIBE: u16 = 8;
/// More rows, as many as fit a buffer.
pub(super) const FETCH: u16 = 9;
const CLOSE: u16 = 10;
/// A prepared statement is forgotten.
pub(super) const RELEASE: u16 = 11;
/// End of a group: the other side's round trip.
pub(super) const EOT: u16 = 12;
/// An error, or that there are no more rows.
pub(super) const ERROR: u16 = 13;
/// A row.
pub(super) const TUPLE: u16 = 14;
/// A statement is done.
pub(super) const DONE: u16 = 15;
/// Commit.
pub(super) const COMMIT: u16 = 19;
/// Roll back.
pub(super) const ROLLBACK: u16 = 20;
const WANT_DESCRIBE: u16 = 22;
/// Rows from a place of a scroll cursor.
pub(super) const SCROLL_FETCH: u16 = 23;
const SCROLL: u16 = 24;
/// Begin a transaction.
pub(super) const BEGIN: u16 = 35;
/// A database is opened.
pub(super) const DATABASE_OPEN: u16 = 36;
const DATABASE_CLOSE: u16 = 37;
const FETCH_BLOB: u16 = 38;
const BLOB: u16 = 39;
const HOLD: u16 = 43;
const ISOLATION: u16 = 47;
const LOCK_WAIT: u16 = 48;
const WANT_DONE: u16 = 49;
const COST: u16 = 55;
/// The client takes leave, or the server does.
pub(super) const EXIT: u16 = 56;
/// The client's environment.
pub(super) const INFO: u16 = 81;
/// Serial numbers of a row that was inserted.
pub(super) const INSERT_DONE: u16 = 94;
const LARGE_OBJECT: u16 = 97;
/// A transaction began or ended.
pub(super) const TRANSACTION: u16 = 99;
const RETURN_TYPES: u16 = 100;
const AUTOFREE: u16 = 108;
const WANT_INPUT_DESCRIBE: u16 = 124;
/// Features that are offered, and those that are taken.
pub(super) const PROTOCOLS: u16 = 126;
const ACCEPT: u16 = 127;
/// First and last code of authentication by challenge.
pub(super) const ACKNOWLEDGE: u16 = 128;
const CHALLENGE: u16 = 129;
/// A secret: the answer to a challenge.
pub(super) const RESPONSE: u16 = 130;
const BATCH_START: u16 = 141;
const BATCH_END: u16 = 142;

/// What a tuple holds in place of a `BYTE` or `TEXT`, sent back to ask for it.
const BLOB_DESCRIPTOR: u16 = 56;

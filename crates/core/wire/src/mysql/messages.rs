//! Commands of the client, one row each, and first bytes of replies, named as in the MySQL source
//! documentation, "Client/Server Protocol".

use super::unit::FULL_FRAME;
use crate::decoding::tags::TaggedRows;
use std::ops::RangeInclusive;

#[derive(Debug)]
pub struct CommandRow {
    pub name: &'static str,
    /// Bytes of the message, where it could be something else; empty if it is never assumed.
    pub(super) lengths: RangeInclusive<u64>,
    /// Checks the first bytes after the command.
    pub(super) check_start: fn(&[u8]) -> bool,
    /// Checks everything after the command.
    pub(super) check: fn(&[u8]) -> bool,
}

macro_rules! commands {
    ($($constant:ident $command:literal $lengths:expr, $start:ident, $check:ident;)*) => {
        $(pub const $constant: u8 = $command;)*
        pub static COMMANDS: TaggedRows<CommandRow> = TaggedRows::new(
            &[$(CommandRow {
                name: stringify!($constant),
                lengths: $lengths,
                check_start: $start,
                check: $check,
            }),*],
            &[$($command),*],
        );
    };
}

// Name, command, length, check of the first bytes, check of all.
commands! {
    COM_QUIT                0x01 1..=1, any, any;
    COM_INIT_DB             0x02 2..=MAX, begins_text, is_text;
    COM_QUERY               0x03 2..=MAX, begins_statement, any;
    COM_FIELD_LIST          0x04 2..=MAX, begins_text, two_texts;
    COM_CREATE_DB           0x05 NEVER, any, any;
    COM_DROP_DB             0x06 NEVER, any, any;
    COM_REFRESH             0x07 NEVER, any, any;
    COM_SHUTDOWN            0x08 NEVER, any, any;
    COM_STATISTICS          0x09 1..=1, any, any;
    COM_PROCESS_INFO        0x0a 1..=1, any, any;
    COM_PROCESS_KILL        0x0c 5..=5, any, any;
    COM_DEBUG               0x0d 1..=1, any, any;
    COM_PING                0x0e 1..=1, any, any;
    COM_CHANGE_USER         0x11 4..=MAX, any, has_zero;
    COM_BINLOG_DUMP         0x12 11..=MAX, any, any;
    COM_REGISTER_SLAVE      0x15 11..=MAX, any, any;
    COM_STMT_PREPARE        0x16 2..=MAX, begins_statement, any;
    COM_STMT_EXECUTE        0x17 10..=FULL_FRAME as u64, any, execution;
    COM_STMT_SEND_LONG_DATA 0x18 7..=MAX, any, any;
    COM_STMT_CLOSE          0x19 5..=5, any, any;
    COM_STMT_RESET          0x1a 5..=5, any, any;
    COM_SET_OPTION          0x1b 3..=3, any, option;
    COM_STMT_FETCH          0x1c 9..=9, any, any;
    COM_BINLOG_DUMP_GTID    0x1e 11..=MAX, any, any;
    COM_RESET_CONNECTION    0x1f 1..=1, any, any;
    SEMI_SYNC_ACK           0xef NEVER, any, any;
    COM_STMT_BULK_EXECUTE   0xfa 8..=MAX, any, any;
}

/// First byte of a reply.
pub mod reply {
    pub const OK: u8 = 0x00;
    /// Also before a public key or a demand for one.
    pub const AUTH_MORE_DATA: u8 = 0x01;
    pub const LOCAL_INFILE: u8 = 0xfb;
    pub const EOF: u8 = 0xfe;
    pub const AUTH_SWITCH: u8 = EOF;
    pub const ERR: u8 = 0xff;
}

/// First byte of the server's greeting.
pub const PROTOCOL_VERSION: u8 = 10;

/// In place of the length of a value in a text row.
pub const NULL: u8 = 0xfb;

const MAX: u64 = u64::MAX;
#[expect(clippy::reversed_empty_ranges, reason = "no length fits")]
const NEVER: RangeInclusive<u64> = 1..=0;

const fn any(_: &[u8]) -> bool {
    true
}

fn begins_text(body: &[u8]) -> bool {
    body.first()
        .is_some_and(|&byte| byte < b'\t' || byte == b'\n' || byte >= b' ')
}

fn begins_statement(body: &[u8]) -> bool {
    body.first()
        .is_none_or(|byte| byte.is_ascii_whitespace() || begins_text(body))
}

fn is_text(text: &[u8]) -> bool {
    text.iter().all(|&byte| byte >= b' ')
}

fn two_texts(body: &[u8]) -> bool {
    let mut parts = body.splitn(2, |&byte| byte == 0);
    parts.next().is_some_and(is_text) && parts.next().is_some_and(is_text)
}

fn has_zero(body: &[u8]) -> bool {
    body.contains(&0)
}

/// The statement, kinds of cursor, and always one iteration.
fn execution(body: &[u8]) -> bool {
    body.get(4).is_some_and(|&flags| flags < 16) && body.get(5..9) == Some(&[1, 0, 0, 0])
}

const fn option(body: &[u8]) -> bool {
    matches!(body, [0 | 1, 0])
}

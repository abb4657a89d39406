//! Messages with a tag: one row each, named as in the PostgreSQL manual, section "Message Formats".

use super::checks::{self, Recognition};
pub use super::codes::{encryption, error_field, object, transaction};
use crate::decoding::tags::TaggedRows;
use model::Direction;
use std::ops::RangeInclusive;

#[derive(Debug)]
pub struct MessageRow {
    pub name: &'static str,
    /// Values of the length field, which counts itself.
    pub(super) lengths: RangeInclusive<u32>,
    /// Inspected leading bytes of the body.
    pub(super) keep: usize,
    /// Checks a whole body.
    pub(super) check: fn(&[u8]) -> Recognition,
}

pub const fn messages_sent(direction: Direction) -> &'static TaggedRows<MessageRow> {
    match direction {
        Direction::ClientToServer => &frontend::MESSAGES,
        Direction::ServerToClient => &backend::MESSAGES,
    }
}

macro_rules! messages {
    ($module:ident: $($constant:ident $tag:literal $name:literal $lengths:expr, $keep:expr, $check:ident;)*) => {
        pub mod $module {
            use super::*;
            $(pub const $constant: u8 = $tag;)*
            pub static MESSAGES: TaggedRows<MessageRow> = TaggedRows::new(
                &[$(MessageRow {
                    name: $name,
                    lengths: $lengths,
                    keep: $keep,
                    check: checks::$check,
                }),*],
                &[$($tag),*],
            );
        }
    };
}

// Constant, tag, name, length field, inspected bytes, check of a body.
messages! { frontend:
    BIND             b'B' "Bind"            12..=MAX, 2 * NAME_LIMIT + 2 + VALUES_LIMIT, bind;
    CLOSE            b'C' "Close"           6..=MAX, NAME_LIMIT + 2, describe;
    COPY_DATA        b'd' "CopyData"        4..=MAX, 0, client_copy_data;
    COPY_DONE        b'c' "CopyDone"        4..=4, 0, certain;
    COPY_FAIL        b'f' "CopyFail"        4..=MAX, 0, text;
    DESCRIBE         b'D' "Describe"        6..=MAX, NAME_LIMIT + 2, describe;
    EXECUTE          b'E' "Execute"         9..=MAX, NAME_LIMIT + 5, execute;
    FLUSH            b'H' "Flush"           4..=4, 0, certain;
    FUNCTION_CALL    b'F' "FunctionCall"    4..=MAX, 4, function_call;
    PARSE            b'P' "Parse"           8..=MAX, NAME_LIMIT + STATEMENT_LIMIT, parse;
    PASSWORD_MESSAGE b'p' "PasswordMessage" 4..=MAX, 0, not_empty;
    QUERY            b'Q' "Query"           5..=MAX, STATEMENT_LIMIT, query;
    SYNC             b'S' "Sync"            4..=4, 0, certain;
    TERMINATE        b'X' "Terminate"       4..=4, 0, certain;
}

messages! { backend:
    AUTHENTICATION             b'R' "Authentication"           8..=BRIEF, 4, authentication;
    BACKEND_KEY_DATA           b'K' "BackendKeyData"           12..=BRIEF, 0, key_data;
    BIND_COMPLETE              b'2' "BindComplete"             4..=4, 0, empty;
    CLOSE_COMPLETE             b'3' "CloseComplete"            4..=4, 0, empty;
    COMMAND_COMPLETE           b'C' "CommandComplete"          5..=256, 256, command_tag;
    COPY_BOTH_RESPONSE         b'W' "CopyBothResponse"         7..=MAX, 0, copy_response;
    COPY_DATA                  b'd' "CopyData"                 4..=MAX, 0, server_copy_data;
    COPY_DONE                  b'c' "CopyDone"                 4..=4, 0, empty;
    COPY_IN_RESPONSE           b'G' "CopyInResponse"           7..=MAX, 0, copy_response;
    COPY_OUT_RESPONSE          b'H' "CopyOutResponse"          7..=MAX, 0, copy_response;
    DATA_ROW                   b'D' "DataRow"                  4..=MAX, 0, data_row;
    EMPTY_QUERY_RESPONSE       b'I' "EmptyQueryResponse"       4..=4, 0, empty;
    ERROR_RESPONSE             b'E' "ErrorResponse"            5..=MAX, ERROR_LIMIT, fields;
    FUNCTION_CALL_RESPONSE     b'V' "FunctionCallResponse"     8..=MAX, 0, function_result;
    NEGOTIATE_PROTOCOL_VERSION b'v' "NegotiateProtocolVersion" 8..=MAX, 0, version;
    NO_DATA                    b'n' "NoData"                   4..=4, 0, empty;
    NOTICE_RESPONSE            b'N' "NoticeResponse"           5..=MAX, ERROR_LIMIT, fields;
    NOTIFICATION_RESPONSE      b'A' "NotificationResponse"     8..=MAX, 0, notification;
    PARAMETER_DESCRIPTION      b't' "ParameterDescription"     6..=MAX, 0, parameter_description;
    PARAMETER_STATUS           b'S' "ParameterStatus"          6..=BRIEF, NAME_LIMIT, setting;
    PARSE_COMPLETE             b'1' "ParseComplete"            4..=4, 0, empty;
    PORTAL_SUSPENDED           b's' "PortalSuspended"          4..=4, 0, empty;
    READY_FOR_QUERY            b'Z' "ReadyForQuery"            5..=5, 1, ready;
    ROW_DESCRIPTION            b'T' "RowDescription"           6..=MAX, 0, row_description;
}

/// PostgreSQL itself allocates at most 1 GiB for one message.
pub const MAXIMUM_MESSAGE: u32 = 1 << 30;

pub(super) const STATEMENT_LIMIT: usize = 64 * 1024;
/// Values of parameters show repeated calls.
const VALUES_LIMIT: usize = 1024;
pub(super) const NAME_LIMIT: usize = 256;
/// The code comes first.
const ERROR_LIMIT: usize = 4096;

const MAX: u32 = MAXIMUM_MESSAGE;
const BRIEF: u32 = 64 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_message_has_one_row_with_a_possible_length() {
        for rows in [frontend::MESSAGES.rows(), backend::MESSAGES.rows()] {
            for (index, row) in rows.iter().enumerate() {
                assert!(!row.lengths.is_empty() && *row.lengths.start() >= 4, "{row:?}");
                let same = |other: &MessageRow| other.name == row.name;
                assert_eq!(rows.iter().position(same), Some(index), "{row:?}");
            }
        }
        let ready = messages_sent(Direction::ServerToClient)
            .find(b'Z')
            .expect("a row");
        assert_eq!(ready.name, "ReadyForQuery");
        assert!(messages_sent(Direction::ClientToServer).find(b'Z').is_none());
    }
}

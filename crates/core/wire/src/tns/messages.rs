//! Packets, and the messages and functions of TTC inside them, one row each. Names are those of
//! python-oracledb, and of Oracle's JDBC driver where that has none.

use crate::decoding::tags::TaggedRows;

#[derive(Debug)]
pub struct PacketRow {
    pub name: &'static str,
}

#[derive(Debug)]
pub struct MessageRow {
    pub name: &'static str,
    /// Checks the message if a packet of the client begins with it; `None` if none does.
    pub(super) check_client: Option<fn(&[u8]) -> bool>,
    /// Whether a packet of the server can begin with it.
    pub(super) begins_reply: bool,
}

#[derive(Debug)]
pub struct FunctionRow {
    pub name: &'static str,
    /// Whether a connection seen from the middle is recognised by it.
    pub(super) opens: bool,
    pub(super) is_piggyback: bool,
}

macro_rules! packets {
    ($($constant:ident $kind:literal;)*) => {
        pub mod packet {
            $(pub const $constant: u8 = $kind;)*
            pub const LAST: u8 = 19;
        }
        pub static PACKETS: TaggedRows<PacketRow> =
            TaggedRows::new(&[$(PacketRow { name: stringify!($constant) }),*], &[$($kind),*]);
    };
}

macro_rules! messages {
    ($($constant:ident $kind:literal $client:expr, $server:literal;)*) => {
        pub mod message {
            $(pub const $constant: u8 = $kind;)*
        }
        pub static MESSAGES: TaggedRows<MessageRow> = TaggedRows::new(
            &[$(MessageRow {
                name: stringify!($constant),
                check_client: $client,
                begins_reply: $server,
            }),*],
            &[$($kind),*],
        );
    };
}

macro_rules! functions {
    ($($constant:ident $code:literal $opens:literal $piggyback:literal;)*) => {
        pub mod function {
            $(pub const $constant: u8 = $code;)*
        }
        pub static FUNCTIONS: TaggedRows<FunctionRow> = TaggedRows::new(
            &[$(FunctionRow {
                name: stringify!($constant),
                opens: $opens,
                is_piggyback: $piggyback,
            }),*],
            &[$($code),*],
        );
    };
}

packets! {
    CONNECT 1;
    ACCEPT 2;
    REFUSE 4;
    REDIRECT 5;
    DATA 6;
    RESEND 11;
    MARKER 12;
}

// Message, its code, check of a client's message, whether it begins a reply.
messages! {
    PROTOCOL               1 Some(protocol), true;
    DATA_TYPES             2 Some(data_types), true;
    FUNCTION               3 Some(function_call), false;
    ERROR                  4 None, true;
    ROW_HEADER             6 None, true;
    ROW_DATA               7 None, true;
    PARAMETER              8 None, true;
    STATUS                 9 None, true;
    IO_VECTOR             11 None, true;
    LONG_DATA             12 None, true;
    LOB_DATA              14 None, true;
    WARNING               15 None, true;
    DESCRIBE_INFO         16 None, true;
    PIGGYBACK             17 Some(function_call), false;
    FLUSH_OUT_BINDS       19 Some(any), true;
    BIT_VECTOR            21 None, true;
    SERVER_SIDE_PIGGYBACK 23 None, true;
    ONEWAY_FN             26 Some(any), false;
    IMPLICIT_RESULTSET    27 None, true;
    END_OF_RESPONSE       29 None, true;
    TOKEN                 33 None, true;
    FAST_AUTH             34 Some(any), false;
}

// Function, its code, whether it opens, whether it is a known piggyback.
functions! {
    OPEN                   2 true false;
    REEXECUTE              4 true false;
    FETCH                  5 true false;
    CLOSE                  8 true false;
    LOGOFF                 9 true false;
    COMMIT                14 true false;
    ROLLBACK              15 true false;
    VERSION               59 true false;
    REEXECUTE_AND_FETCH   78 true false;
    EXECUTE               94 true false;
    LOB_OP                96 true true;
    TPC_TXN_SWITCH       103 false true;
    TPC_TXN_CHANGE_STATE 104 false true;
    CLOSE_CURSORS        105 true true;
    SESSION_SWITCH       107 true true;
    AUTH_PHASE_TWO       115 true false;
    AUTH_PHASE_ONE       118 true false;
    CANCEL_CURSORS       120 true true;
    SET_END_TO_END_ATTR  135 true true;
    PING                 147 true false;
    SET_SCHEMA           152 false true;
    KEY_VALUE            154 false true;
    SESSION_GET          162 false true;
    SESSION_RELEASE      163 false true;
    SESSION_STATE        176 false true;
    PIPELINE_BEGIN       199 true true;
    PIPELINE_END         200 true false;
    UNDOCUMENTED         204 false true;
}

/// Begins the negotiation of native services, in place of a message.
pub const SERVICES: [u8; 4] = 0xdead_beef_u32.to_be_bytes();

const fn any(_: &[u8]) -> bool {
    true
}

const fn protocol(message: &[u8]) -> bool {
    matches!(message, [_, 1..=16, ..])
}

const fn data_types(message: &[u8]) -> bool {
    message.len() > 14
}

const fn function_call(message: &[u8]) -> bool {
    matches!(message, [_, 1..0xd0, ..])
}

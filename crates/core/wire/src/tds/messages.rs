//! Packet types and tokens, one row each, named as in MS-TDS 2.2.3.1.1 and 2.2.7.

use super::HEADER;
use super::first_token as first;
use crate::decoding::fault::fault;
use crate::decoding::framing::{FramePlan, HeaderFault};
use crate::decoding::reader::Reader;
use crate::decoding::tags::TaggedRows;
use model::Direction;

#[derive(Debug)]
pub struct PacketRow {
    pub name: &'static str,
    /// Sides that send it.
    pub(super) senders: &'static [Direction],
    /// Whether a connection can begin with it, or be recognised by it.
    pub(super) opens: &'static [Direction],
}

#[derive(Debug)]
pub struct TokenRow {
    pub name: &'static str,
    /// Checks the rest of a response that begins with it; `None` if none does.
    pub(super) check_first: Option<FirstCheck>,
}

/// Fields after the token, and whether they are all of the response.
pub(super) type FirstCheck = fn(Reader<'_>, bool) -> Option<()>;

macro_rules! packets {
    ($($constant:ident $kind:literal $name:literal $senders:ident, $opens:ident;)*) => {
        pub mod packet {
            $(pub const $constant: u8 = $kind;)*
        }
        pub static PACKETS: TaggedRows<PacketRow> = TaggedRows::new(
            &[$(PacketRow { name: $name, senders: $senders, opens: $opens }),*],
            &[$($kind),*],
        );
    };
}

macro_rules! tokens {
    ($($constant:ident $token:literal $check:expr;)*) => {
        pub mod token {
            $(pub const $constant: u8 = $token;)*
        }
        pub static TOKENS: TaggedRows<TokenRow> = TaggedRows::new(
            &[$(TokenRow { name: stringify!($constant), check_first: $check }),*],
            &[$($token),*],
        );
    };
}

const CLIENT: &[Direction] = &[Direction::ClientToServer];
const SERVER: &[Direction] = &[Direction::ServerToClient];
const BOTH: &[Direction] = &[Direction::ClientToServer, Direction::ServerToClient];
const NOBODY: &[Direction] = &[];

packets! {
    SQL_BATCH           0x01 "SQLBatch"                  CLIENT, CLIENT;
    RPC                 0x03 "RPC"                       CLIENT, CLIENT;
    TABULAR_RESULT      0x04 "TabularResult"             SERVER, SERVER;
    ATTENTION           0x06 "Attention"                 CLIENT, CLIENT;
    BULK_LOAD           0x07 "BulkLoadBCP"               CLIENT, CLIENT;
    FEDERATED_TOKEN     0x08 "FederatedAuthToken"        CLIENT, NOBODY;
    TRANSACTION_MANAGER 0x0e "TransactionManagerRequest" CLIENT, CLIENT;
    LOGIN7              0x10 "Login7"                    CLIENT, CLIENT;
    SSPI                0x11 "SSPI"                      CLIENT, NOBODY;
    PRELOGIN            0x12 "PreLogin"                  BOTH, CLIENT;
}

tokens! {
    OFFSET        0x78 None;
    RETURNSTATUS  0x79 Some(first::four_bytes);
    COLMETADATA   0x81 Some(first::columns);
    TABNAME       0xa4 Some(first::sized);
    COLINFO       0xa5 None;
    ORDER         0xa9 Some(first::order);
    ERROR         0xaa Some(first::message);
    INFO          0xab Some(first::message);
    RETURNVALUE   0xac Some(first::sized);
    LOGINACK      0xad Some(first::login);
    FEATUREEXTACK 0xae None;
    ROW           0xd1 None;
    NBCROW        0xd2 None;
    ENVCHANGE     0xe3 Some(first::change);
    SESSIONSTATE  0xe4 Some(first::four_bytes);
    SSPI          0xed None;
    FEDAUTHINFO   0xee None;
    DONE          0xfd Some(first::done);
    DONEPROC      0xfe Some(first::done);
    DONEINPROC    0xff Some(first::done);
}

pub(super) fn plan(direction: Direction, header: &[u8]) -> Result<FramePlan, HeaderFault> {
    let &[kind, _, high, low, ..] = header else {
        return Err(fault("a header of eight bytes", header.len().to_string()));
    };
    let is_known = PACKETS
        .find(kind)
        .is_some_and(|row| row.senders.contains(&direction));
    let length = u16::from_be_bytes([high, low]);
    if !is_known {
        let found = match kind {
            0x14..=0x17 => "TLS".to_owned(),
            other => format!("type {other:#04x}"),
        };
        return Err(fault("a packet of TDS", found));
    }
    if usize::from(length) < HEADER {
        return Err(fault("a length of at least 8", length.to_string()));
    }
    Ok(FramePlan {
        body: u64::from(length) - HEADER as u64,
        keep: usize::from(length),
    })
}

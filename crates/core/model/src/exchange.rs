//! One request and the complete reply.

use crate::serde_units::{hex, ns};
use crate::{AtLevel, ConnectionId, Lost, Margin, NotSeen, Phase, Tags, Timestamp, TransactionState};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// A statement with literals replaced by `?`, and white space and keyword case normalised.
pub type Fingerprint = Arc<str>;

/// Fingerprint `(prepared NAME)` of a statement with unseen preparation, without a name by its
/// parameters. Names are per connection.
pub fn unseen_fingerprint(name: &[u8], parameters: Option<u16>) -> String {
    let cut = &name[..name.len().min(MAX_NAME_LEN)];
    match (cut, parameters) {
        ([], Some(1)) => format!("{UNSEEN}without a name, 1 parameter)"),
        ([], Some(count)) => format!("{UNSEEN}without a name, {count} parameters)"),
        ([], None) => format!("{UNSEEN}without a name)"),
        (name, _) => format!("{UNSEEN}{})", String::from_utf8_lossy(name)),
    }
}

/// The same for a shared name, distinguished by parameters and result columns.
pub fn unseen_fingerprint_with_shape(name: &[u8], parameters: Option<u16>, columns: Option<u16>) -> String {
    let mut made = unseen_fingerprint(name, parameters);
    made.pop();
    let named_parameters = parameters.filter(|_| !name.is_empty());
    for (count, noun) in [(named_parameters, "parameter"), (columns, "column")] {
        if let Some(count) = count {
            let plural = if count == 1 { "" } else { "s" };
            made.push_str(&format!(", {count} {noun}{plural}"));
        }
    }
    made.push(')');
    made
}

/// Whether the statement's text was not seen.
pub fn is_unseen_fingerprint(fingerprint: &str) -> bool {
    fingerprint.starts_with(UNSEEN) || fingerprint == NO_TEXT_SEEN
}

/// Fingerprint of encrypted, cut or undecoded work.
pub const NO_TEXT_SEEN: &str = "(no statement text seen)";

const UNSEEN: &str = "(prepared ";

/// Maximum bytes of a statement's name in a fingerprint.
const MAX_NAME_LEN: usize = 64;

/// One request and the complete reply, as seen at the observation point.
///
/// A TCP handshake is an exchange with one round trip and no payload, so exchanges add up to the
/// round trips of a connection. One-way messages and pipelined requests have no round trip.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exchange {
    /// Connection of the exchange.
    pub connection: ConnectionId,
    /// Purpose of the exchange.
    pub phase: Phase,
    /// When the first byte of the request or greeting passed.
    pub at: Timestamp,
    /// Waits of the client that distance lengthens by one round trip each.
    pub turns: u32,
    /// Payload bytes of the request.
    pub request_bytes: u64,
    /// Payload bytes of the reply.
    pub reply_bytes: u64,
    /// Messages of the request; 0 for an opaque protocol.
    pub request_messages: u32,
    /// Messages of the reply; 0 for an opaque protocol.
    pub reply_messages: u32,
    /// Rows returned or affected, if reported.
    pub rows: Option<u64>,
    /// Executed statements, several in a pipelined batch.
    pub executions: u32,
    /// Request, wait, and the reply up to its end or first pause.
    pub first: Step,
    /// Further steps after more round trips (COPY, LOCAL INFILE, `100 Continue`).
    pub more: Vec<Step>,
    /// The first executed statement, without literals.
    pub fingerprint: Option<Fingerprint>,
    /// Why some statements were not seen; `None` if all were.
    pub not_seen: Option<NotSeen>,
    /// Possible content of packets that were not captured since the exchange before.
    pub lost: Option<Lost>,
    /// Further properties of the request.
    pub asked: RequestTraits,
    /// Transaction state after the reply, if reported.
    pub transaction: Option<TransactionState>,
    /// Code of the first error in the reply.
    pub error: Option<Arc<str>>,
    /// Statement text as sent, only if literals are kept on request.
    pub literal: Option<Arc<str>>,
    /// Tags of the request's first tagged statement or head.
    pub tags: Option<Arc<Tags>>,
    /// Bytes in a tunnel at each tried level.
    pub levels: Option<Arc<[AtLevel]>>,
    /// Time of a pooler or database proxy, if the exchange behind it was seen; the first step's
    /// `server` is then the database's own. `None` in recordings, which hold both exchanges.
    pub pooler: Option<Box<PoolerTime>>,
}

impl Exchange {
    /// Whether this is the TCP handshake.
    pub fn is_handshake(&self) -> bool {
        self.phase == Phase::Connect && self.request_bytes == 0 && self.reply_bytes == 0
    }

    /// All steps in order, at least one.
    pub fn steps(&self) -> impl Iterator<Item = &Step> {
        std::iter::once(&self.first).chain(&self.more)
    }

    /// When the last byte of the reply, or without one of the request, passed.
    pub fn ended(&self) -> Timestamp {
        let last = self.more.last().unwrap_or(&self.first);
        last.reply_ended.unwrap_or(last.request_ended)
    }

    /// All steps, with the pooler and its database as server time.
    pub fn steps_with_pooler(&self) -> impl Iterator<Item = Step> {
        let mut first = self.first;
        first.server += self.pooler_time().total();
        std::iter::once(first).chain(self.more.iter().copied())
    }

    /// Time added by a pooler, or zero.
    pub fn pooler_time(&self) -> PoolerTime {
        self.pooler.as_deref().copied().unwrap_or_default()
    }

    /// Server time of all steps.
    pub fn server(&self) -> Duration {
        let more = self.more.iter().map(|step| step.server);
        more.fold(self.first.server, |sum, server| sum + server)
    }

    /// Error of the server time.
    pub fn server_margin(&self) -> Margin {
        let mut margin = Margin::default();
        self.steps().for_each(|step| margin.add(step.server_margin));
        margin
    }
}

/// Time between request and reply at the pooler, without the database's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct PoolerTime {
    /// From the request reaching the pooler until the pooler sends one: mostly the wait for a free
    /// connection.
    #[serde(rename = "waiting_ns", with = "ns")]
    pub waiting: Duration,
    /// From the database's reply reaching the pooler until the pooler's reply left.
    #[serde(rename = "processing_ns", with = "ns")]
    pub processing: Duration,
    /// Round trip and transfer between pooler and database.
    #[serde(rename = "network_ns", with = "ns")]
    pub network: Duration,
}

impl PoolerTime {
    /// The pooler's part, without the network behind it.
    pub fn own(&self) -> Duration {
        self.waiting + self.processing
    }

    /// Sum of all parts.
    pub fn total(&self) -> Duration {
        self.own() + self.network
    }
}

/// Properties of a request besides the executed statements, over all its messages, for findings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct RequestTraits {
    /// Number of prepared statements.
    pub prepares: u32,
    /// Executions of prepared statements, within [`Exchange::executions`].
    pub prepared_executions: u32,
    /// Messages that request further rows of a running statement.
    pub fetches: u32,
    /// Number of closed prepared statements.
    pub closes: u32,
    /// Maximum rows requested by the last limiting message; 0 if another message has the limit
    /// (MySQL's cursors).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fetch_rows: Option<u32>,
    /// Maximum row bytes requested by the last limiting message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fetch_bytes: Option<u32>,
    /// Parameter sets of an execution (array and bulk execution), else 0.
    pub sets: u32,
    /// Whether rows came back, which shows that an unseen statement ([`is_unseen_fingerprint`])
    /// reads.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub returns_rows: bool,
    /// Whether it is on a stream of a shared connection (HTTP/2), and waits for no other there.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub on_stream: bool,
    /// Equal for equal reads: a hash of statements with literals and parameters, keyed per run so
    /// that it reveals no data.
    #[serde(with = "hex", default, skip_serializing_if = "Option::is_none")]
    pub request_digest: Option<u64>,
    /// Equal for writes of the same rows: a keyed hash of the WHERE clause of a single `update` or
    /// `delete` sent as text.
    #[serde(with = "hex", default, skip_serializing_if = "Option::is_none")]
    pub rows_digest: Option<u64>,
    /// First bytes of an undecoded request. In no record: they may be data.
    #[serde(skip)]
    pub start: Option<RequestStart>,
}

/// First bytes of a request.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct RequestStart {
    bytes: [u8; 16],
    length: u8,
}

impl RequestStart {
    /// The first 16 of `bytes`; `None` without any.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let length = bytes.len().min(16);
        let mut start = Self::default();
        start.bytes[..length].copy_from_slice(&bytes[..length]);
        start.length = length as u8;
        (length > 0).then_some(start)
    }

    /// Whether the first byte and three quarters of the bytes that both have are equal: numbers of
    /// requests, and the beginnings of keys, may differ.
    pub fn is_like(self, other: Self) -> bool {
        let length = usize::from(self.length.min(other.length));
        let pairs = self.bytes.iter().zip(&other.bytes).take(length);
        let equal = pairs.filter(|(one, other)| one == other).count();
        self.bytes[0] == other.bytes[0] && equal * 4 >= length * 3
    }
}

/// Without the bytes, which may be data.
impl fmt::Debug for RequestStart {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "RequestStart({} bytes)", self.length)
    }
}

/// One request burst, the wait and the reply burst: the unit of a replay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step {
    /// When the first byte of the request passed (for a greeting, the connection was established).
    pub request_started: Timestamp,
    /// When the last byte of the request passed.
    pub request_ended: Timestamp,
    /// When the first byte of the reply passed, if any.
    pub reply_started: Option<Timestamp>,
    /// When the last byte of the reply passed.
    pub reply_ended: Option<Timestamp>,
    /// Payload bytes of the request.
    pub request_bytes: u64,
    /// Payload bytes of the reply.
    pub reply_bytes: u64,
    /// Whether the client waited for a round trip (false if pipelined or one-way).
    pub turn: bool,
    /// Part of the request's time in which the client was producing it (rows of a COPY, say).
    pub client_inside_request: Duration,
    /// From the request reaching the server to the reply leaving it, plus server waits inside the
    /// reply and the network stack. Zero if the server-side round-trip time is unknown.
    pub server: Duration,
    /// Error of `server`, as round trips vary between the shortest and the longest one seen.
    pub server_margin: Margin,
    /// Part of `server` after the reply's first byte.
    pub server_inside_reply: Duration,
    /// Client-side round-trip time at this step, once measured.
    pub client_side_rtt: Option<Duration>,
    /// Server-side round-trip time at this step, once measured.
    pub server_side_rtt: Option<Duration>,
    /// Time within this step that bytes waited for a retransmission.
    pub recovery: Duration,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_prepared_before_are_known_by_their_name_or_by_their_shape() {
        for (name, parameters, fingerprint) in [
            (b"S_1".as_slice(), Some(2), "(prepared S_1)"),
            (b"17", None, "(prepared 17)"),
            (b"", Some(1), "(prepared without a name, 1 parameter)"),
            (b"", Some(0), "(prepared without a name, 0 parameters)"),
            (b"", None, "(prepared without a name)"),
        ] {
            let made = unseen_fingerprint(name, parameters);
            assert_eq!(made, fingerprint);
            assert!(is_unseen_fingerprint(&made));
        }
        assert!(is_unseen_fingerprint(NO_TEXT_SEEN));
        assert!(!is_unseen_fingerprint("(COM_PING)"));
        assert!(!is_unseen_fingerprint("(select ?) union (select ?)"));
    }
}

//! Exchanges: one request and its complete reply.

use crate::{AtLevel, ConnectionId, Margin, NotSeen, Phase, Tags, Timestamp, TransactionState};
use std::sync::Arc;
use std::time::Duration;

/// A statement with its literals replaced by `?`, white space and the case of keywords normalised. Equal
/// statements share one allocation.
pub type Fingerprint = Arc<str>;

/// The fingerprint of a statement whose preparation was not seen, `(prepared NAME)`: by what the protocol
/// calls it, or, where it has no name, by its parameters. The protocol's names are of one connection: equal
/// ones on two need not be one statement.
pub fn unseen_fingerprint(name: &[u8], parameters: Option<u16>) -> String {
    let cut = &name[..name.len().min(MAX_NAME_LEN)];
    match (cut, parameters) {
        ([], Some(1)) => format!("{UNSEEN}without a name, 1 parameter)"),
        ([], Some(count)) => format!("{UNSEEN}without a name, {count} parameters)"),
        ([], None) => format!("{UNSEEN}without a name)"),
        (name, _) => format!("{UNSEEN}{})", String::from_utf8_lossy(name)),
    }
}

/// The same of a statement that has its name in common with another one: the shape of its parameters and of
/// its result distinguishes them.
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

/// Whether a fingerprint stands for statements whose text was not seen: prepared before the observation, or
/// without any name ([`NO_TEXT_SEEN`]).
pub fn is_unseen_fingerprint(fingerprint: &str) -> bool {
    fingerprint.starts_with(UNSEEN) || fingerprint == NO_TEXT_SEEN
}

/// The row of work in which neither a statement nor a command was seen: encrypted, cut, or not decoded.
pub const NO_TEXT_SEEN: &str = "(no statement text seen)";

/// How fingerprints of statements begin that were prepared before the observation.
const UNSEEN: &str = "(prepared ";

/// Longest part of a statement's name that its fingerprint shows, in bytes.
const MAX_NAME_LEN: usize = 64;

/// One request and its complete reply, as seen at the observation point.
///
/// A TCP handshake is one too: phase connect, no payload, one round trip. So the round trips of a connection
/// are the sum of its exchanges' round trips.
///
/// An exchange without a round trip is one whose reply was not waited for separately: a pipelined request
/// behind another (its wait is the first one's), or a one-way message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exchange {
    /// The connection it belongs to.
    pub connection: ConnectionId,
    /// What it is for.
    pub phase: Phase,
    /// When the first byte of the request (or of a greeting) passed.
    pub at: Timestamp,
    /// Waits of the client for the server's next bytes that a longer distance would lengthen by one round
    /// trip.
    pub turns: u32,
    /// Payload bytes of the request.
    pub request_bytes: u64,
    /// Payload bytes of the reply.
    pub reply_bytes: u64,
    /// Messages of the request; 0 where the protocol is opaque.
    pub request_messages: u32,
    /// Messages of the reply; 0 where the protocol is opaque.
    pub reply_messages: u32,
    /// Rows returned or affected; `None` if the protocol does not report them.
    pub rows: Option<u64>,
    /// Executions of statements carried (a pipelined batch carries many); 0 for none.
    pub executions: u32,
    /// The first step: the request, the wait, and the reply up to its end or to the first pause.
    pub first: Step,
    /// Further steps of an exchange with more round trips (COPY, LOCAL INFILE, `100 Continue`). Empty
    /// otherwise.
    pub more: Vec<Step>,
    /// The first statement executed, without its literals.
    pub fingerprint: Option<Fingerprint>,
    /// Why not all of its statements were seen; `None` if they were, and where it has none.
    pub not_seen: Option<NotSeen>,
    /// What else its request requested.
    pub asked: RequestTraits,
    /// State of the transaction after the reply; `None` if the protocol does not report it.
    pub transaction: Option<TransactionState>,
    /// Code of the first error in the reply.
    pub error: Option<Arc<str>>,
    /// Statement text as sent, only when literals are kept on request.
    pub literal: Option<Arc<str>>,
    /// What its request says about itself: the first that any of its statements or heads carries.
    pub tags: Option<Arc<Tags>>,
    /// What its bytes become in a tunnel at each level that was tried; `None` if none was.
    pub levels: Option<Arc<[AtLevel]>>,
    /// What a pooler or database proxy between client and database added, where the exchange behind it was
    /// seen too. The first step's `server` is then the database's own time. Absent otherwise, and in
    /// recordings, which hold both exchanges.
    pub pooler: Option<Box<PoolerTime>>,
}

impl Exchange {
    /// Whether this is the TCP handshake: SYN as the request, SYN-ACK as the reply, no payload.
    pub fn is_handshake(&self) -> bool {
        self.phase == Phase::Connect && self.request_bytes == 0 && self.reply_bytes == 0
    }

    /// All steps in order; at least one.
    pub fn steps(&self) -> impl Iterator<Item = &Step> {
        std::iter::once(&self.first).chain(&self.more)
    }

    /// When the last byte of the reply (or, without one, of the request) passed the observation point.
    pub fn ended(&self) -> Timestamp {
        let last = self.more.last().unwrap_or(&self.first);
        last.reply_ended.unwrap_or(last.request_ended)
    }

    /// All steps in order, for who asks again over the same connection: the first has as server time all that
    /// was behind its connection, a pooler with its database.
    pub fn steps_with_pooler(&self) -> impl Iterator<Item = Step> {
        let mut first = self.first;
        first.server += self.pooler_time().total();
        std::iter::once(first).chain(self.more.iter().copied())
    }

    /// What a pooler added; nothing where none was seen.
    pub fn pooler_time(&self) -> PoolerTime {
        self.pooler.as_deref().copied().unwrap_or_default()
    }

    /// Server time of all its steps.
    pub fn server(&self) -> Duration {
        let more = self.more.iter().map(|step| step.server);
        more.fold(self.first.server, |sum, server| sum + server)
    }

    /// How exactly [`Exchange::server`] is known.
    pub fn server_margin(&self) -> Margin {
        let mut margin = Margin::default();
        self.steps().for_each(|step| margin.add(step.server_margin));
        margin
    }
}

/// Of an exchange with a pooler: the time between the request reaching the pooler and its reply leaving,
/// without the database's own. From the exchange of the pooler with the database.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PoolerTime {
    /// From the request reaching the pooler until the pooler sent one to the database: mostly waiting for a
    /// free connection.
    pub waiting: Duration,
    /// From the database's reply reaching the pooler until the pooler's own reply left: its processing.
    pub processing: Duration,
    /// Between pooler and database: round trip and transfer.
    pub network: Duration,
}

impl PoolerTime {
    /// The pooler's part: all but the network behind it.
    pub fn own(&self) -> Duration {
        self.waiting + self.processing
    }

    /// All of it.
    pub fn total(&self) -> Duration {
        self.own() + self.network
    }
}

/// What a request asks for in addition to statements that run; findings are made from it. All of its messages
/// together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RequestTraits {
    /// Statements it prepares.
    pub prepares: u32,
    /// Executions of prepared statements (of [`Exchange::executions`], those that are not sent as text).
    pub prepared_executions: u32,
    /// Messages that ask for further rows of a statement that runs already.
    pub fetches: u32,
    /// Prepared statements it closes.
    pub closes: u32,
    /// Rows requested at most, by the last message that limits them; `None` if none does. 0 where the limit
    /// is in other messages (MySQL's cursors).
    pub fetch_rows: Option<u32>,
    /// Bytes of rows requested at most, by the last message that limits them; `None` if none does.
    pub fetch_bytes: Option<u32>,
    /// Sets of parameters, where one execution carries several (array and bulk execution); 0 otherwise.
    pub sets: u32,
    /// Rows came back. Only of a statement whose text was not seen ([`is_unseen_fingerprint`]): it shows that
    /// it reads.
    pub returns_rows: bool,
    /// Recognises equal questions: a hash of statements with their literals and parameters, keyed with a
    /// random key of the run, so that it reveals nothing about them. Only of reads, and only where all of the
    /// question was seen. Never equal across runs but by chance.
    pub request_digest: Option<u64>,
    /// Recognises writes of the same rows: a hash, keyed as that of [`RequestTraits::request_digest`], of
    /// what is behind WHERE in an `update` or `delete` that is sent as text, alone in its request. Not of
    /// what it writes.
    pub rows_digest: Option<u64>,
}

/// One request burst, the wait for the server, and the reply burst: the unit a prediction replays.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step {
    /// When the first byte of the request passed. For a greeting: when the connection was established.
    pub request_started: Timestamp,
    /// When the last byte of the request passed.
    pub request_ended: Timestamp,
    /// When the first byte of the reply passed; `None` if there was none.
    pub reply_started: Option<Timestamp>,
    /// When the last byte of the reply passed.
    pub reply_ended: Option<Timestamp>,
    /// Payload bytes of the request.
    pub request_bytes: u64,
    /// Payload bytes of the reply.
    pub reply_bytes: u64,
    /// Whether the client waited here for one round trip (false for a pipelined or one-way step).
    pub turn: bool,
    /// The part of the request's time (from its first to its last byte) in which the client had nothing in
    /// flight: it was still producing the request (rows of a COPY, say).
    pub client_inside_request: Duration,
    /// From the last byte of the request reaching the server to the first byte of the reply leaving it, plus
    /// waits for the server inside the reply. Never below zero; includes the server host's own network stack.
    /// Zero where the server-side round trip is unknown: the wait is then unknown as a whole.
    pub server: Duration,
    /// By how much `server` may be wrong, because the round trip of this step itself is not known: it took no
    /// less than the shortest that was seen and, as far as can be seen, no more than the longest. None where
    /// nothing was subtracted.
    pub server_margin: Margin,
    /// The part of `server` spent inside the reply, after its first byte.
    pub server_inside_reply: Duration,
    /// Round trip between observation point and client that holds for this step; `None` before any was
    /// measured.
    pub client_side_rtt: Option<Duration>,
    /// Round trip between observation point and server that holds for this step; `None` before any was
    /// measured.
    pub server_side_rtt: Option<Duration>,
    /// Time within this step during which its bytes waited for a retransmission.
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

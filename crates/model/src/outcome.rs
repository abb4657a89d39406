//! Outcomes: what a command has to say, before it is text or records.

use crate::{
    Assignments, Attribution, BitRate, ConnectionId, ConnectionTotals, Decoding, Endpoint, Evidence,
    Fingerprint, LinkRates, Margin, OperationKind, RttSource, SampleTotals, Share, Timestamp,
};
use std::sync::Arc;
use std::time::Duration;

/// The conditions under which the figures of a run were made.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Conditions {
    /// Longwire's version.
    pub version: String,
    /// The command line, secrets replaced by `***`.
    pub command_line: String,
    /// Name of the host the run was made on.
    pub host: Option<String>,
    /// Operating system and release of that host.
    pub kernel: Option<String>,
    /// Where the times come from, for example `capture file timestamps` or `kernel receive timestamps`.
    pub clock: String,
    /// Where the traffic was seen, for example a file name or `relay`.
    pub observation_point: String,
    /// The link that was emulated, in its text form.
    pub link: Option<String>,
    /// The seed of randomness, where any was used.
    pub seed: Option<u64>,
}

/// All that is known of one connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConnectionOutcome {
    /// Its number within the run.
    pub id: ConnectionId,
    /// The side that opened it.
    pub client: Endpoint,
    /// The side that accepted it.
    pub server: Endpoint,
    /// The program at each side, client first, as far as it is one of the host where the connection was
    /// observed, and was found.
    pub processes: [Option<Arc<HostProcess>>; 2],
    /// When it was first seen.
    pub at: Timestamp,
    /// From first to last packet.
    pub duration: Duration,
    /// How far it was decoded.
    pub decoding: Decoding,
    /// The server's product and version where it introduced itself.
    pub server_version: Option<String>,
    /// The client's software as it introduced itself (a driver, a program), printable and cut to 128 bytes.
    pub driver: Option<Arc<str>>,
    /// Start-up parameters of the client that bear on speed, by name; only of a list of known ones, at most
    /// 16, printable and cut. Never a user, a database or a password.
    pub settings: Vec<(Arc<str>, Arc<str>)>,
    /// Round trips, the TCP handshake and the server's greeting included.
    pub turns: u64,
    /// Exchanges, whole or not.
    pub exchanges: u64,
    /// Statement texts seen on the wire (`Query`, `Parse`, `COM_QUERY`, `COM_STMT_PREPARE`).
    pub statements: u64,
    /// Minimum round trip between client and server seen: both sides of the observation point together.
    pub rtt: Option<Duration>,
    /// Minimum round trip between observation point and client seen.
    pub client_side_rtt: Option<Duration>,
    /// Minimum round trip between observation point and server seen.
    pub server_side_rtt: Option<Duration>,
    /// How the round trip between observation point and server is known; `None` if it is not.
    pub rtt_source: Option<RttSource>,
    /// Bytes and packets.
    pub totals: ConnectionTotals,
}

/// A program that has an end of a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostProcess {
    /// Its name, as the kernel has it: at most 15 bytes, without arguments.
    pub name: String,
    /// Its number on that host.
    pub number: u32,
    /// The container that it runs in, by its identifier; `None` if it runs in none that is known.
    pub container: Option<String>,
}

/// The spread of a set of durations. A percentile is absent when too few samples stand behind it: at least 10
/// samples must lie beyond it on its far side (p50 needs 20, p95 200, p99 1000).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Distribution {
    /// How many samples.
    pub count: u64,
    /// Smallest sample.
    pub min: Option<Duration>,
    /// Largest sample.
    pub max: Option<Duration>,
    /// Sum of the samples divided by their number.
    pub mean: Option<Duration>,
    /// Median: shown from the first sample on, because it is the least misleading single figure.
    pub p50: Option<Duration>,
    /// 90th percentile.
    pub p90: Option<Duration>,
    /// 95th percentile.
    pub p95: Option<Duration>,
    /// 99th percentile.
    pub p99: Option<Duration>,
}

/// All executions of one fingerprint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatementOutcome {
    /// The statement without its literals.
    pub fingerprint: Fingerprint,
    /// Executions.
    pub calls: u64,
    /// Round trips they cost.
    pub turns: u64,
    /// Messages that requested rows of a result in parts (of an execution that asks for its first rows in a
    /// message of its own, that one too).
    pub fetches: u64,
    /// Rows that the last of them requested at most, or of an execution; `None` if the client asks for all,
    /// or in bytes.
    pub fetch_rows: Option<u32>,
    /// Bytes of rows, likewise (Informix's FET_BUF_SIZE, DRDA's QRYBLKSZ).
    pub fetch_bytes: Option<u32>,
    /// Rows returned or affected; `None` if the protocol did not report them.
    pub rows: Option<u64>,
    /// Payload bytes of the requests.
    pub request_bytes: u64,
    /// Payload bytes of the replies.
    pub reply_bytes: u64,
    /// Time the client waited for them.
    pub total: Duration,
    /// Of this, server time.
    pub server: Duration,
    /// By how much `server` may be wrong.
    pub server_margin: Margin,
    /// Of this, network time.
    pub network: Duration,
    /// Executions that ended in an error.
    pub errors: u64,
    /// Spread of the time per exchange.
    pub spread: Distribution,
    /// How the text is known, where the preparation of some of its executions was not seen; `None` if all
    /// were.
    pub text_source: Option<TextSource>,
}

/// A statement whose preparation was not seen, and the text that a later preparation has shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecognisedStatement {
    /// What stands for it in exchanges.
    pub unseen: Fingerprint,
    /// The fingerprint of its text.
    pub text: Fingerprint,
    /// How the text is known.
    pub source: TextSource,
}

/// How the text of a statement is known whose preparation was not seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TextSource {
    /// Its connection prepared a statement of the same name and shape later.
    SameConnection,
    /// Another connection prepared a statement of the same name and shape, and its name is none that a driver
    /// counts up.
    AnotherConnection,
}

impl TextSource {
    /// The word for it in records.
    pub const fn name(self) -> &'static str {
        match self {
            Self::SameConnection => "same_connection",
            Self::AnotherConnection => "another_connection",
        }
    }
}

/// All operations of one kind and name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OperationGroup {
    /// The operations' name.
    pub name: Arc<str>,
    /// What kind of thing was waited for.
    pub kind: OperationKind,
    /// How many there were.
    pub count: u64,
    /// Round trips of all of them, the TCP handshakes included.
    pub turns: u64,
    /// Round trips of the one that had most.
    pub most_turns: u64,
    /// Spread of their durations.
    pub spread: Distribution,
    /// Where their time went, summed.
    pub attribution: Attribution,
    /// Of this, connect, tls and login.
    pub setup: Duration,
    /// How it is known which exchanges belong to them.
    pub assigned: Assignments,
    /// How much of their waiting stands on what was seen.
    pub evidence: Evidence,
}

/// What operations of one name would take on another link.
#[derive(Debug, Clone, PartialEq)]
pub struct Prediction {
    /// The operations' name.
    pub operation_name: Arc<str>,
    /// How many were replayed.
    pub operations: u64,
    /// Round trip of the target link.
    pub rtt: Duration,
    /// Rate of the target link client-to-server (index 0) and server-to-client (index 1); absent when
    /// unlimited.
    pub rate: LinkRates,
    /// The whole target link in its text form: including what it has besides round trip and rate.
    pub link: Arc<str>,
    /// Clients at once, each with one operation after another.
    pub clients: u32,
    /// How many requests the server works on at once, where that is limited: inferred from the measurement,
    /// or given. The clients then carry out all operations as they were mixed when measured.
    pub workers: Option<u32>,
    /// Predicted median duration.
    pub duration: Duration,
    /// Lower bound of the median: in 9 of 10 runs on such a link with as many operations as were replayed,
    /// the median duration is expected between the bounds. Single operations vary more: see `spread`.
    pub low: Duration,
    /// Upper bound.
    pub high: Duration,
    /// Spread of the predicted durations.
    pub spread: Distribution,
    /// Operations per second at that number of clients.
    pub per_second: f64,
    /// Round trips per operation on the moved connections, mean. Round trips on several connections at once
    /// are all counted.
    pub turns: f64,
    /// Milliseconds that one more millisecond of round trip adds to an operation: the slope of its predicted
    /// duration. Less than `turns` where several connections wait at once, more where transfers take further
    /// round trips.
    pub slope: f64,
    /// Whether exchanges on several connections waited for each other; `None` if an operation never has more
    /// than one connection to a server.
    pub order: Option<Order>,
    /// What takes most of the predicted time.
    pub bound_by: BoundBy,
    /// Where the predicted time goes, summed over the operations.
    pub attribution: Attribution,
    /// What of their time the model does not explain where they were measured; `None` if they met others.
    pub unexplained: Option<Unexplained>,
    /// Single operations of them; `None` if they met others.
    pub examples: Option<PredictedExamples>,
    /// What was measured on such a link, where it was.
    pub measured: Option<MeasuredDurations>,
}

/// What operations took beyond their replays over the paths on which they were measured: waits that are
/// neither the distance's, nor client's, server's or a known rest of the protocol. Taken not to change with
/// the distance.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Unexplained {
    /// Median, in nanoseconds; negative where replays take longer than what was measured.
    pub median_ns: i64,
    /// The share that all of it, too long or too short, has of what all of them took.
    pub share: f64,
}

impl Prediction {
    /// Its bounds, low and high, where they say something: they do not where they lie farther apart, as a
    /// factor, than [`WIDEST_BOUNDS`]. The duration between such bounds is no prediction either.
    pub fn bounds(&self) -> Option<[Duration; 2]> {
        (self.high <= self.low.saturating_mul(WIDEST_BOUNDS)).then_some([self.low, self.high])
    }

    /// Its duration, where it has [`Prediction::bounds`].
    pub fn bounded(&self) -> Option<Duration> {
        self.bounds().map(|_| self.duration)
    }

    /// Whether some of its operations wait for more than twice as many round trips as a typical one.
    pub fn has_unlike_turns(&self) -> bool {
        self.examples
            .is_some_and(|examples| examples.longest.turns > 2 * examples.typical.turns)
    }

    /// Whether its slope is that of an operation: of a few unlike ones, the median lies between two of them.
    pub fn has_slope(&self) -> bool {
        let typical = self.examples.map(|examples| examples.typical.turns as f64);
        let is_between = typical.is_some_and(|turns| self.slope > MIXED_SLOPE * turns);
        self.slope.is_finite() && self.bounds().is_some() && !(self.has_unlike_turns() && is_between)
    }
}

/// Bounds that lie farther apart, as a factor, bound nothing.
const WIDEST_BOUNDS: u32 = 20;

/// A slope so many times the round trips of a typical operation is not its own, where others have many more
/// round trips.
const MIXED_SLOPE: f64 = 1.5;

/// Two of the operations of a name. Their figures belong together, as medians and means of unlike operations
/// do not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PredictedExamples {
    /// The one whose predicted duration is the median; of an even count, the shorter of the two in the
    /// middle. Of very many operations, the median is that of some, evenly chosen.
    pub typical: PredictedOperation,
    /// The one that took longest when it was measured.
    pub longest: PredictedOperation,
    /// The share of them with at least half, and at most twice, as many round trips as the typical one.
    pub alike: Share,
}

/// One operation, measured and predicted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct PredictedOperation {
    /// What it took.
    pub measured: Duration,
    /// What it would take on the link.
    pub predicted: Duration,
    /// Nanoseconds by which it took longer than its replay where it was measured; negative where the replay
    /// takes longer.
    pub unexplained_ns: i64,
    /// Its turns on connections that move to the link.
    pub turns: u64,
    /// What it would take there without what the remedies of its findings leave out; `None` if that was not
    /// replayed.
    pub without: Option<Duration>,
}

impl Prediction {
    /// How far the predicted median differs from the measured one, as a share of the measured one: +0.03 is 3
    /// % too long. `None` if nothing was measured. Misleads where few operations were measured, or where the
    /// measurement is near the floor of the instrument.
    pub fn error(&self) -> Option<f64> {
        let measured = self.measured.as_ref()?.duration.as_secs_f64();
        (measured > 0.0).then(|| self.duration.as_secs_f64() / measured - 1.0)
    }
}

/// Whether an operation's exchanges on several connections waited for each other, and what shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Order {
    /// What the prediction assumes to be true.
    pub kind: OrderKind,
    /// Operations with several connections that were examined.
    pub looked_at: u64,
    /// Of these, operations in which a request was sent on one connection before the reply on another had
    /// arrived.
    pub at_once: u64,
}

/// Whether exchanges on several connections waited for each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OrderKind {
    /// Each waited for the one before it.
    InSequence,
    /// Some were sent at once.
    AtOnce,
    /// Too little was seen to decide: `low` is with all of these at once, `high` with all of them in
    /// sequence.
    Open,
}

impl OrderKind {
    /// The word for it in records.
    pub const fn name(self) -> &'static str {
        match self {
            Self::InSequence => "in_sequence",
            Self::AtOnce => "at_once",
            Self::Open => "open",
        }
    }
}

/// What operations took on a link for which they had been predicted.
#[derive(Debug, Clone, PartialEq)]
pub struct MeasuredDurations {
    /// How many were measured.
    pub operations: u64,
    /// Median duration.
    pub duration: Duration,
    /// Spread of the durations.
    pub spread: Distribution,
    /// Operations per second of all clients.
    pub per_second: f64,
    /// Operations that failed; they are in no other figure.
    pub errors: u64,
}

/// An emulated link: what was requested, and what was realised.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct LinkOutcome {
    /// What it connects, for example `web-database`.
    pub name: String,
    /// The link requested, in its text form.
    pub asked: String,
    /// Round trip requested.
    pub rtt: Duration,
    /// How much longer round trips were than asked (negative: shorter), from packets that had to wait for
    /// their time on the link: median and 99th percentile. `None` if too few passed.
    pub rtt_error_p50_ns: Option<i64>,
    /// 99th percentile of the same.
    pub rtt_error_p99_ns: Option<i64>,
    /// Each way, client-to-server first.
    pub directions: [LinkDirectionOutcome; 2],
    /// What this machine adds to a round trip through a link without any delay, measured at the start of the
    /// run.
    pub floor: Option<Duration>,
}

/// One direction of an emulated link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LinkDirectionOutcome {
    /// Packets that came to the link.
    pub packets: u64,
    /// Their wire bytes.
    pub wire_bytes: u64,
    /// Packets dropped because the queue had no room.
    pub dropped_by_queue: u64,
    /// Packets lost at random, as asked.
    pub dropped_by_loss: u64,
    /// Packets that came while the link was out, as asked.
    pub dropped_by_outage: u64,
    /// Packets dropped though this was not requested: packets on their way took more memory than they may, or
    /// a device's own queue was full. A figure made while it grew is wrong.
    pub dropped_unasked: u64,
    /// Rate requested; `None` if unlimited.
    pub rate: Option<BitRate>,
    /// Rate realised while packets waited for serialisation; `None` if they never did for long.
    pub realised_rate: Option<BitRate>,
}

/// What a predicted duration is mostly made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum BoundBy {
    /// Waiting for bytes to travel the distance.
    RoundTrips,
    /// Pushing bytes through the link's rate.
    Rate,
    /// Waiting until the receiver's window allows more.
    Window,
    /// Bytes that their sender holds back until a delayed acknowledgement comes (Nagle's algorithm).
    DelayedAcks,
    /// The server's own time.
    Server,
    /// The client's own time.
    Client,
    /// A wait that the model does not explain where it was measured.
    Unexplained,
}

impl BoundBy {
    /// The word for it in records and reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::RoundTrips => "round_trips",
            Self::Rate => "rate",
            Self::Window => "window",
            Self::DelayedAcks => "delayed_acks",
            Self::Server => "server",
            Self::Client => "client",
            Self::Unexplained => "unexplained",
        }
    }
}

/// The totals of a run.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Summary {
    /// Round trips of all connections.
    pub turns: u64,
    /// Exchanges of all connections.
    pub exchanges: u64,
    /// Connections seen.
    pub connections: u64,
    /// Operations seen.
    pub operations: u64,
    /// Statement texts seen on the wire.
    pub statements: u64,
    /// Payload bytes client-to-server and server-to-client.
    pub payload_bytes: [u64; 2],
    /// From the first to the last packet of the run.
    pub duration: Duration,
    /// Where the operations' time went, summed.
    pub attribution: Attribution,
    /// Of this, connect, tls and login.
    pub setup: Duration,
    /// How it is known which exchanges belong to which operations.
    pub assigned: Assignments,
    /// How much of what was waited for stands on what was seen: of all exchanges, also those that belong to
    /// no operation.
    pub evidence: Evidence,
    /// Spread of the operations' durations.
    pub spread: Distribution,
    /// Packets read, of all protocols; `None` if there are none (a relay).
    pub packets: Option<u64>,
    /// Exchanges that longwire dropped because it did not keep up with what passed: they are in no other
    /// figure of operations and statements.
    pub dropped_exchanges: u64,
    /// Of a run that took samples of its own (ping, echo, load): how many, how many were lost. Its `spread`
    /// is theirs.
    pub samples: Option<SampleTotals>,
}

//! Results of commands, before output.

use crate::serde_units::ns;
use crate::{
    Assignments, Attribution, BitRate, ConnectionId, ConnectionTotals, Decoding, EndedBy, Endpoint, Evidence,
    Fingerprint, Margin, OperationKind, PerDirection, PerSide, RttSource, SampleTotals, Timestamp,
};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::time::Duration;

/// Conditions of a run.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Conditions {
    /// Version of the running longwire.
    pub version: String,
    /// The command line, with secrets replaced by `***`.
    pub command_line: String,
    /// Host of the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// Operating system and release of the host.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kernel: Option<String>,
    /// Source of times, such as `capture file timestamps` or `kernel receive timestamps`.
    pub clock: String,
    /// Source of the traffic, such as a file name or `relay`.
    pub observation_point: String,
    /// The emulated link in its text form.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub link: Option<String>,
    /// Exchanges that passed without the link's delay in every second operation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spared: Option<String>,
    /// Seed of random numbers, if used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// File of the calibration that predictions use.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub calibration: Option<String>,
    /// Whether `longwire load` generates the traffic. Its clients do not pause.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub generated: bool,
}

/// Results for one connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConnectionOutcome {
    /// Number within the run.
    pub id: ConnectionId,
    /// The side that opened it.
    pub client: Endpoint,
    /// The side that accepted it.
    pub server: Endpoint,
    /// Programs of client and server, if found on the observing host.
    pub processes: PerSide<Option<Arc<HostProcess>>>,
    /// Time of first sight.
    pub at: Timestamp,
    /// From first to last packet.
    pub duration: Duration,
    /// How far it was decoded.
    pub decoding: Decoding,
    /// Product and version reported by the server.
    pub server_version: Option<String>,
    /// Software reported by the client, printable and cut to 128 bytes.
    pub driver: Option<Arc<str>>,
    /// Known start-up parameters that affect speed, at most 16, never a user, database or password.
    pub settings: Vec<(Arc<str>, Arc<str>)>,
    /// Round trips, including TCP handshake and greeting.
    pub turns: u64,
    /// Exchanges, complete or not.
    pub exchanges: u64,
    /// Statement texts seen on the wire (`Query`, `Parse`, `COM_QUERY`, `COM_STMT_PREPARE`).
    pub statements: u64,
    /// Minimum round-trip time between client and server.
    pub rtt: Option<Duration>,
    /// Minimum round-trip time between observation point and client.
    pub client_side_rtt: Option<Duration>,
    /// Minimum round-trip time between observation point and server.
    pub server_side_rtt: Option<Duration>,
    /// Source of the server-side round-trip time, if known.
    pub rtt_source: Option<RttSource>,
    /// The first sign of its end, if seen.
    pub ended_by: Option<EndedBy>,
    /// Bytes and packets in total.
    pub totals: ConnectionTotals,
}

/// A program at an end of a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HostProcess {
    /// Kernel's name of the process: at most 15 bytes, without arguments.
    pub name: String,
    /// Process number on that host.
    pub number: u32,
    /// Identifier of the known container, if any.
    pub container: Option<String>,
}

/// Spread of durations. A percentile needs 10 samples beyond it (p50 needs 20, p95 200, p99 1000).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Distribution {
    /// Number of samples included.
    #[serde(rename = "samples")]
    pub count: u64,
    /// Smallest of the samples.
    #[serde(
        rename = "min_ns",
        with = "ns",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub min: Option<Duration>,
    /// Largest of the samples.
    #[serde(
        rename = "max_ns",
        with = "ns",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub max: Option<Duration>,
    /// Mean of the samples.
    #[serde(
        rename = "mean_ns",
        with = "ns",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub mean: Option<Duration>,
    /// Median, never withheld as the least misleading figure.
    #[serde(
        rename = "p50_ns",
        with = "ns",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub p50: Option<Duration>,
    /// 90th percentile of the samples.
    #[serde(
        rename = "p90_ns",
        with = "ns",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub p90: Option<Duration>,
    /// 95th percentile of the samples.
    #[serde(
        rename = "p95_ns",
        with = "ns",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub p95: Option<Duration>,
    /// 99th percentile of the samples.
    #[serde(
        rename = "p99_ns",
        with = "ns",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub p99: Option<Duration>,
}

/// All executions of one fingerprint.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatementOutcome {
    /// Statement without its literals.
    pub fingerprint: Fingerprint,
    /// Number of all executions.
    pub calls: u64,
    /// Cost in round trips.
    pub turns: u64,
    /// Messages that fetched parts of a result.
    pub fetches: u64,
    /// Maximum rows of the last fetch or execution; `None` if unlimited, or limited in bytes.
    pub fetch_rows: Option<u32>,
    /// Maximum row bytes (Informix's FET_BUF_SIZE, DRDA's QRYBLKSZ).
    pub fetch_bytes: Option<u32>,
    /// Rows returned or affected; `None` if not reported.
    pub rows: Option<u64>,
    /// Payload bytes of the requests.
    pub request_bytes: u64,
    /// Payload bytes of the replies.
    pub reply_bytes: u64,
    /// Total wait of the client.
    pub total: Duration,
    /// Server time within `total`.
    pub server: Duration,
    /// Error of the server time.
    pub server_margin: Margin,
    /// Network time within `total`.
    pub network: Duration,
    /// Executions that ended in an error.
    pub errors: u64,
    /// Spread of the time per exchange.
    pub spread: Distribution,
    /// Source of the text, if some preparations were not seen.
    pub text_source: Option<TextSource>,
}

/// Unseen statement with a text from a later preparation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecognisedStatement {
    /// Its fingerprint in exchanges.
    #[serde(rename = "fingerprint")]
    pub unseen: Fingerprint,
    /// Fingerprint of the text.
    pub text: Fingerprint,
    /// Source of the text.
    #[serde(rename = "text_source")]
    pub source: TextSource,
}

/// Source of the text of a statement with an unseen preparation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TextSource {
    /// A later preparation with the same name and shape on its connection.
    SameConnection,
    /// A preparation with the same name and shape on another connection, if no driver counts up the
    /// name.
    AnotherConnection,
}

impl TextSource {
    /// Both sources in this order.
    pub const ALL: [Self; 2] = [Self::SameConnection, Self::AnotherConnection];

    /// Name used in records.
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
    /// Name of the operations.
    pub name: Arc<str>,
    /// Kind of the operations.
    pub kind: OperationKind,
    /// Number of these operations.
    pub count: u64,
    /// Round trips of all operations, including TCP handshakes.
    pub turns: u64,
    /// Maximum round trips of an operation.
    pub most_turns: u64,
    /// Spread of the durations.
    pub spread: Distribution,
    /// The 95 % range of the median ([`crate::DistributionBuilder::median_range`]).
    pub median_range: Option<[Duration; 2]>,
    /// Sum of their attributions.
    pub attribution: Attribution,
    /// Part of it in connect, tls and login.
    pub setup: Duration,
    /// How exchanges were assigned to them.
    pub assigned: Assignments,
    /// Evidence for their round trips.
    pub evidence: Evidence,
}

/// An emulated link as requested and as realised.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct LinkOutcome {
    /// Its two ends, such as `web-database`.
    pub name: String,
    /// Requested link in its text form.
    pub asked: String,
    /// Requested round-trip time of the link.
    #[serde(rename = "rtt_ns", with = "ns")]
    pub rtt: Duration,
    /// Median excess of round trips over `rtt`, negative if shorter; `None` if few packets waited.
    pub rtt_error_p50_ns: Option<i64>,
    /// 99th percentile of that excess.
    pub rtt_error_p99_ns: Option<i64>,
    /// Both directions.
    pub directions: PerDirection<LinkDirectionOutcome>,
    /// This machine's overhead per round trip, measured without delay.
    #[serde(rename = "floor_ns", with = "ns")]
    pub floor: Option<Duration>,
}

/// One direction of an emulated link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct LinkDirectionOutcome {
    /// Packets that reached the link.
    pub packets: u64,
    /// Wire bytes of these packets.
    pub wire_bytes: u64,
    /// Packets dropped by a full queue.
    pub dropped_by_queue: u64,
    /// Packets lost at random, as requested.
    pub dropped_by_loss: u64,
    /// Packets dropped by a requested outage.
    pub dropped_by_outage: u64,
    /// Unrequested drops (memory limit, full device queue), which invalidate concurrent figures.
    pub dropped_unasked: u64,
    /// Requested rate, if it is limited.
    pub rate: Option<BitRate>,
    /// Rate while packets queued; `None` if they never did for long.
    pub realised_rate: Option<BitRate>,
}

/// The totals of a run.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Summary {
    /// Round trips of all connections.
    pub turns: u64,
    /// Exchanges of all connections.
    pub exchanges: u64,
    /// Number of connections seen.
    pub connections: u64,
    /// Number of operations seen.
    pub operations: u64,
    /// Statement texts seen on the wire.
    pub statements: u64,
    /// Payload bytes of all connections.
    pub payload_bytes: PerDirection<u64>,
    /// From the first to the last packet.
    pub duration: Duration,
    /// Sum of the operations' attributions.
    pub attribution: Attribution,
    /// Part of it in connect, tls and login.
    pub setup: Duration,
    /// How exchanges were assigned to operations.
    pub assigned: Assignments,
    /// Evidence for all exchanges, also those outside operations.
    pub evidence: Evidence,
    /// Spread of the operations' durations.
    pub spread: Distribution,
    /// Packets of all protocols; `None` for a relay.
    pub packets: Option<u64>,
    /// Exchanges dropped because longwire was too slow, not counted elsewhere.
    pub dropped_exchanges: u64,
    /// Totals of longwire's own samples (ping, echo, load); `spread` then is of these.
    pub samples: Option<SampleTotals>,
}

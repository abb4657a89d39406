//! Samples taken by longwire itself: pings, requests and runs.

use crate::serde_units::ns;
use crate::{Direction, PerDirection, Phase, Timestamp};
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::time::Duration;

/// One ping, request or run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sample {
    /// Number within its target, from 1.
    pub number: u64,
    /// The target without its secrets.
    pub target: Arc<str>,
    /// Start of sending or connecting.
    pub at: Timestamp,
    /// Scheduled start, from which open-loop figures count, as users wait for earlier samples as
    /// well.
    pub intended_at: Option<Timestamp>,
    /// From `at` to the reply's last byte (kernel timestamp if available); `None` without a reply.
    pub duration: Option<Duration>,
    /// Server time as reported (docs/ping.md#server-time-as-reported).
    pub server: Option<Duration>,
    /// Whether it was the first of its connection, which warms caches and is not in percentiles.
    pub first: bool,
    /// Round trips counted on the socket; `None` if not counted.
    pub turns: Option<u64>,
    /// The kernel's smoothed round-trip time (`tcpi_rtt`) after the reply, with server time if
    /// replies carried the acknowledgements.
    pub kernel_rtt: Option<Duration>,
    /// Reason of a failure, without secrets and literals.
    pub error: Option<Arc<str>>,
}

impl Sample {
    /// Duration less reported server time, per round trip, with both machines' packet handling.
    pub fn round_trip(&self) -> Option<Duration> {
        let turns = u32::try_from(self.turns?).ok()?;
        let away = self.duration?.saturating_sub(self.server.unwrap_or_default());
        away.checked_div(turns)
    }
}

/// Tunnel, proxy, pooler or load balancer that answers TCP in a target's place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Intermediary {
    /// The target without its secrets.
    pub target: Arc<str>,
    /// Round-trip time of the TCP connection.
    #[serde(rename = "near_rtt_ns", with = "ns")]
    pub near_round_trip: Duration,
    /// Smallest round trip of a reply, without server time.
    #[serde(rename = "round_trip_ns", with = "ns")]
    pub round_trip: Duration,
    /// Whether the server reported its time.
    pub server_reported: bool,
}

/// Summary of a run's samples, besides their spread.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct SampleTotals {
    /// Samples begun, without the first ones of connections.
    pub sent: u64,
    /// Samples answered completely in time, including errors.
    pub answered: u64,
    /// Samples refused, broken off or not answered in time.
    pub lost: u64,
    /// Error replies among `answered`, not in percentiles.
    pub errors: u64,
    /// Replies without error, per second.
    pub per_second: f64,
    /// Standard deviation as in ping; percentiles suit skewed data better.
    #[serde(
        rename = "mdev_ns",
        with = "ns",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub mdev: Option<Duration>,
    /// The instrument's own time, measured in the same run.
    #[serde(
        rename = "floor_ns",
        with = "ns",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub floor: Option<Duration>,
}

/// One step of opening a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leg {
    /// Name such as `dns`, `tcp`, `tls request`, `tls handshake`, `startup`, `scram-sha-256 first`
    /// or `first query`.
    pub name: Arc<str>,
    /// Phase of the step.
    pub phase: Phase,
    /// From the previous leg's end to its last byte; legs sum to the wall time.
    pub duration: Duration,
    /// Cost in round trips, 0 without the server (DNS).
    pub turns: u64,
    /// Payload bytes, encrypted with TLS.
    pub payload_bytes: PerDirection<u64>,
    /// How to avoid or shorten it, if possible.
    pub remedy: Option<Arc<str>>,
    /// Round trips that the remedy saves, possibly 0.
    pub saves_turns: u64,
}

impl Leg {
    /// Payload bytes of one direction.
    pub fn payload(&self, direction: Direction) -> u64 {
        self.payload_bytes[direction]
    }
}

//! Samples: single pings, requests and runs, as instruments that ask on their own take them.

use crate::{Direction, Phase, Timestamp};
use std::sync::Arc;
use std::time::Duration;

/// One ping, request or run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sample {
    /// Which, from 1, among those of its target.
    pub number: u64,
    /// Of what: the target without its secrets.
    pub target: Arc<str>,
    /// When its first byte was handed to the kernel, or its connection begun.
    pub at: Timestamp,
    /// When it should have begun, where there was a schedule: waiting for an earlier one is part of what a
    /// user waits, so figures of open-loop load are counted from here.
    pub intended_at: Option<Timestamp>,
    /// From `at` to the arrival of the last byte of the reply, by the kernel's receive timestamp where the
    /// socket gives one. `None` if there was no reply.
    pub duration: Option<Duration>,
    /// Of this, server time, where the server reported it. How each server reports it:
    /// docs/ping.md#server-time-as-reported.
    pub server: Option<Duration>,
    /// Whether it was the first of its connection: it pays for what later ones find done (caches, plans, a
    /// processor awake), so it is in no percentile.
    pub first: bool,
    /// Round trips it cost, counted from the bytes on the socket; `None` if they were not counted.
    pub turns: Option<u64>,
    /// The kernel's own smoothed round-trip time of the connection (`tcpi_rtt`) when the reply was complete.
    /// It holds what the server took to answer wherever the answer carried the acknowledgement.
    pub kernel_rtt: Option<Duration>,
    /// Why it failed; `None` if it did not. Without secrets and literals.
    pub error: Option<Arc<str>>,
}

impl Sample {
    /// Time less server time, shared among the round trips: what one round trip took, the two machines'
    /// handling of its packets included. Where the server did not report its time, that is in it too. `None`
    /// without a reply, or without a round trip.
    pub fn round_trip(&self) -> Option<Duration> {
        let turns = u32::try_from(self.turns?).ok()?;
        let away = self.duration?.saturating_sub(self.server.unwrap_or_default());
        away.checked_div(turns)
    }
}

/// Something that stands between this host and a target and answers TCP in its place: a tunnel, a proxy, a
/// pooler, a load balancer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Intermediary {
    /// The target without its secrets.
    pub target: Arc<str>,
    /// Round trip of the TCP connection, which ends there.
    pub near_round_trip: Duration,
    /// The smallest round trip of an answer, server time not included.
    pub round_trip: Duration,
    /// Whether the server reported its own time with each answer; otherwise what was asked needs next to
    /// none.
    pub server_reported: bool,
}

/// Summary of a run's samples, in addition to the spread of their durations.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct SampleTotals {
    /// Begun, first ones of a connection not counted.
    pub sent: u64,
    /// Of these, answered in time and whole, with an error or without.
    pub answered: u64,
    /// Of these, not answered: the connection was refused or broke, or nothing came in time.
    pub lost: u64,
    /// Of the answered ones, those whose answer was an error. They are in no percentile.
    pub errors: u64,
    /// Answered without error, per second of the run.
    pub per_second: f64,
    /// Root of the mean square of the durations' distance from their mean, as ping computes it; `None`
    /// without samples. It says little about data as skewed as these: look at the percentiles.
    pub mdev: Option<Duration>,
    /// What the instrument adds by itself on this machine, measured in the same run; `None` if it was not
    /// measured.
    pub floor: Option<Duration>,
}

/// One step of opening a connection: what goes to the server, and what it waits for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leg {
    /// Its name: `dns`, `tcp`, `tls request`, `tls handshake`, `startup`, `scram-sha-256 first`,
    /// `first query`, ...
    pub name: Arc<str>,
    /// The phase it belongs to.
    pub phase: Phase,
    /// From the end of the leg before it to the arrival of its last byte: legs follow each other without
    /// gaps, so that they sum to the wall time.
    pub duration: Duration,
    /// Round trips it cost; 0 for what is not asked of the server (DNS).
    pub turns: u64,
    /// Payload bytes each way ([`Direction::index`]); with TLS, of the ciphertext.
    pub payload_bytes: [u64; 2],
    /// How it can be avoided, or done with fewer round trips; `None` if it cannot.
    pub remedy: Option<Arc<str>>,
    /// Round trips that the remedy saves; 0 where there is none, or where it saves work only.
    pub saves_turns: u64,
}

impl Leg {
    /// Payload bytes of one direction.
    pub const fn payload(&self, direction: Direction) -> u64 {
        self.payload_bytes[direction.index()]
    }
}

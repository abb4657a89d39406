//! Results of echo, round trips and rates.

use crate::serde_units::ns;
use crate::{BitRate, Direction, Distribution};
use serde::Serialize;
use std::time::Duration;

/// Round trips with one request and reply size, on concurrent streams.
///
/// A round trip lasts from handing the request to the kernel until reading the last byte of the
/// reply, including both machines' handling. Half of it (qperf's `tcp_lat`) is called "one way".
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EchoOutcome {
    /// Payload bytes of a request.
    pub request_bytes: u64,
    /// Payload bytes of a reply.
    pub reply_bytes: u64,
    /// Concurrent streams with one request in flight each.
    pub streams: u32,
    /// Whether both sides polled for messages instead of sleeping.
    pub spin: bool,
    /// Round trips without a wake-up on this side, as the reply came while polling before sleep.
    /// Not counted with `spin`.
    #[serde(rename = "polled_replies")]
    pub polled: u64,
    /// Counted time, without the warm-up.
    #[serde(rename = "duration_ns", with = "ns")]
    pub elapsed: Duration,
    /// Round trips per second of all streams.
    pub per_second: f64,
    /// Spread of the round trips.
    #[serde(flatten)]
    pub spread: Distribution,
    /// Processor time of this side's sending and receiving threads.
    #[serde(rename = "client_processor_ns", with = "ns")]
    pub client_processor: Duration,
    /// Processor time reported by the other process, including its `other_clients`.
    #[serde(
        rename = "server_processor_ns",
        with = "ns",
        skip_serializing_if = "Option::is_none"
    )]
    pub server_processor: Option<Duration>,
    /// Other clients of the server.
    pub other_clients: u32,
    /// The kernel's `tcpi_min_rtt`, without process wake-ups.
    #[serde(
        rename = "kernel_rtt_ns",
        with = "ns",
        skip_serializing_if = "Option::is_none"
    )]
    pub kernel_rtt: Option<Duration>,
    /// Packets retransmitted by this side.
    #[serde(rename = "retransmitted_packets")]
    pub retransmitted: u64,
    /// Number of broken streams.
    pub errors: u64,
}

impl EchoOutcome {
    /// Processor time of this side per round trip.
    pub fn client_processor_each(&self) -> Option<Duration> {
        each(self.client_processor, self.spread.count)
    }

    /// Processor time of the other side per round trip, if known.
    pub fn server_processor_each(&self) -> Option<Duration> {
        each(self.server_processor?, self.spread.count)
    }
}

fn each(total: Duration, count: u64) -> Option<Duration> {
    let nanos = total.as_nanos().checked_div(u128::from(count))?;
    u64::try_from(nanos).ok().map(Duration::from_nanos)
}

/// Rate of one direction, and round trips under that load.
#[derive(Debug, Clone, PartialEq)]
pub struct BulkOutcome {
    /// Direction of the bytes.
    pub direction: Direction,
    /// Payload bytes that arrived in the counted time.
    pub payload_bytes: u64,
    /// Time by the receiver's clock, without TCP's start.
    pub elapsed: Duration,
    /// Payload over time, if any arrived; headers add some 3 to 5 % on the wire.
    pub rate: Option<BitRate>,
    /// Retransmitted packets, unless the other side sent.
    pub retransmitted: Option<u64>,
    /// Round trips on the idle path, measured before.
    pub idle: Distribution,
    /// Round trips under load: the excess is the queue's delay.
    pub loaded: Distribution,
    /// Processor time of this side.
    pub client_processor: Duration,
    /// Processor time reported by the other process.
    pub server_processor: Option<Duration>,
}

impl BulkOutcome {
    /// Increase of the median round trip under load, at least zero.
    pub fn queue_delay(&self) -> Option<Duration> {
        Some(self.loaded.p50?.saturating_sub(self.idle.p50?))
    }
}

//! Records of echo: `echo`, `bulk`.

use super::nanos;
use super::outcome::Spread;
use model::{BulkOutcome, Direction, EchoOutcome};
use serde::Serialize;

/// Round trips of one request and reply size, on a number of streams.
#[derive(Serialize)]
pub(super) struct EchoRecord {
    request_bytes: u64,
    reply_bytes: u64,
    streams: u32,
    spin: bool,
    polled_replies: u64,
    duration_ns: u64,
    per_second: f64,
    #[serde(flatten)]
    spread: Spread,
    client_processor_ns: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    server_processor_ns: Option<u64>,
    other_clients: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    kernel_rtt_ns: Option<u64>,
    retransmitted_packets: u64,
    errors: u64,
}

impl EchoRecord {
    pub(super) fn new(echo: &EchoOutcome) -> Self {
        Self {
            request_bytes: echo.request_bytes,
            reply_bytes: echo.reply_bytes,
            streams: echo.streams,
            spin: echo.spin,
            polled_replies: echo.polled,
            duration_ns: nanos(echo.elapsed),
            per_second: echo.per_second,
            spread: Spread::new(&echo.spread),
            client_processor_ns: nanos(echo.client_processor),
            server_processor_ns: echo.server_processor.map(nanos),
            other_clients: echo.other_clients,
            kernel_rtt_ns: echo.kernel_rtt.map(nanos),
            retransmitted_packets: echo.retransmitted,
            errors: echo.errors,
        }
    }
}

/// The rate of one direction, and round trips during the transfer.
#[derive(Serialize)]
pub(super) struct BulkRecord {
    direction: &'static str,
    payload_bytes: u64,
    duration_ns: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    rate_bits_per_second: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    retransmitted_packets: Option<u64>,
    idle_samples: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    idle_p50_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    idle_p99_ns: Option<u64>,
    loaded_samples: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    loaded_p50_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    loaded_p99_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    queue_delay_ns: Option<u64>,
    client_processor_ns: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    server_processor_ns: Option<u64>,
}

impl BulkRecord {
    pub(super) fn new(bulk: &BulkOutcome) -> Self {
        Self {
            direction: match bulk.direction {
                Direction::ClientToServer => "client_to_server",
                Direction::ServerToClient => "server_to_client",
            },
            payload_bytes: bulk.payload_bytes,
            duration_ns: nanos(bulk.elapsed),
            rate_bits_per_second: bulk.rate.map(model::BitRate::as_bits_per_second),
            retransmitted_packets: bulk.retransmitted,
            idle_samples: bulk.idle.count,
            idle_p50_ns: bulk.idle.p50.map(nanos),
            idle_p99_ns: bulk.idle.p99.map(nanos),
            loaded_samples: bulk.loaded.count,
            loaded_p50_ns: bulk.loaded.p50.map(nanos),
            loaded_p99_ns: bulk.loaded.p99.map(nanos),
            queue_delay_ns: bulk.queue_delay().map(nanos),
            client_processor_ns: nanos(bulk.client_processor),
            server_processor_ns: bulk.server_processor.map(nanos),
        }
    }
}

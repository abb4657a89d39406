//! The record of an emulated link.

use super::nanos;
use model::{BitRate, LinkOutcome};
use serde::Serialize;

#[derive(Serialize)]
pub(super) struct LinkRecord<'a> {
    name: &'a str,
    asked: &'a str,
    rtt_ns: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    rtt_error_p50_ns: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rtt_error_p99_ns: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    floor_ns: Option<u64>,
    client_packets: u64,
    server_packets: u64,
    client_wire_bytes: u64,
    server_wire_bytes: u64,
    client_dropped_by_queue: u64,
    server_dropped_by_queue: u64,
    client_dropped_by_loss: u64,
    server_dropped_by_loss: u64,
    client_dropped_by_outage: u64,
    server_dropped_by_outage: u64,
    client_dropped_unasked: u64,
    server_dropped_unasked: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    client_rate_bits_per_second: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    server_rate_bits_per_second: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    client_realised_bits_per_second: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    server_realised_bits_per_second: Option<u64>,
}

impl<'a> LinkRecord<'a> {
    pub(super) fn new(link: &'a LinkOutcome) -> Self {
        let [client, server] = link.directions.into_array();
        let bits = |rate: Option<BitRate>| rate.map(BitRate::as_bits_per_second);
        Self {
            name: &link.name,
            asked: &link.asked,
            rtt_ns: nanos(link.rtt),
            rtt_error_p50_ns: link.rtt_error_p50_ns,
            rtt_error_p99_ns: link.rtt_error_p99_ns,
            floor_ns: link.floor.map(nanos),
            client_packets: client.packets,
            server_packets: server.packets,
            client_wire_bytes: client.wire_bytes,
            server_wire_bytes: server.wire_bytes,
            client_dropped_by_queue: client.dropped_by_queue,
            server_dropped_by_queue: server.dropped_by_queue,
            client_dropped_by_loss: client.dropped_by_loss,
            server_dropped_by_loss: server.dropped_by_loss,
            client_dropped_by_outage: client.dropped_by_outage,
            server_dropped_by_outage: server.dropped_by_outage,
            client_dropped_unasked: client.dropped_unasked,
            server_dropped_unasked: server.dropped_unasked,
            client_rate_bits_per_second: bits(client.rate),
            server_rate_bits_per_second: bits(server.rate),
            client_realised_bits_per_second: bits(client.realised_rate),
            server_realised_bits_per_second: bits(server.realised_rate),
        }
    }
}

//! Records of a tunnel's end: `tunnel`, `tunnel_way` (one direction), `notice`.

use super::nanos;
use model::{Direction, Timestamp, TunnelDirection, TunnelTotals};
use serde::Serialize;

#[derive(Serialize)]
pub(super) struct TunnelRecord<'a> {
    end: &'a str,
    duration_ns: u64,
    streams: u64,
    open_streams: u64,
    broken_streams: u64,
    refused_streams: u64,
    lanes: u64,
    lane_losses: u64,
    refused_peers: u64,
    processor_ns: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    processors: Option<f64>,
}

impl<'a> TunnelRecord<'a> {
    pub(super) fn new(end: &'a str, totals: &TunnelTotals) -> Self {
        Self {
            end,
            duration_ns: nanos(totals.elapsed),
            streams: totals.streams,
            open_streams: totals.open_streams,
            broken_streams: totals.broken_streams,
            refused_streams: totals.refused_streams,
            lanes: totals.lanes,
            lane_losses: totals.lane_losses,
            refused_peers: totals.refused_peers,
            processor_ns: nanos(totals.processor),
            processors: totals.processors(),
        }
    }
}

#[derive(Serialize)]
pub(super) struct TunnelDirectionRecord {
    direction: &'static str,
    payload_bytes: u64,
    tunnel_bytes: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    ratio: Option<f64>,
    chunks: u64,
    stored_chunks: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    level_payload_bytes: Option<[u64; 10]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    codec_ns: Option<u64>,
    stalls: u64,
    stalled_ns: u64,
    reader_stalls: u64,
}

impl TunnelDirectionRecord {
    pub(super) fn new(direction: Direction, way: &TunnelDirection) -> Self {
        Self {
            direction: match direction {
                Direction::ClientToServer => "client_to_server",
                Direction::ServerToClient => "server_to_client",
            },
            payload_bytes: way.payload_bytes,
            tunnel_bytes: way.tunnel_bytes,
            ratio: way.ratio(),
            chunks: way.chunks,
            stored_chunks: way.stored_chunks,
            level_payload_bytes: way.is_sent_here().then_some(way.payload_bytes_at),
            codec_ns: way.is_sent_here().then(|| nanos(way.codec_time)),
            stalls: way.stalls,
            stalled_ns: nanos(way.stalled),
            reader_stalls: way.reader_stalls,
        }
    }
}

#[derive(Serialize)]
pub(super) struct NoticeRecord<'a> {
    at_ns: u64,
    text: &'a str,
}

impl<'a> NoticeRecord<'a> {
    pub(super) fn new(at: Timestamp, text: &'a str) -> Self {
        Self {
            at_ns: at.as_nanos(),
            text,
        }
    }
}

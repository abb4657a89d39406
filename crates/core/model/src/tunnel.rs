//! Traffic at one end of a tunnel.

use crate::serde_units::ns;
use crate::{Direction, PerDirection};
use serde::Serialize;
use std::time::Duration;

/// One direction at one end, with times of this end's half of the work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TunnelDirection {
    /// Bytes of database connections.
    pub payload_bytes: u64,
    /// Bytes of all frames with headers, before encryption (22 bytes per record of at most 16 KiB)
    /// and TCP.
    pub tunnel_bytes: u64,
    /// Frames with bytes of streams.
    pub chunks: u64,
    /// Uncompressed frames among these.
    pub stored_chunks: u64,
    /// Payload bytes by level, at the sending end.
    pub payload_bytes_at: [u64; 10],
    /// Compression time at the sending end, as wall time: more than processor time on a busy
    /// machine.
    pub codec_time: Duration,
    /// Waits for room in the lane, at the sending end.
    pub stalls: u64,
    /// Total time without room.
    pub stalled: Duration,
    /// Waits of streams for the other end's reader.
    pub reader_stalls: u64,
}

impl TunnelDirection {
    /// Whether this end sent in this direction, so has sender's figures.
    pub fn is_sent_here(&self) -> bool {
        self.payload_bytes_at.iter().any(|bytes| *bytes > 0)
    }

    /// Tunnel bytes over payload bytes, above 1 for incompressible data.
    pub fn compressed_to(&self) -> Option<f64> {
        (self.payload_bytes > 0).then(|| self.tunnel_bytes as f64 / self.payload_bytes as f64)
    }

    /// Payload bytes per tunnel byte; `None` before the first.
    pub fn ratio(&self) -> Option<f64> {
        (self.tunnel_bytes > 0).then(|| self.payload_bytes as f64 / self.tunnel_bytes as f64)
    }
}

/// Totals of one end of a tunnel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct TunnelTotals {
    /// Time since its start.
    #[serde(rename = "duration_ns", with = "ns")]
    pub elapsed: Duration,
    /// Database connections carried, ended ones included.
    pub streams: u64,
    /// Both directions.
    #[serde(skip)]
    pub ways: PerDirection<TunnelDirection>,
    /// Database connections open now.
    pub open_streams: u64,
    /// Connections not closed by both sides.
    pub broken_streams: u64,
    /// Connections refused by a limit, or for lack of a lane.
    pub refused_streams: u64,
    /// Number of lanes open now.
    pub lanes: u64,
    /// Lanes that broke and were reopened.
    pub lane_losses: u64,
    /// Refused clients of the tunnel's port (wrong key or version, too slow).
    pub refused_peers: u64,
    /// Processor time of all threads.
    #[serde(rename = "processor_ns", with = "ns")]
    pub processor: Duration,
}

impl TunnelTotals {
    /// Figures of one direction.
    pub fn direction(&self, direction: Direction) -> &TunnelDirection {
        &self.ways[direction]
    }

    /// Mean number of busy processors; `None` at the start.
    pub fn processors(&self) -> Option<f64> {
        (!self.elapsed.is_zero()).then(|| self.processor.as_secs_f64() / self.elapsed.as_secs_f64())
    }
}

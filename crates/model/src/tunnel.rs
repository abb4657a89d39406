//! What passed through one end of a tunnel.

use crate::Direction;
use std::time::Duration;

/// One direction of the tunnel, as one of its ends sees it.
///
/// Each end compresses what it sends and decompresses what it receives, so times are of this end's half of
/// the work alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TunnelDirection {
    /// Bytes of the databases' connections that went this way.
    pub payload_bytes: u64,
    /// Bytes of frames that carried them between the ends, headers and the tunnel's own frames included,
    /// before encryption (which adds 22 bytes a record of at most 16 KiB) and TCP.
    pub tunnel_bytes: u64,
    /// Frames with bytes of streams in them.
    pub chunks: u64,
    /// Those of them that went as they were.
    pub stored_chunks: u64,
    /// Payload bytes at each level, 0 to 9; known to the end that sends this way only.
    pub payload_bytes_at: [u64; 10],
    /// Time spent compressing; known to the end that sends. Wall time of the thread that does it: on a busy
    /// machine it is more than processor time.
    pub codec_time: Duration,
    /// How often this way had bytes to send and the lane no room for them; known to the end that sends.
    pub stalls: u64,
    /// How long it had no room, added up.
    pub stalled: Duration,
    /// How often a stream had bytes to send and its reader at the other end had not taken what was sent
    /// before.
    pub reader_stalls: u64,
}

impl TunnelDirection {
    /// Whether this end has sent something this way, and so knows what only the sender does.
    pub fn is_sent_here(&self) -> bool {
        self.payload_bytes_at.iter().any(|bytes| *bytes > 0)
    }

    /// Tunnel bytes over payload bytes; `None` before the first payload. Above 1 where nothing could be made
    /// smaller.
    pub fn compressed_to(&self) -> Option<f64> {
        (self.payload_bytes > 0).then(|| self.tunnel_bytes as f64 / self.payload_bytes as f64)
    }

    /// How many payload bytes one tunnel byte carried; `None` before the first.
    pub fn ratio(&self) -> Option<f64> {
        (self.tunnel_bytes > 0).then(|| self.payload_bytes as f64 / self.tunnel_bytes as f64)
    }
}

/// What one end of a tunnel did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TunnelTotals {
    /// Both directions ([`Direction::index`]).
    pub ways: [TunnelDirection; 2],
    /// Database connections carried, those that ended included.
    pub streams: u64,
    /// Those open now.
    pub open_streams: u64,
    /// Those that ended otherwise than by both sides saying they were done: resets, a lane that broke, no
    /// server.
    pub broken_streams: u64,
    /// Those not taken: beyond a limit, or no lane in time.
    pub refused_streams: u64,
    /// Lanes up now.
    pub lanes: u64,
    /// Lanes that broke and were opened again.
    pub lane_losses: u64,
    /// Clients that connected to the tunnel's port and were refused: wrong key, not a tunnel, another
    /// version, too slow.
    pub refused_peers: u64,
    /// Processor time of the process, of all its threads.
    pub processor: Duration,
    /// For how long it has run.
    pub elapsed: Duration,
}

impl TunnelTotals {
    /// One direction.
    pub fn direction(&self, direction: Direction) -> &TunnelDirection {
        &self.ways[direction.index()]
    }

    /// How many processors it kept busy, on average: 1.5 is one and a half. `None` before it has run.
    pub fn processors(&self) -> Option<f64> {
        (!self.elapsed.is_zero()).then(|| self.processor.as_secs_f64() / self.elapsed.as_secs_f64())
    }
}

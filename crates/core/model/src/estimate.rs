//! An operation known by a few figures, and its time elsewhere by arithmetic alone.

use crate::{ByteCount, Share};
use std::sync::Arc;
use std::time::Duration;

/// Figures of an operation that was not observed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct KnownOperation {
    /// Its time without the network; `None` if only the network's time is wanted.
    pub work: Option<Duration>,
    /// How often the client waits for the network, on average.
    pub round_trips: f64,
    /// Payload in the direction that carries more.
    pub payload: ByteCount,
    /// Concurrent clients, each with one operation after another. At least one.
    pub clients: u32,
    /// Pause of a client between operations.
    pub think: Duration,
}

/// Rows that travel a buffer at a time, each buffer for one round trip.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RowTransfer {
    /// Rows of one operation.
    pub rows: u64,
    /// Payload of each row.
    pub row_bytes: ByteCount,
    /// Size of the buffer; rows are not split.
    pub buffer: ByteCount,
}

impl RowTransfer {
    /// At least one, however small the buffer.
    pub fn rows_per_buffer(&self) -> u64 {
        let rows = self.buffer.as_bytes().checked_div(self.row_bytes.as_bytes());
        rows.unwrap_or(self.rows).clamp(1, self.rows.max(1))
    }

    /// Buffers, and so round trips.
    pub fn buffers(&self) -> u64 {
        self.rows.div_ceil(self.rows_per_buffer())
    }

    /// Saturates at 64 bits.
    pub fn payload(&self) -> ByteCount {
        ByteCount::from_bytes(self.rows.saturating_mul(self.row_bytes.as_bytes()))
    }
}

/// Compression on the way.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Compression {
    /// Bytes before, divided by bytes after. At least 1.
    pub ratio: f64,
    /// Bytes that are compressed and decompressed in a second; `None` if that costs no time.
    pub bytes_per_second: Option<f64>,
}

impl Compression {
    /// Rate in bit/s below which a transfer takes less time compressed. `None`: at every rate.
    pub fn pays_below(&self) -> Option<f64> {
        Some(self.bytes_per_second? * 8.0 * (1.0 - 1.0 / self.ratio))
    }
}

/// An operation's time over a link, from its figures.
///
/// A lower bound, without slow start, windows, loss and queues. With several clients, the time of
/// a closed loop in which only the link's rate is shared (asymptotic bounds, Denning
/// and Buzen 1978).
#[derive(Debug, Clone, PartialEq)]
pub struct Estimate {
    /// The link in its text form.
    pub link: Arc<str>,
    /// The link's round-trip time.
    pub rtt: Duration,
    /// Rows of the operation, if it transfers any.
    pub rows: Option<RowTransfer>,
    /// Packets of rows and requests, both ways; acknowledgements alone do not count.
    pub packets: Option<u64>,
    /// The figures that were given.
    pub operation: KnownOperation,
    /// Round trips times rtt.
    pub round_trips: Duration,
    /// Bytes with headers at the link's rate.
    pub transfer: Duration,
    /// Compressing and decompressing; zero without compression.
    pub compressing: Duration,
    /// Waiting for other clients' bytes.
    pub waiting: Duration,
    /// Payload as it crosses the link.
    pub sent: ByteCount,
    /// Whether it crosses the link compressed.
    pub is_compressed: bool,
}

impl Estimate {
    /// Round trips, transfer, and waiting for the link.
    pub fn network(&self) -> Duration {
        self.round_trips
            .saturating_add(self.transfer)
            .saturating_add(self.waiting)
    }

    /// Of the whole operation, or of its network alone where the work is unknown.
    pub fn time(&self) -> Duration {
        self.network()
            .saturating_add(self.compressing)
            .saturating_add(self.operation.work.unwrap_or_default())
    }

    /// Operations of all clients; `None` if the work is unknown.
    pub fn per_second(&self) -> Option<f64> {
        self.operation.work?;
        let cycle = self.time().saturating_add(self.operation.think).as_secs_f64();
        (cycle > 0.0).then(|| f64::from(self.operation.clients) / cycle)
    }

    /// `None` if the work is unknown.
    pub fn network_share(&self) -> Option<Share> {
        self.operation.work?;
        Share::from_parts(self.network(), self.time())
    }
}

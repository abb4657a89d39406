//! TCP as in Linux; each [`Flow`] is one direction of a connection.
//!
//! Sources: RFC 9293, 5681, 6928 (initial window), 7661 and Linux's `tcp_cwnd_validate` (unused
//! window), 9406 and Linux's `tcp_cubic.c` (early exit from slow start), 9438 (cubic), 8985 (loss
//! detection); the Linux source, version 6, where it differs, and for BBR.
//! Congestion windows are packets.

mod bbr;
mod congestion;
mod control;
mod flow;
mod receiver;
mod round_trip;
mod stream_offset;
#[cfg(test)]
mod traces;

pub use congestion::INITIAL_WINDOW;
pub use flow::{Flow, Waiter};
pub use receiver::Reaction;
pub use stream_offset::StreamOffset;

use model::{Nanos, Timestamp};

/// Bytes of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sending {
    /// Offset of its first byte.
    pub start: StreamOffset,
    /// The offset after its last byte.
    pub end: StreamOffset,
}

/// The receiver's part of a packet's header.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Acknowledgement {
    /// Offset up to which all bytes have arrived.
    pub received: StreamOffset,
    /// Offset up to which the sender may send.
    pub allowed: StreamOffset,
}

/// The sender's bytes that are sent and not acknowledged.
#[derive(Debug, Clone, Copy)]
struct Unacknowledged {
    acked: StreamOffset,
    sent: StreamOffset,
}

/// Of a kernel with 250 Hz, as distributions have.
const TICKS_PER_SECOND: u64 = 250;
const TICK: Nanos = Nanos::from_millis(1_000 / TICKS_PER_SECOND);

const fn ticks(at: Timestamp) -> u64 {
    at.as_nanos() / TICK.get()
}

const fn shift(at: Timestamp, by: i64) -> Timestamp {
    Timestamp::from_nanos(at.as_nanos().saturating_add_signed(by))
}

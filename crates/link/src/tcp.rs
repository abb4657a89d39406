//! TCP as in Linux; each [`Flow`] is one direction of a connection.
//!
//! Sources: RFC 9293, 5681, 6928 (initial window), 7661 and Linux's `tcp_cwnd_validate` (unused
//! window), 9406 and Linux's `tcp_cubic.c` (early exit from slow start), 9438 (cubic), 8985 (loss
//! detection); the Linux source, version 6, where it differs. Times are nanoseconds of virtual
//! time, congestion windows are packets.

mod congestion;
mod flow;
mod receiver;
mod round_trip;

pub use congestion::INITIAL_WINDOW;
pub use flow::{Flow, Sending};
pub use receiver::Reaction;

//! The flow through the crates: events of connections -> messages -> facts -> outcomes.
//!
//! [`decode`] serves one connection and runs wherever its bytes are (in the relay: on the thread that forwards
//! them); [`aggregator`] looks at all of them together.

pub mod aggregator;
pub mod decode;
mod missing;
pub mod moved;
mod notes;
pub mod outbox;
pub mod outlet;
mod sink;

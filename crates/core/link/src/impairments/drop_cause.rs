//! Reasons of drops.

/// Why a packet did not arrive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DropCause {
    /// The queue was full.
    Queue,
    /// It was lost at random, as requested.
    Loss,
    /// An outage was in progress.
    Outage,
}

//! Who sees the connections of a run.

use model::{ObserverFactory, Timestamp};
use sys::Clock;

/// Who sees every connection of a run, as one who stood beside it: for recordings.
#[derive(Clone, Copy)]
pub struct Watch<'a> {
    /// The timeline of what is seen.
    pub clock: Clock,
    /// Makes the observer of each connection.
    pub factory: &'a dyn ObserverFactory,
    /// Is told when each operation of the event loop's clients begins, before its first byte.
    pub began: Option<&'a (dyn Fn(Timestamp) + Sync)>,
}

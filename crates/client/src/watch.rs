//! Who sees the connections of a run.

use model::{ObserverFactory, Timestamp};
use sys::Clock;

/// Who observes every connection of a run, as a relay would: for recordings.
#[derive(Clone, Copy)]
pub struct Watch<'a> {
    /// The timeline of what is seen.
    pub clock: Clock,
    /// Makes the observer of each connection.
    pub factory: &'a dyn ObserverFactory,
    /// Called when each operation of the event loop's clients begins, before its first byte.
    pub began: Option<&'a (dyn Fn(Timestamp) + Sync)>,
}

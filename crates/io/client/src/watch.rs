//! Observation of a run's connections.

use model::{ObserverFactory, Timestamp};
use sys::Clock;

/// Observes every connection of a run, like a relay, for recordings.
#[derive(Clone, Copy)]
pub struct Watch<'a> {
    pub clock: Clock,
    pub factory: &'a dyn ObserverFactory,
    /// Called at the start of each operation of the event loop's clients, before its first byte.
    pub began: Option<&'a (dyn Fn(Timestamp) + Sync)>,
}

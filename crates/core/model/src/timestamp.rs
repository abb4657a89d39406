//! Points in time on one timeline.

use crate::Nanos;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Nanoseconds since the Unix epoch on one observation point's timeline.
///
/// Live sources anchor the monotonic clock to the epoch at start, so differences contain no clock
/// steps. Timelines of two hosts have an unknown offset.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
pub struct Timestamp(u64);

impl Timestamp {
    /// From nanoseconds since the Unix epoch.
    pub const fn from_nanos(nanoseconds: u64) -> Self {
        Self(nanoseconds)
    }

    /// Nanoseconds since the Unix epoch.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Time since `earlier`, zero if that is later (packets may be out of order).
    pub const fn since(self, earlier: Timestamp) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }

    /// [`Timestamp::since`] in one word.
    pub const fn nanos_since(self, earlier: Timestamp) -> Nanos {
        Nanos::new(self.0.saturating_sub(earlier.0))
    }

    /// [`Timestamp::after`] a span in one word.
    #[must_use]
    pub const fn plus(self, span: Nanos) -> Self {
        Self(self.0.saturating_add(span.get()))
    }

    /// [`Timestamp::before`] a span in one word.
    #[must_use]
    pub const fn minus(self, span: Nanos) -> Self {
        Self(self.0.saturating_sub(span.get()))
    }

    /// Adds `span`, at most to the end of the timeline (year 2554).
    pub const fn after(self, span: Duration) -> Self {
        Self(self.0.saturating_add(saturating_nanos(span)))
    }

    /// Subtracts `span`, at most to the epoch.
    pub const fn before(self, span: Duration) -> Self {
        Self(self.0.saturating_sub(saturating_nanos(span)))
    }
}

const fn saturating_nanos(span: Duration) -> u64 {
    let nanoseconds = span.as_nanos();
    if nanoseconds > u64::MAX as u128 {
        u64::MAX
    } else {
        nanoseconds as u64
    }
}

//! Points in time.

use std::time::Duration;

/// A point in time: nanoseconds since the Unix epoch on the timeline of one observation point.
///
/// Capture files carry it as recorded. Live sources anchor the monotonic clock to the epoch once at start, so
/// that differences never contain a step of the wall clock. Two observation points on two hosts have two
/// timelines: their difference is unknown until it is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Timestamp(u64);

impl Timestamp {
    /// The point `nanoseconds` after the Unix epoch.
    pub const fn from_nanos(nanoseconds: u64) -> Self {
        Self(nanoseconds)
    }

    /// Nanoseconds since the Unix epoch.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }

    /// Time passed since `earlier`; zero when `earlier` is later (packets of a capture may be out of order).
    pub const fn since(self, earlier: Timestamp) -> Duration {
        Duration::from_nanos(self.0.saturating_sub(earlier.0))
    }

    /// This point moved `span` later; stays at the end of the timeline (year 2554) when it would pass it.
    pub const fn after(self, span: Duration) -> Self {
        Self(self.0.saturating_add(saturating_nanos(span)))
    }

    /// This point moved `span` earlier; stays at the epoch when it would pass it.
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

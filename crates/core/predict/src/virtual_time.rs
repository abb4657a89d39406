//! The time of replays.

use model::{Nanos, Timestamp};
use std::num::NonZeroU64;

/// A nanosecond of virtual time, never zero: `Option<VirtualTime>` is no larger.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct VirtualTime(NonZeroU64);

impl VirtualTime {
    /// Start of each replay. Not zero, so that connections can have a past.
    pub const BEGIN: Self = Self(NonZeroU64::MIN.saturating_add(999_999_999_999_999));

    /// From a network's clock, at least one.
    pub const fn from_timestamp(at: Timestamp) -> Self {
        match NonZeroU64::new(at.as_nanos()) {
            Some(nanos) => Self(nanos),
            None => Self(NonZeroU64::MIN),
        }
    }

    pub const fn timestamp(self) -> Timestamp {
        Timestamp::from_nanos(self.0.get())
    }

    #[must_use]
    pub const fn after(self, span: Nanos) -> Self {
        Self(self.0.saturating_add(span.get()))
    }

    /// Time since `earlier`, or zero if that is later or `None`.
    pub fn since(self, earlier: impl Into<Option<Self>>) -> Nanos {
        let earlier = earlier.into().unwrap_or(self);
        self.timestamp().nanos_since(earlier.timestamp())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_that_did_not_come_takes_no_room_and_nothing_is_since_it() {
        assert_eq!(size_of::<Option<VirtualTime>>(), 8);
        assert_eq!(VirtualTime::BEGIN.timestamp().as_nanos(), 1_000_000_000_000_000);
        let later = VirtualTime::BEGIN.after(Nanos::new(5));
        assert_eq!(later.since(VirtualTime::BEGIN), Nanos::new(5));
        assert_eq!(VirtualTime::BEGIN.since(later), Nanos::ZERO);
        assert_eq!(later.since(None), Nanos::ZERO);
        assert!(Some(later) > None);
    }
}

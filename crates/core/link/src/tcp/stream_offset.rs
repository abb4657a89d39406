//! Positions in the bytes of a flow.

use std::ops::{Add, AddAssign, Sub};

/// Number of bytes before a position in a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct StreamOffset(u64);

impl StreamOffset {
    /// The position before the first byte.
    pub const START: Self = Self(0);

    /// The position after so many bytes.
    pub const fn after(bytes: u64) -> Self {
        Self(bytes)
    }

    /// The number of bytes before it.
    pub const fn bytes_before(self) -> u64 {
        self.0
    }

    /// Bytes since `earlier`, zero if that is later.
    pub const fn bytes_since(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0)
    }

    /// So many bytes earlier, at most at the start.
    #[must_use]
    pub const fn back(self, bytes: u64) -> Self {
        Self(self.0.saturating_sub(bytes))
    }
}

impl Add<u64> for StreamOffset {
    type Output = Self;

    fn add(self, bytes: u64) -> Self {
        Self(self.0 + bytes)
    }
}

impl AddAssign<u64> for StreamOffset {
    fn add_assign(&mut self, bytes: u64) {
        self.0 += bytes;
    }
}

impl Sub for StreamOffset {
    type Output = u64;

    fn sub(self, earlier: Self) -> u64 {
        self.0 - earlier.0
    }
}

//! Limits of expected replies: per connection, and per run.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Per connection. Beyond it the oldest requests are given up, and replies are matched as after
/// lost bytes: no real client sends more, garbage may.
pub const MAX_PENDING_REPLIES: usize = 100_000;

/// Per run, except that each connection may have [`MIN_PENDING_REPLIES`]. Each takes 0.9 KB.
pub const MAX_TOTAL_PENDING_REPLIES: usize = 200_000;

/// Always allowed per connection.
const MIN_PENDING_REPLIES: usize = 128;

/// Expected replies of a run; clones share one count.
#[derive(Debug, Clone, Default)]
pub struct PendingReplyBudget(Arc<AtomicUsize>);

#[derive(Debug, Default)]
pub(super) struct Share {
    all: PendingReplyBudget,
    /// Differs from the true number by less than [`STEP`].
    counted: usize,
}

impl Share {
    pub(super) fn new(all: PendingReplyBudget) -> Self {
        Self { all, counted: 0 }
    }

    pub(super) fn count(&mut self, pending: usize) {
        if pending.abs_diff(self.counted) >= STEP {
            self.all.0.fetch_add(pending, Ordering::Relaxed);
            self.all.0.fetch_sub(self.counted, Ordering::Relaxed);
            self.counted = pending;
        }
    }

    pub(super) fn most(&self) -> usize {
        match self.all.0.load(Ordering::Relaxed) {
            ..MAX_TOTAL_PENDING_REPLIES => MAX_PENDING_REPLIES,
            _ => MIN_PENDING_REPLIES,
        }
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.all.0.fetch_sub(self.counted, Ordering::Relaxed);
    }
}

/// Connections count in steps to avoid contention.
const STEP: usize = 64;

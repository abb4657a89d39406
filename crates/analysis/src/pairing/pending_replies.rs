//! How many requests are owed a reply: on one connection, and on all of a run.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Most requests that may be owed a reply on one connection. When a client sends more, its oldest ones are
/// given up, and which replies answer the others is decided as behind lost bytes: no real client does so,
/// garbage may.
pub const MAX_PENDING_REPLIES: usize = 100_000;

/// Most of all connections of a run together, as far as each may not have [`MIN_PENDING_REPLIES`]. Each takes
/// 0.9 KB.
pub const MAX_TOTAL_PENDING_REPLIES: usize = 200_000;

/// What a connection may always be owed, however much the others are.
const MIN_PENDING_REPLIES: usize = 128;

/// Requests that are owed a reply on all connections of a run; clones are of the same run.
#[derive(Debug, Clone, Default)]
pub struct PendingReplyBudget(Arc<AtomicUsize>);

/// One connection's part of them.
#[derive(Debug, Default)]
pub(super) struct Share {
    all: PendingReplyBudget,
    /// What is counted in `all`: never [`STEP`] away from what is owed.
    counted: usize,
}

impl Share {
    pub(super) fn new(all: PendingReplyBudget) -> Self {
        Self { all, counted: 0 }
    }

    /// This many are owed on this connection now.
    pub(super) fn count(&mut self, owed: usize) {
        if owed.abs_diff(self.counted) >= STEP {
            self.all.0.fetch_add(owed, Ordering::Relaxed);
            self.all.0.fetch_sub(self.counted, Ordering::Relaxed);
            self.counted = owed;
        }
    }

    /// How many may be owed.
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

/// Connections count in steps, so that they seldom contend.
const STEP: usize = 64;

//! Pauses trials of a level that lost.

use model::Timestamp;
use std::time::Duration;

/// Doubles if the level loses again soon, up to a limit, and restarts otherwise.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Rest {
    until: Timestamp,
    span: Duration,
}

impl Rest {
    pub(super) fn is_over(&self, at: Timestamp) -> bool {
        at >= self.until
    }

    pub(super) fn begin(&mut self, at: Timestamp) {
        let soon = at.since(self.until) < self.span * SOON;
        self.span = if soon {
            (self.span * 2).min(MAX_REST)
        } else {
            FIRST
        };
        self.until = at.after(self.span);
    }
}

const FIRST: Duration = Duration::from_secs(1);
const MAX_REST: Duration = Duration::from_secs(32);
/// In pauses of the last length.
const SOON: u32 = 2;

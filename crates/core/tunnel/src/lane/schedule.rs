//! Selects the next stream to send, preferring quiet ones.

use crate::frame::StreamId;
use std::collections::VecDeque;

/// Streams with bytes to send.
///
/// - A stream that was idle waits in the first queue and has one chunk before all in the
///   second.
/// - After its chunk it goes to the end of the second queue, even without more bytes, and is idle
///   only if it has none at its next turn there. So small frequent requests cannot starve others.
#[derive(Debug, Default)]
pub(super) struct Schedule {
    quiet: VecDeque<StreamId>,
    busy: VecDeque<StreamId>,
}

impl Schedule {
    pub fn was_idle(&mut self, stream: StreamId) {
        self.quiet.push_back(stream);
    }

    pub fn goes_on(&mut self, stream: StreamId) {
        self.busy.push_back(stream);
    }

    pub fn nobody_busy(&self) -> bool {
        self.busy.is_empty()
    }

    pub fn next(&mut self) -> Option<StreamId> {
        self.quiet.pop_front().or_else(|| self.busy.pop_front())
    }
}

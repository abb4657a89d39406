//! Whose turn it is to send: who was quiet goes first.

use crate::frame::StreamId;
use std::collections::VecDeque;

/// The streams that have something to send.
///
/// 1. A stream that was idle waits in the first queue and has one chunk ahead of all in the second.
/// 2. After its chunk it goes to the end of the second queue, whether or not it has more: only when it has
///    nothing left when it is next there is it idle again. So streams that ask little but often cannot keep
///    the others from being served.
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

    /// Whether no stream waits for a round trip in the second queue.
    pub fn nobody_busy(&self) -> bool {
        self.busy.is_empty()
    }

    pub fn next(&mut self) -> Option<StreamId> {
        self.quiet.pop_front().or_else(|| self.busy.pop_front())
    }
}

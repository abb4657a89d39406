//! What the server owes: one note for every request that will be answered, equal neighbours counted together.

use super::command::Subscription;
use decoding::pending_replies::{PendingReplies, TooManyPending};
use model::Phase;

/// How a request will be answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PendingReply {
    /// By one value.
    Value { phase: Phase },
    /// By one value that may contain the server's version.
    Introduction { phase: Phase },
    /// By this many confirmations, in one reply.
    Confirmations { left: u64 },
    /// By confirmations until nothing of this kind is subscribed to.
    ConfirmationsOfAll { what: Subscription },
    /// By one value, after which the server reports everything it is asked.
    Monitor,
    /// By one value, after which the connection is as good as new.
    Reset,
    /// By one value, after which something other than replies follows.
    Replication,
}

/// What is owed, oldest first. Equal neighbours are one run: a million `SET`s take the room of one.
#[derive(Debug, Default)]
pub(super) struct ReplyQueue {
    runs: PendingReplies<(PendingReply, u64), MAXIMUM_RUNS>,
}

impl ReplyQueue {
    /// Notes one more request, unless there are more runs than any client makes.
    pub(super) fn push(&mut self, pending_reply: PendingReply) -> Result<(), TooManyPending> {
        match self.runs.back_mut() {
            Some((last, count)) if *last == pending_reply => *count += 1,
            Some(_) | None => self.runs.push((pending_reply, 1))?,
        }
        Ok(())
    }

    pub(super) fn front(&self) -> Option<PendingReply> {
        self.runs.front().map(|(pending_reply, _)| *pending_reply)
    }

    pub(super) fn pop(&mut self) -> Option<PendingReply> {
        let (pending_reply, count) = self.runs.front_mut()?;
        let pending_reply = *pending_reply;
        *count -= 1;
        if *count == 0 {
            self.runs.pop();
        }
        Some(pending_reply)
    }

    /// Puts a note back in front whose answer has only begun.
    pub(super) fn put_back(&mut self, pending_reply: PendingReply) {
        self.runs.put_back((pending_reply, 1));
    }

    pub(super) fn clear(&mut self) {
        self.runs.clear();
    }
}

/// Runs that are noted: 1.5 MiB.
const MAXIMUM_RUNS: usize = 64 * 1024;

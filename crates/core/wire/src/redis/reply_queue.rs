//! One note per pending reply, equal neighbours counted together.

use super::command::Subscription;
use model::{PendingReplies, Phase, TooManyPending};

/// Expected form of a reply.
///
/// Confirmations are joined to one reply. After `Monitor` the server reports every request, after
/// `Reset` the connection is in its initial state, and after `Replication` no replies follow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PendingReply {
    Value { phase: Phase },
    Introduction { phase: Phase },
    Confirmations { left: u64 },
    ConfirmationsOfAll { what: Subscription },
    Monitor,
    Reset,
    Replication,
}

/// Runs with the oldest first. Equal neighbours are one run, so a million `SET`s take the room of
/// one.
#[derive(Debug, Default)]
pub(super) struct ReplyQueue {
    runs: PendingReplies<(PendingReply, u64), MAXIMUM_RUNS>,
}

impl ReplyQueue {
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

    pub(super) fn put_back(&mut self, pending_reply: PendingReply) {
        self.runs.put_back((pending_reply, 1));
    }

    pub(super) fn clear(&mut self) {
        self.runs.clear();
    }
}

const MAXIMUM_RUNS: usize = 64 * 1024;

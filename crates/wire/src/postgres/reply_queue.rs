//! What the server owes: one note for every client message that has an answer of its own.

use decoding::pending_replies::{PendingReplies, TooManyPending};

/// A client message that is to be answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PendingReply {
    /// A leg of login: start-up, a password, or a request for encryption.
    Leg,
    /// `Parse`: `ParseComplete`.
    Parse,
    /// `Bind`: `BindComplete`.
    Bind,
    /// `Describe`: `RowDescription` or `NoData`.
    Describe,
    /// `Execute`: `CommandComplete`, `EmptyQueryResponse` or `PortalSuspended`.
    Execute,
    /// `Close`: `CloseComplete`.
    Close,
    /// `Flush`: nothing of its own; the client waits for the answer before it.
    Flush,
    /// `Sync`: `ReadyForQuery`.
    Sync,
    /// `Query` or `FunctionCall`: `ReadyForQuery`.
    Query,
}

impl PendingReply {
    /// Whether it completes a request, so that a reply is expected for it.
    const fn completes_request(self) -> bool {
        matches!(self, Self::Leg | Self::Flush | Self::Sync | Self::Query)
    }

    /// Whether it ends with `ReadyForQuery`.
    const fn ends_ready(self) -> bool {
        matches!(self, Self::Leg | Self::Sync | Self::Query)
    }
}

/// What is owed, oldest first: at most [`MAXIMUM_DUE`] notes.
#[derive(Debug, Default)]
pub(super) struct ReplyQueue {
    queue: PendingReplies<PendingReply, MAXIMUM_DUE>,
    requests: usize,
}

impl ReplyQueue {
    /// Whether there is room for what the next message is owed.
    pub(super) fn check(&self) -> Result<(), TooManyPending> {
        self.queue.check()
    }

    /// Notes one more, for which [`ReplyQueue::check`] found room.
    pub(super) fn push(&mut self, pending_reply: PendingReply) {
        if self.queue.push(pending_reply).is_ok() {
            self.requests += usize::from(pending_reply.completes_request());
        }
    }

    pub(super) fn front(&self) -> Option<PendingReply> {
        self.queue.front().copied()
    }

    /// Whether a complete request waits for its reply.
    pub(super) fn has_request(&self) -> bool {
        self.requests > 0
    }

    pub(super) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// How many executions are answered before one that is sent now. `None` if that cannot be counted:
    /// statements sent as text are among what is owed, or too much is.
    pub(super) fn executions(&self) -> Option<usize> {
        let mut pending = self.queue.iter();
        let is_countable = self.queue.len() <= MAXIMUM_COUNTED
            && pending.all(|pending_reply| *pending_reply != PendingReply::Query);
        is_countable.then(|| {
            self.queue
                .iter()
                .filter(|pending_reply| **pending_reply == PendingReply::Execute)
                .count()
        })
    }

    /// Whether a `Flush` sent now has an answer to wait for.
    pub(super) fn flush_has_answer(&self) -> bool {
        self.queue
            .back()
            .is_some_and(|pending_reply| !pending_reply.completes_request())
    }

    /// Takes `due` away when it is what the server must answer now.
    pub(super) fn resolve_reply(&mut self, pending_reply: PendingReply) -> bool {
        let due_now = self.front() == Some(pending_reply);
        if due_now {
            self.pop();
        }
        due_now
    }

    /// `ReadyForQuery`: takes everything up to what it answers away, and says how many requests before that
    /// one will never be answered.
    pub(super) fn resolve_ready(&mut self) -> usize {
        let mut unanswered = 0;
        while let Some(pending_reply) = self.pop() {
            if pending_reply.ends_ready() {
                break;
            }
            unanswered += usize::from(pending_reply.completes_request());
        }
        unanswered
    }

    /// An error in the extended protocol: takes away what the server skips, everything before the next
    /// `Sync`. Gives how many requests were among it.
    pub(super) fn skip_to_sync(&mut self) -> usize {
        let mut skipped = 0;
        while self
            .front()
            .is_some_and(|pending_reply| pending_reply != PendingReply::Sync)
        {
            skipped += usize::from(self.pop().is_some_and(PendingReply::completes_request));
        }
        skipped
    }

    /// Data is to come from the client: the server ignores every `Sync` and `Flush` sent with the `Execute`.
    pub(super) fn forget_syncs(&mut self) {
        self.queue
            .retain(|pending_reply| !matches!(pending_reply, PendingReply::Sync | PendingReply::Flush));
        self.requests = self
            .queue
            .iter()
            .filter(|pending_reply| pending_reply.completes_request())
            .count();
    }

    fn pop(&mut self) -> Option<PendingReply> {
        let pending_reply = self.queue.pop()?;
        self.requests -= usize::from(pending_reply.completes_request());
        Some(pending_reply)
    }
}

/// Notes among which executions are counted.
const MAXIMUM_COUNTED: usize = 64;

/// Notes that may wait, of one byte each: a pipeline of 100,000 executions has five each.
const MAXIMUM_DUE: usize = 512 * 1024;

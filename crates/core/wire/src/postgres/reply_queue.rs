//! One note per client message with a pending answer.

use model::{PendingReplies, TooManyPending};

/// A client message with a pending answer.
///
/// The answers end with `ParseComplete`, `BindComplete`, `RowDescription` or `NoData` (`Describe`),
/// `CloseComplete` and `ReadyForQuery` (`Sync`, `Query`). `Execute` ends with `CommandComplete`,
/// `EmptyQueryResponse` or `PortalSuspended`. `Flush` has no answer, but the client waits for the
/// one before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PendingReply {
    /// Start-up, a password, or a request for encryption.
    Leg,
    Parse,
    Bind,
    Describe,
    Execute,
    Close,
    Flush,
    Sync,
    Query,
}

impl PendingReply {
    const fn completes_request(self) -> bool {
        matches!(self, Self::Leg | Self::Flush | Self::Sync | Self::Query)
    }

    const fn ends_ready(self) -> bool {
        matches!(self, Self::Leg | Self::Sync | Self::Query)
    }
}

/// At most [`MAXIMUM_DUE`] notes, oldest first.
#[derive(Debug, Default)]
pub(super) struct ReplyQueue {
    queue: PendingReplies<PendingReply, MAXIMUM_DUE>,
    requests: usize,
}

impl ReplyQueue {
    pub(super) fn check(&self) -> Result<(), TooManyPending> {
        self.queue.check()
    }

    pub(super) fn push(&mut self, pending_reply: PendingReply) {
        if self.queue.push(pending_reply).is_ok() {
            self.requests += usize::from(pending_reply.completes_request());
        }
    }

    pub(super) fn front(&self) -> Option<PendingReply> {
        self.queue.front().copied()
    }

    pub(super) fn has_request(&self) -> bool {
        self.requests > 0
    }

    pub(super) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// Counts executions answered before one that is sent now. `None` if statements sent as text
    /// are pending, or too many replies.
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

    pub(super) fn flush_has_answer(&self) -> bool {
        self.queue
            .back()
            .is_some_and(|pending_reply| !pending_reply.completes_request())
    }

    pub(super) fn resolve_reply(&mut self, pending_reply: PendingReply) -> bool {
        let due_now = self.front() == Some(pending_reply);
        if due_now {
            self.pop();
        }
        due_now
    }

    /// `ReadyForQuery`: removes everything it answers. Returns the number of earlier requests that
    /// never get an answer.
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

    /// An error in the extended protocol: removes everything before the next `Sync`, which the
    /// server skips. Returns the number of requests among it.
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

    /// The client will send data: the server ignores every `Sync` and `Flush` sent with the
    /// `Execute`.
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

const MAXIMUM_COUNTED: usize = 64;

/// Notes of one byte. A pipeline of 100,000 executions has five notes per execution.
const MAXIMUM_DUE: usize = 512 * 1024;

//! Replies after bytes that were not seen, or that could not be decoded: which requests they answer.
//!
//! How many requests or replies such bytes hold is not known, so what follows could answer any of the
//! requests that are owed. The replies wait until the client goes on after it had to wait: by then all that
//! was owed has arrived, and the last reply answers the last request. What is left over belongs to the
//! exchange that lost its bytes.

use super::Pairing;
use super::exchange_builder::{ExchangeBuilder, Progress};
use super::waits::Waits;
use crate::fact::FactSink;
use model::{ConnectionId, Message, Protocol, Role};
use std::collections::VecDeque;

/// Replies whose requests are not known yet, oldest first.
#[derive(Debug, Default)]
pub(super) struct Answers {
    replies: VecDeque<ExchangeBuilder>,
    /// The last of them goes on.
    is_open: bool,
    /// Requests without a reply when the client last went on, and how often it waited with as many.
    unanswered: (u64, u32),
}

/// Most replies that wait. Beyond them the oldest are taken as part of the reply that lost bytes.
const MAXIMUM_ANSWERS: usize = 1024;

/// Bytes of a reply at least, before any was seen.
const MIN_REPLY_BYTES: u64 = 5;
/// Waits after which no reply is expected any more.
const WAITS_ENOUGH: u32 = 3;

impl Answers {
    /// How many wait.
    pub(super) fn count(&self) -> usize {
        self.replies.len()
    }

    /// Whether the client has waited several times while as many requests had no reply: those get none.
    fn persists(&mut self, unanswered: u64, waited: bool) -> bool {
        let (before, times) = self.unanswered;
        let times = if before == unanswered { times } else { 0 };
        self.unanswered = (unanswered, times + u32::from(waited));
        self.unanswered.1 >= WAITS_ENOUGH
    }

    /// Adds opaque bytes to the reply that is in flight, if one is.
    pub(super) fn take_more(&mut self, message: &Message<'_>) -> bool {
        let Some(last) = self.replies.back_mut().filter(|_| self.is_open) else {
            return false;
        };
        last.lost = true;
        last.add_more(message);
        true
    }

    fn add(
        &mut self,
        connection: ConnectionId,
        message: &Message<'_>,
        is_last: bool,
        waits: &mut Waits,
    ) -> &mut ExchangeBuilder {
        if !self.is_open {
            let mut reply = ExchangeBuilder::new(connection, message, false);
            reply.step.reply_started = Some(message.started);
            self.replies.push_back(reply);
        }
        self.is_open = !is_last;
        let newest = self.replies.len() - 1;
        let reply = &mut self.replies[newest];
        reply.step.server_inside_reply += waits.take_server_idle(message.started);
        reply.add_more(message);
        reply
    }
}

impl Pairing {
    /// Whether the oldest owed reply lost bytes, so that what follows may answer another request.
    pub(super) fn is_in_doubt(&self) -> bool {
        self.queue.front().is_some_and(|front| front.lost)
    }

    /// The client speaks after the server.
    pub(super) fn client_goes_on(
        &mut self,
        message: &Message<'_>,
        protocol: Protocol,
        out: &mut FactSink<'_>,
    ) {
        if self.is_in_doubt() {
            let open = self
                .queue
                .iter()
                .filter(|builder| builder.progress != Progress::Writing);
            let unanswered = open.count().saturating_sub(self.answers.replies.len()) as u64;
            let waited = self.waited_before(message);
            let is_more_than_lost = unanswered > self.replies_lost();
            let persists = self.answers.persists(unanswered, waited);
            self.pipelines |= is_more_than_lost;
            if persists || (!is_more_than_lost && (waited || !self.pipelines)) {
                self.settle_doubt(protocol, out);
            }
        } else {
            let front = self.queue.front();
            self.pipelines |= front.is_some_and(|front| front.progress == Progress::Awaiting);
        }
    }

    /// As many requests as may have got no reply that was seen: as many replies as the lost bytes can have
    /// been, and lost bytes of the client that were no request of their own.
    fn replies_lost(&self) -> u64 {
        let front = self.queue.front();
        let bytes = front.map_or(0, |front| front.lost_reply_bytes);
        let shortest = match self.shortest_reply {
            u64::MAX => MIN_REPLY_BYTES,
            known => known.min(bytes).max(1),
        };
        let fragments = self.queue.iter().filter(|builder| builder.lost_request);
        bytes.div_ceil(shortest) + fragments.count() as u64
    }

    /// A message of a reply of which it is not known which request it answers.
    pub(super) fn answer_in_doubt(&mut self, message: &Message<'_>, role: Role) {
        let alone = self.queue.len() == 1;
        let (server, client) = (self.server_side.current(), self.client_side.current());
        let reply = self
            .answers
            .add(self.connection, message, role == Role::Reply, &mut self.waits);
        reply.step.server_side_rtt = reply.step.server_side_rtt.or(server);
        reply.step.client_side_rtt = reply.step.client_side_rtt.or(client);
        if role == Role::ReplyPause && alone {
            self.give_answers(1);
            if let Some(front) = self.queue.front_mut() {
                front.progress = Progress::Paused;
            }
        }
        if self.answers.count() > MAXIMUM_ANSWERS.min(self.owed.most()) {
            self.give_answers(1);
        }
    }

    /// All replies that were owed have arrived: gives each to its request, and emits these.
    pub(super) fn settle_doubt(&mut self, protocol: Protocol, out: &mut FactSink<'_>) {
        if !self.is_in_doubt() {
            return;
        }
        let writing = self.queue.iter().skip(1);
        let writing = writing
            .filter(|builder| builder.progress == Progress::Writing)
            .count();
        let behind = self.queue.len() - 1 - writing;
        let surplus = self.answers.replies.len().saturating_sub(behind);
        self.give_answers(surplus);
        let unanswered = behind.saturating_sub(self.answers.replies.len());
        for _ in 0..=unanswered {
            self.finish_front(protocol, out);
        }
        while !self.answers.replies.is_empty() {
            self.give_answers(1);
            self.finish_front(protocol, out);
        }
        self.answers = Answers::default();
    }

    /// Gives the oldest `count` replies to the oldest request.
    fn give_answers(&mut self, count: usize) {
        let previous_reply_ended = self.previous_reply_ended;
        let bounds = self.path.bounds();
        for _ in 0..count {
            let (Some(front), Some(reply)) = (self.queue.front_mut(), self.answers.replies.pop_front())
            else {
                break;
            };
            front.add_answer(reply, bounds, previous_reply_ended, &self.waits);
        }
        self.answers.is_open &= !self.answers.replies.is_empty();
    }
}

//! Assigns replies to requests after lost or undecodable bytes.
//!
//! Such bytes hold an unknown number of requests or replies, so the next reply may answer any
//! pending request. Replies wait until the client continues after a wait: by then all expected ones
//! have arrived, and the last reply answers the last request. The remainder belongs to the exchange
//! that lost bytes.

use super::Pairing;
use super::exchange_builder::{ExchangeBuilder, Progress};
use super::waits::Waits;
use crate::fact::FactSink;
use model::{ConnectionId, Message, Protocol, Role};
use std::collections::VecDeque;

#[derive(Debug, Default)]
pub(super) struct Answers {
    replies: VecDeque<Box<ExchangeBuilder>>,
    is_open: bool,
    /// Requests without a reply when the client last continued, and its waits with the same number.
    unanswered: (u64, u32),
}

/// Beyond it, the oldest count as part of the reply that lost bytes.
const MAXIMUM_ANSWERS: usize = 1024;

/// Minimum bytes of a reply, before any was seen.
const MIN_REPLY_BYTES: u64 = 5;
/// Waits after which no reply is expected any more.
const WAITS_ENOUGH: u32 = 3;

impl Answers {
    pub(super) fn count(&self) -> usize {
        self.replies.len()
    }

    /// Whether the client waited several times with equally many unanswered requests: these get no
    /// reply.
    fn persists(&mut self, unanswered: u64, waited: bool) -> bool {
        let (before, times) = self.unanswered;
        let times = if before == unanswered { times } else { 0 };
        self.unanswered = (unanswered, times + u32::from(waited));
        self.unanswered.1 >= WAITS_ENOUGH
    }

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
    /// Whether the oldest expected reply lost bytes, so that the next may answer another request.
    pub(super) fn is_in_doubt(&self) -> bool {
        self.queue
            .front()
            .is_some_and(|front| front.lost && front.stream == 0)
    }

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

    /// Maximum number of requests without a seen reply: possible replies in the lost bytes, and
    /// lost client bytes that were no request.
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
        if self.answers.count() > MAXIMUM_ANSWERS.min(self.budget.most()) {
            self.give_answers(1);
        }
    }

    /// All expected replies have arrived: assigns them to requests and emits these.
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
            self.finish_doubtful(protocol, out);
        }
        while !self.answers.replies.is_empty() {
            self.give_answers(1);
            self.finish_doubtful(protocol, out);
        }
        self.answers = Answers::default();
    }

    /// `protocol` is that of the client's next message.
    fn finish_doubtful(&mut self, protocol: Protocol, out: &mut FactSink<'_>) {
        let own = self.queue.front().map(|front| front.protocol_or(protocol));
        self.finish_front(own.unwrap_or(protocol), out);
    }

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

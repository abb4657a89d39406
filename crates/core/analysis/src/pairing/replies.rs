//! The server's messages answer the oldest open exchange, or none.

use super::Pairing;
use super::exchange_builder::{ExchangeBuilder, Progress};
use crate::empty_exchange::empty_step;
use crate::fact::{Fact, FactSink};
use model::{Content, Margin, Message, Phase, Protocol, Role};
use std::time::Duration;

impl Pairing {
    pub(super) fn opaque_reply(&mut self, message: &Message<'_>, out: &mut FactSink<'_>) {
        if self.queue.is_empty() {
            self.open_unasked(message);
        }
        if self.answers.take_more(message) || self.lost_in_streams(message) {
            return;
        }
        let distance = self.distance();
        let is_alone = self.queue.len() == 1;
        let Some(front) = self.queue.front_mut() else {
            return;
        };
        if is_alone && !front.lost && front.exchange.request_bytes > 0 {
            out(Fact::Begun {
                connection: self.connection,
                at: front.exchange.at,
            });
        }
        front.lost = true;
        front.lost_reply_bytes += message.bytes;
        front.add_reply(message, distance, self.previous_reply_ended, &mut self.waits);
    }

    pub(super) fn reply(
        &mut self,
        message: &Message<'_>,
        role: Role,
        protocol: Protocol,
        out: &mut FactSink<'_>,
    ) {
        if role == Role::ReplyPart && self.goes_on(message) {
            return;
        }
        if self.queue.is_empty() {
            self.open_unasked(message);
        }
        self.read_reply(message);
        if self.is_in_doubt() {
            return self.answer_in_doubt(message, role);
        }
        let distance = self.distance();
        let Some(front) = self.queue.front_mut() else {
            return;
        };
        if matches!(message.content, Content::HttpResponse { status: 408 }) {
            front.client_was_awaited(message.started);
        }
        let previous_reply_ended = match message.stream {
            0 => self.previous_reply_ended,
            _ => front.step.request_ended,
        };
        front.add_reply(message, distance, previous_reply_ended, &mut self.waits);
        if role == Role::ReplyPause {
            front.progress = Progress::Paused;
        } else if role == Role::Reply {
            self.finish_front(protocol, out);
        }
    }

    /// Fast path for one more message of a reply in flight: results have many rows. Returns false
    /// if the message needs more work.
    pub(super) fn goes_on(&mut self, message: &Message<'_>) -> bool {
        let plain = matches!(message.content, Content::Row | Content::Other) && !self.waits.server_was_idle();
        match self.queue.front_mut() {
            Some(front) if plain && front.has_reply() && !front.lost => {
                front.add_more(message);
                true
            }
            _ => false,
        }
    }

    pub(super) fn greeting(&mut self, message: &Message<'_>, protocol: Protocol, out: &mut FactSink<'_>) {
        self.read_reply(message);
        if self.queue.is_empty() {
            self.open_unasked(message);
            if let Some(front) = self.queue.front_mut() {
                front.step.turn = true;
            }
        }
        self.reply(message, Role::Reply, protocol, out);
    }

    pub(super) fn notice(&mut self, message: &Message<'_>, protocol: Protocol, out: &mut FactSink<'_>) {
        self.read_reply(message);
        if self.is_in_doubt() && message.phase != Phase::Close {
            // The decoder knows no reply to a lost request. A farewell (an alert of TLS) is no
            // answer.
            return self.answer_in_doubt(message, Role::ReplyPart);
        }
        let is_asked = self.queue.front().is_some_and(|front| front.has_reply());
        if matches!(message.content, Content::Error { .. }) && !is_asked {
            return self.unasked_error(message, protocol, out);
        }
        if let Some(front) = self.queue.front_mut().filter(|front| front.has_reply()) {
            front.exchange.reply_bytes += message.bytes;
            front.step.reply_bytes += message.bytes;
            front.exchange.reply_messages += 1;
        }
    }

    /// The server's reason for ending the connection or continuing without the client: a separate
    /// exchange without request and round trip.
    fn unasked_error(&mut self, message: &Message<'_>, protocol: Protocol, out: &mut FactSink<'_>) {
        let mut building = ExchangeBuilder::new(self.connection, message, false);
        building.exchange.phase = Phase::Close;
        let distance = self.distance();
        building.add_reply(message, distance, self.previous_reply_ended, &mut self.waits);
        building.step.server = Duration::ZERO;
        building.step.server_margin = Margin::default();
        self.complete(building, protocol, out);
    }

    fn read_reply(&mut self, message: &Message<'_>) {
        if let Content::ServerVersion { text } = message.content
            && self.server_version.is_none()
        {
            self.server_version =
                Some(String::from_utf8_lossy(&text[..text.len().min(MAXIMUM_VERSION)]).into_owned());
        }
    }

    /// Opens an exchange for unrequested server bytes: a server that speaks first, or a reply to an
    /// unseen request. Only a server directly after a handshake counts as a round trip. An HTTP
    /// server that gives its reason for closing does not: no client waits for that.
    pub(super) fn open_unasked(&mut self, message: &Message<'_>) {
        let is_http = matches!(message.content, Content::HttpResponse { .. });
        let waited_since = self.handshake_ended.filter(|_| !self.payload_seen && !is_http);
        let mut building = ExchangeBuilder::new(self.connection, message, waited_since.is_some());
        let since = waited_since.unwrap_or(message.started);
        building.exchange.at = since;
        building.step = empty_step(since);
        building.step.turn = waited_since.is_some();
        if waited_since.is_some() {
            building.exchange.phase = Phase::Connect;
        } else if matches!(message.content, Content::HttpResponse { status: 400.. }) {
            building.exchange.phase = Phase::Close;
        }
        building.progress = Progress::Awaiting;
        self.add(building);
    }
}

/// In bytes.
const MAXIMUM_VERSION: usize = 256;

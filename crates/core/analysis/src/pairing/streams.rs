//! Exchanges on streams of one connection: each waits for itself, and is answered in any order.
//!
//! A stream's exchange changes places with the newest before its request goes on, and with the
//! oldest before its reply does, where [`super::requests`] and [`super::replies`] find it.

use super::Pairing;
use super::exchange_builder::Progress;
use crate::fact::FactSink;
use crate::fingerprint::Fingerprints;
use model::{Direction, Message, Protocol, Role};
use std::sync::Arc;
use std::time::Duration;

impl Pairing {
    pub(super) fn stream_message(
        &mut self,
        message: &Message<'_>,
        protocol: Protocol,
        fingerprints: &mut Fingerprints,
        out: &mut FactSink<'_>,
    ) {
        self.payload_seen = true;
        match (message.direction, message.role) {
            (Direction::ClientToServer, _) if message.stream == Message::CONTROL_STREAM => {
                self.control_bytes += message.bytes;
                return;
            }
            (Direction::ServerToClient, _) if message.stream == Message::CONTROL_STREAM => return,
            (Direction::ClientToServer, Role::OneWay) => self.cancel(message, protocol, out),
            (Direction::ClientToServer, role) => {
                self.finish_lost(protocol, out);
                self.stream_request(message, protocol, out);
                self.request(message, role, fingerprints, out);
            }
            (Direction::ServerToClient, role) => {
                self.make_oldest(message, protocol, out);
                self.reply(message, role, protocol, out);
            }
        }
        self.budget.count(self.queue.len() + self.answers.count());
        self.speaker = Some(message.direction);
        self.last_message[message.direction] = message.ended;
    }

    fn place_of(&self, stream: u32) -> Option<usize> {
        self.queue.iter().rposition(|builder| builder.stream == stream)
    }

    fn stream_request(&mut self, message: &Message<'_>, protocol: Protocol, out: &mut FactSink<'_>) {
        if let Some(place) = self.place_of(message.stream) {
            return self.queue.swap(place, self.queue.len() - 1);
        }
        self.make_room(protocol, out);
        self.open(message);
        if let Some(newest) = self.queue.back_mut() {
            let bytes = std::mem::take(&mut self.control_bytes);
            newest.step.request_bytes += bytes;
            newest.exchange.request_bytes += bytes;
        }
    }

    fn make_oldest(&mut self, message: &Message<'_>, protocol: Protocol, out: &mut FactSink<'_>) {
        let place = self.place_of(message.stream).unwrap_or_else(|| {
            self.make_room(protocol, out);
            self.open_unasked(message);
            self.queue.len() - 1
        });
        self.queue.swap(place, 0);
    }

    /// The client ends a stream without its reply.
    fn cancel(&mut self, message: &Message<'_>, protocol: Protocol, out: &mut FactSink<'_>) {
        let Some(place) = self.place_of(message.stream) else {
            return;
        };
        self.queue.swap(place, 0);
        let Some(mut cancelled) = self.queue.pop() else {
            return;
        };
        match cancelled.has_reply() {
            true => cancelled.exchange.request_bytes += message.bytes,
            false => cancelled.add_request(message, Role::OneWay, Duration::ZERO),
        }
        cancelled
            .exchange
            .error
            .get_or_insert_with(|| Arc::from(CANCELLED));
        self.complete(cancelled, protocol, out);
    }

    /// Undecoded bytes of the server may hold the beginning of each expected reply. Returns whether
    /// all exchanges have streams.
    pub(super) fn lost_in_streams(&mut self, message: &Message<'_>) -> bool {
        if let Some(place) = self.place_of(0) {
            self.queue.swap(place, 0);
            return false;
        }
        let distance = self.distance();
        let mut part = *message;
        for builder in self.queue.iter_mut() {
            builder.lost = true;
            if builder.progress == Progress::Awaiting {
                let asked = builder.step.request_ended;
                builder.add_reply(&part, distance, asked, &mut self.waits);
                part.bytes = 0;
            }
        }
        true
    }

    /// Streams go on: undecoded bytes before are an exchange that is over.
    fn finish_lost(&mut self, protocol: Protocol, out: &mut FactSink<'_>) {
        while let Some(place) = self.place_of(0) {
            self.queue.swap(place, 0);
            self.answers = super::Answers::default();
            self.finish_front(protocol, out);
        }
    }
}

/// Error of an exchange that its client cancelled.
const CANCELLED: &str = "cancelled";

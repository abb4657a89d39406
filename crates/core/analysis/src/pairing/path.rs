//! Round trips of the connection's path: measured, or known from another source.

use super::Pairing;
use super::distance::Distance;
use crate::empty_exchange::{self, empty_step};
use crate::fact::FactSink;
use model::{Phase, Protocol, RelayHandshake, RttSource, Side, Step, TcpHandshake, Timestamp};
use std::time::Duration;

impl Pairing {
    pub fn handshake(&mut self, handshake: TcpHandshake, out: &mut FactSink<'_>) {
        self.last_seen = handshake.ack;
        self.handshake_ended = Some(handshake.ack);
        self.client_side
            .sample(handshake.ack, handshake.ack.since(handshake.syn_ack));
        self.sample_server_side(handshake.syn_ack, handshake.syn_ack.since(handshake.syn));
        self.rtt_source = Some(RttSource::Measured);
        let step = Step {
            request_started: self.opened,
            request_ended: handshake.syn,
            reply_started: Some(handshake.syn_ack),
            reply_ended: Some(handshake.syn_ack),
            turn: true,
            client_side_rtt: Some(handshake.ack.since(handshake.syn_ack)),
            server_side_rtt: Some(handshake.syn_ack.since(handshake.syn)),
            recovery: handshake.syn.since(self.opened),
            ..empty_step(self.opened)
        };
        let exchange = empty_exchange::exchange(self.connection, Phase::Connect, self.opened, step);
        self.previous_reply_ended = handshake.ack;
        self.emit(Box::new(exchange), Protocol::Unknown, out);
    }

    /// The observation point made a round trip to the server on the client's behalf.
    pub fn in_stead(&mut self, trip: RelayHandshake, out: &mut FactSink<'_>) {
        self.last_seen = self.last_seen.max(trip.ended);
        let [request_bytes, reply_bytes] = trip.payload_bytes.into_array();
        let distance = self.distance();
        let mut step = Step {
            reply_ended: Some(trip.ended),
            request_bytes,
            reply_bytes,
            turn: true,
            ..empty_step(trip.asked)
        };
        distance.begin_reply(&mut step, trip.came, trip.asked, &self.waits);
        let mut exchange = empty_exchange::exchange(self.connection, Phase::Tls, trip.asked, step);
        (exchange.request_bytes, exchange.reply_bytes) = (request_bytes, reply_bytes);
        self.emit(Box::new(exchange), Protocol::Tls, out);
    }

    pub fn round_trip(&mut self, at: Timestamp, side: Side, rtt: Duration) {
        match side {
            Side::Client => self.client_side.sample(at, rtt),
            Side::Server => {
                if let Some(back) = self.queue.back_mut() {
                    back.acknowledged(at, rtt);
                }
                self.sample_server_side(at, rtt);
                self.rtt_source = Some(RttSource::Measured);
            }
        }
    }

    /// A kernel reports its minimum repeatedly: a repetition is no further sample.
    fn sample_server_side(&mut self, at: Timestamp, rtt: Duration) {
        self.server_side.sample(at, rtt);
        if self.last_round_trip.replace(rtt) != Some(rtt) {
            self.path.sample(rtt);
        }
    }

    /// Distance of both sides. The variation matters only where a reply begins.
    pub(super) fn distance(&self) -> Distance {
        let server_side = self.server_side.current();
        let assumed = match (self.rtt_source, server_side) {
            // The fastest reply includes an unknown amount of server time.
            (Some(RttSource::FastestReply), Some(rtt)) => Some([Duration::ZERO, rtt + rtt / 2]),
            _ => None,
        };
        Distance {
            client_side: self.client_side.current(),
            server_side,
            bounds: match self.queue.front().is_some_and(|front| front.has_reply()) {
                true => None,
                false => self.path.bounds().or(assumed),
            },
        }
    }

    /// A round trip known from another source than this connection. The client's fastest request
    /// after a reply does not count: it may include think time.
    pub fn assumed_round_trip(&mut self, at: Timestamp, side: Side, rtt: Duration, source: RttSource) {
        match side {
            Side::Client if source == RttSource::FastestReply => {}
            Side::Client => self.client_side.sample(at, rtt),
            Side::Server => {
                self.server_side.sample(at, rtt);
                if self.rtt_source != Some(RttSource::Measured) {
                    self.rtt_source = Some(source);
                }
            }
        }
    }

    /// Bytes waited for a retransmission.
    pub fn recovery(&mut self, from: Timestamp, to: Timestamp) {
        self.waits.recovery(from, to);
    }
}

//! The end of a connection: incomplete exchanges, and its totals.

use super::Pairing;
use super::exchange_builder::Progress;
use crate::fact::{Fact, FactSink};
use crate::round_trip::Path;
use model::{
    ConnectionOutcome, ConnectionTotals, Decoding, Direction, PerSide, Protocol, RttSource, Side, Timestamp,
};
use std::sync::Arc;
use std::time::Duration;

impl Pairing {
    /// A FIN or RST of `direction` passed.
    pub fn direction_ended(&mut self, at: Timestamp, direction: Direction) {
        self.ending.ended(at, direction);
    }

    /// Messages of `direction` were the first to ask for the connection's end.
    pub fn close_requested(&mut self, direction: Direction) {
        self.ending.requested(direction);
    }

    /// The server closed its direction at `at`: no reply is expected any more. Behind a database's
    /// close, the client's last words may follow.
    pub fn server_ended(&mut self, at: Timestamp, protocol: Protocol, out: &mut FactSink<'_>) {
        self.last_seen = self.last_seen.max(at);
        self.server_ended = true;
        if protocol.carries_requests() {
            self.finish_unanswered(true, protocol, out);
        }
    }

    fn finish_unanswered(&mut self, server_seen: bool, protocol: Protocol, out: &mut FactSink<'_>) {
        self.settle_doubt(protocol, out);
        while let Some(front) = self.queue.front_mut() {
            if front.progress != Progress::Writing && !front.has_reply() && server_seen {
                front.exchange.error.get_or_insert_with(|| Arc::from(NO_REPLY));
            }
            if self.server_ended && front.is_cut() {
                front.exchange.error.get_or_insert_with(|| Arc::from(REPLY_CUT));
            }
            self.finish_front(protocol, out);
        }
    }

    /// Emits incomplete exchanges, then the connection.
    pub fn closed(
        mut self,
        at: Timestamp,
        totals: ConnectionTotals,
        decoding: Decoding,
        out: &mut FactSink<'_>,
    ) {
        self.finish_unanswered(totals.seen[Direction::ServerToClient], decoding.protocol, out);
        self.drained(decoding).closed(at, totals, out);
    }

    pub fn is_drained(&self) -> bool {
        self.queue.is_empty() && self.answers.count() == 0
    }

    pub fn drained(self, decoding: Decoding) -> DrainedConnection {
        let mut settings = self.introduction.settings;
        settings.shrink_to_fit();
        DrainedConnection {
            outcome: Box::new(ConnectionOutcome {
                id: self.connection,
                client: self.client,
                server: self.server,
                processes: PerSide::default(),
                at: self.opened,
                duration: self.last_seen.since(self.opened),
                decoding,
                server_version: self.server_version,
                driver: self.introduction.driver,
                settings,
                turns: self.turns,
                exchanges: self.exchanges,
                statements: self.statements,
                rtt: None,
                client_side_rtt: self.client_side.least(),
                server_side_rtt: self.server_side.least(),
                rtt_source: self.rtt_source,
                ended_by: self.ending.by(),
                totals: ConnectionTotals::default(),
            }),
            path: self.path,
            last_round_trip: self.last_round_trip,
        }
    }
}

/// A connection without further payload. Late packets may still show round trips.
#[derive(Debug)]
pub struct DrainedConnection {
    outcome: Box<ConnectionOutcome>,
    path: Path,
    last_round_trip: Option<Duration>,
}

impl DrainedConnection {
    pub fn round_trip(&mut self, side: Side, rtt: Duration) {
        self.sample(side, rtt);
        if side == Side::Server {
            self.outcome.rtt_source = Some(RttSource::Measured);
            if self.last_round_trip.replace(rtt) != Some(rtt) {
                self.path.sample(rtt);
            }
        }
    }

    fn sample(&mut self, side: Side, rtt: Duration) {
        let least = match side {
            Side::Client => &mut self.outcome.client_side_rtt,
            Side::Server => &mut self.outcome.server_side_rtt,
        };
        *least = Some(least.map_or(rtt, |least| least.min(rtt)));
    }

    pub fn closed(self, at: Timestamp, totals: ConnectionTotals, out: &mut FactSink<'_>) {
        let mut outcome = self.outcome;
        outcome.duration = outcome.duration.max(at.since(outcome.at));
        outcome.rtt = outcome
            .client_side_rtt
            .zip(outcome.server_side_rtt)
            .map(|(client, server)| client + server);
        outcome.totals = totals;
        out(Fact::Closed(outcome));
    }
}

/// Error of an exchange cut off, by its connection or the observation, while a reply was expected.
pub const NO_REPLY: &str = "no reply";

/// Error of an exchange abandoned because too many requests wait for a reply.
pub const GIVEN_UP: &str = "too many requests without a reply";

/// Error of an exchange cut off in the middle of its reply.
pub const REPLY_CUT: &str = "reply cut";

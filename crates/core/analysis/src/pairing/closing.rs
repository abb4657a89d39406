//! The end of a connection: incomplete exchanges, and its totals.

use super::Pairing;
use super::exchange_builder::Progress;
use crate::fact::{Fact, FactSink};
use model::{ConnectionOutcome, ConnectionTotals, Decoding, Direction, PerSide, Protocol, Timestamp};
use std::sync::Arc;

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
        let (client_side_rtt, server_side_rtt) = (self.client_side.least(), self.server_side.least());
        out(Fact::Closed(Box::new(ConnectionOutcome {
            id: self.connection,
            client: self.client,
            server: self.server,
            processes: PerSide::default(),
            at: self.opened,
            duration: at.max(self.last_seen).since(self.opened),
            decoding,
            server_version: self.server_version,
            driver: self.introduction.driver,
            settings: self.introduction.settings,
            turns: self.turns,
            exchanges: self.exchanges,
            statements: self.statements,
            rtt: client_side_rtt
                .zip(server_side_rtt)
                .map(|(client, server)| client + server),
            client_side_rtt,
            server_side_rtt,
            rtt_source: self.rtt_source,
            ended_by: self.ending.by(),
            totals,
        })));
    }
}

/// Error of an exchange cut off, by its connection or the observation, while a reply was expected.
pub const NO_REPLY: &str = "no reply";

/// Error of an exchange abandoned because too many requests wait for a reply.
pub const GIVEN_UP: &str = "too many requests without a reply";

/// Error of an exchange cut off in the middle of its reply.
pub const REPLY_CUT: &str = "reply cut";

//! Pairs the messages of one connection into exchanges, by the neutral role of each message.
//!
//! Calling order: [`Pairing::new`]; then observations in order: [`Pairing::handshake`],
//! [`Pairing::round_trip`], [`Pairing::assumed_round_trip`], [`Pairing::recovery`],
//! [`Pairing::segment`] before its messages, [`Pairing::message`], [`Pairing::lost`];
//! [`Pairing::closed`] once, last.
//!
//! How round trips are counted:
//! 1. A complete TCP handshake is one. A server that speaks first (a `Greeting`, or opaque bytes after a
//!    handshake) is one.
//! 2. A request sent while no reply is expected is one, once the server answers it. A pipelined
//!    request joins the round trip in flight, unless the client waited all the same: it was silent
//!    for a whole round trip and sent again only after a reply (its window or own limit was used
//!    up). A client that keeps its sending pace has not waited for a reply that happened to arrive
//!    ([`pace`]).
//! 3. A reply that pauses for the client (COPY, LOCAL INFILE, `100 Continue`) ends a round trip: the client's
//!    next bytes begin another.
//! 4. If the protocol is opaque, each answer to client bytes is one: changes of direction.

mod asking;
mod closing;
mod comment;
mod distance;
mod doubt;
mod ending;
mod exchange_builder;
mod introduction;
mod pace;
mod path;
mod pending_replies;
mod replies;
mod requests;
mod streams;
mod waits;

use crate::events::waits_for_event;
use crate::exchange_pool::ExchangePool;
use crate::fact::{Fact, FactSink};
use crate::fingerprint::Fingerprints;
use crate::round_trip::{MinimumRoundTrip, Path, Paths};
use asking::PreparedStatements;
pub use closing::{DrainedConnection, GIVEN_UP, NO_REPLY, REPLY_CUT};
use doubt::Answers;
use ending::Ending;
use exchange_builder::ExchangeBuilder;
use introduction::Introduction;
use model::{
    ConnectionId, Content, Direction, Endpoint, Exchange, Lost, Message, PendingReplies, PerDirection, Phase,
    Protocol, Role, RttSource, StatementId, Timestamp,
};
use pace::Pace;
pub use pending_replies::{MAX_PENDING_REPLIES, MAX_TOTAL_PENDING_REPLIES, PendingReplyBudget};
use std::hash::RandomState;
use std::time::Duration;
use waits::Waits;

#[derive(Debug)]
pub struct Pairing {
    connection: ConnectionId,
    client: Endpoint,
    server: Endpoint,
    opened: Timestamp,
    last_seen: Timestamp,
    handshake_ended: Option<Timestamp>,
    queue: PendingReplies<Box<ExchangeBuilder>, MAX_PENDING_REPLIES>,
    /// Replies after lost bytes, until their requests are known.
    answers: Answers,
    speaker: Option<Direction>,
    pipelines: bool,
    budget: pending_replies::Share,
    pace: Pace,
    /// Bytes of the shortest reply to work.
    shortest_reply: u64,
    previous_reply_ended: Timestamp,
    /// End of the last message in each direction.
    last_message: PerDirection<Timestamp>,
    payload_seen: bool,
    /// Bytes of the client on [`Message::CONTROL_STREAM`], for its next request.
    control_bytes: u64,
    server_ended: bool,
    prepared: PreparedStatements,
    introduction: Introduction,
    client_side: MinimumRoundTrip,
    server_side: MinimumRoundTrip,
    path: Path,
    last_round_trip: Option<Duration>,
    rtt_source: Option<RttSource>,
    waits: Waits,
    ending: Ending,
    server_version: Option<String>,
    turns: u64,
    exchanges: u64,
    statements: u64,
    keep_literals: bool,
    digests: Option<RandomState>,
    boxes: ExchangePool,
    lost: Option<Lost>,
}

/// Executions of further statements on a connection have no fingerprint.
pub const MAXIMUM_PREPARED: usize = 10_000;

impl Pairing {
    pub fn new(
        connection: ConnectionId,
        at: Timestamp,
        client: Endpoint,
        server: Endpoint,
        keep_literals: bool,
    ) -> Self {
        Self {
            connection,
            client,
            server,
            opened: at,
            last_seen: at,
            handshake_ended: None,
            queue: PendingReplies::default(),
            answers: Answers::default(),
            speaker: None,
            pipelines: false,
            budget: pending_replies::Share::default(),
            pace: Pace::default(),
            shortest_reply: u64::MAX,
            previous_reply_ended: at,
            last_message: PerDirection::splat(at),
            payload_seen: false,
            control_bytes: 0,
            server_ended: false,
            prepared: PreparedStatements::default(),
            introduction: Introduction::default(),
            client_side: MinimumRoundTrip::default(),
            server_side: MinimumRoundTrip::default(),
            path: Path::default(),
            last_round_trip: None,
            rtt_source: None,
            waits: Waits::default(),
            ending: Ending::default(),
            server_version: None,
            turns: 0,
            exchanges: 0,
            statements: 0,
            keep_literals,
            digests: None,
            boxes: ExchangePool::default(),
            lost: None,
        }
    }

    #[must_use]
    pub fn with_boxes(mut self, boxes: ExchangePool) -> Self {
        self.boxes = boxes;
        self
    }

    /// Computes digests of reads ([`model::RequestTraits::request_digest`]) with `key`: random, and
    /// equal for all connections of a run.
    #[must_use]
    pub fn with_digests(mut self, key: RandomState) -> Self {
        self.digests = Some(key);
        self
    }

    /// Counts expected replies together with the run's other connections.
    #[must_use]
    pub fn with_reply_budget(mut self, all: PendingReplyBudget) -> Self {
        self.budget = pending_replies::Share::new(all);
        self
    }

    /// Shares the variation of round trips with other connections between the same hosts.
    #[must_use]
    pub fn with_paths(mut self, paths: &Paths) -> Self {
        self.path = paths.between(self.client.address, self.server.address);
        self
    }

    pub const fn connection(&self) -> ConnectionId {
        self.connection
    }

    /// Payload passed, and its messages follow.
    pub fn segment(&mut self, direction: Direction, at: Timestamp, sender_idle: Option<Duration>) {
        self.last_seen = at;
        self.ending.sent(direction);
        if let Some(idle) = sender_idle {
            self.waits.idle(direction, at, idle);
        }
    }

    /// Packets that were not captured may have held more exchanges. Marks the next one of work.
    pub fn lost(&mut self, lost: Lost) {
        self.lost = self.lost.max(Some(lost));
    }

    pub fn message(
        &mut self,
        message: &Message<'_>,
        protocol: Protocol,
        fingerprints: &mut Fingerprints,
        out: &mut FactSink<'_>,
    ) {
        if self.describes_statement(message.content, fingerprints) {
            return;
        }
        if message.stream != 0 {
            return self.stream_message(message, protocol, fingerprints, out);
        }
        // Most messages are rows in the middle of a reply: only the end changes.
        if message.role == Role::ReplyPart
            && message.direction == Direction::ServerToClient
            && self.speaker == Some(Direction::ServerToClient)
            && self.goes_on(message)
        {
            self.last_message[Direction::ServerToClient] = message.ended;
            return;
        }
        if message.direction == Direction::ClientToServer && self.speaker == Some(Direction::ServerToClient) {
            self.client_goes_on(message, protocol, out);
        }
        if message.direction == Direction::ClientToServer {
            self.make_room(protocol, out);
        }
        match (message.direction, message.role) {
            (Direction::ClientToServer, Role::Opaque) => self.opaque_request(message, out),
            (Direction::ClientToServer, Role::OneWay) => self.one_way(message, protocol, fingerprints, out),
            (Direction::ClientToServer, role) => self.request(message, role, fingerprints, out),
            (Direction::ServerToClient, Role::Opaque) => self.opaque_reply(message, out),
            (Direction::ServerToClient, Role::Notice) => self.notice(message, protocol, out),
            (Direction::ServerToClient, Role::Greeting) => self.greeting(message, protocol, out),
            (Direction::ServerToClient, role) => self.reply(message, role, protocol, out),
        }
        self.budget.count(self.queue.len() + self.answers.count());
        // A PROXY protocol header precedes the connection's own bytes: a server that speaks first
        // comes behind it.
        self.payload_seen |= message.phase != Phase::Connect || message.role != Role::OneWay;
        if message.role != Role::Notice || self.is_in_doubt() {
            self.speaker = Some(message.direction);
        }
        self.last_message[message.direction] = message.ended;
    }

    /// Whether the message only describes a statement.
    #[inline]
    fn describes_statement(&mut self, content: Content<'_>, fingerprints: &Fingerprints) -> bool {
        let known = fingerprints.known();
        if let Content::Unseen {
            statement,
            name,
            parameters,
        } = content
        {
            self.prepared
                .unseen(self.connection, statement, name, parameters, known);
        } else if let Content::Named {
            statement,
            name,
            parameters,
        } = content
        {
            self.prepared
                .named(self.connection, statement, name, parameters, known);
        } else if let Content::Columns { statement, count } = content {
            self.columns_found(statement, count, fingerprints);
        } else {
            return false;
        }
        true
    }

    /// The column count of a result may distinguish a statement prepared before the capture from
    /// another.
    fn columns_found(&mut self, statement: StatementId, count: u16, fingerprints: &Fingerprints) {
        let renamed = self
            .prepared
            .columns(self.connection, statement, count, fingerprints.known());
        if let Some((before, after)) = renamed
            && let Some(front) = self.queue.front_mut()
            && front.exchange.fingerprint.as_ref() == Some(&before)
        {
            front.exchange.fingerprint = Some(after);
        }
    }

    /// Expects room from [`Pairing::make_room`].
    fn add(&mut self, building: Box<ExchangeBuilder>) {
        self.queue.push(building).ok();
    }

    fn finish_front(&mut self, protocol: Protocol, out: &mut FactSink<'_>) {
        if let Some(front) = self.queue.pop() {
            self.complete(front, protocol, out);
        }
    }

    #[inline]
    fn complete(&mut self, mut building: Box<ExchangeBuilder>, protocol: Protocol, out: &mut FactSink<'_>) {
        if !building.has_reply() {
            building.step.client_side_rtt = self.client_side.current();
            building.step.server_side_rtt = self.server_side.current();
        }
        let exchange = building.finish(&mut self.waits);
        self.emit(exchange, protocol, out);
    }

    fn emit(&mut self, mut exchange: Box<Exchange>, protocol: Protocol, out: &mut FactSink<'_>) {
        if exchange.fingerprint.as_deref().is_some_and(waits_for_event) {
            wait_for_event(&mut exchange);
        }
        if exchange.phase == Phase::Work {
            exchange.lost = self.lost.take();
        }
        self.turns += u64::from(exchange.turns);
        self.exchanges += 1;
        if exchange.phase == Phase::Work && exchange.reply_messages > 0 {
            self.shortest_reply = self.shortest_reply.min(exchange.reply_bytes);
        }
        if exchange.turns > 0 || exchange.reply_bytes > 0 {
            self.previous_reply_ended = exchange.ended();
        }
        out(Fact::Exchange { exchange, protocol });
    }
}

#[cfg(test)]
mod tests;

/// Moves server time to the client, which waited for an event.
fn wait_for_event(exchange: &mut Exchange) {
    for step in std::iter::once(&mut exchange.first).chain(&mut exchange.more) {
        step.client_inside_request += std::mem::take(&mut step.server);
        step.server_inside_reply = Duration::ZERO;
    }
}

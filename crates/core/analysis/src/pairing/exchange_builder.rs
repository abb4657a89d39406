//! Builds an exchange from messages.

use super::asking::Asking;
use super::distance::Distance;
use super::waits::Waits;
use crate::empty_exchange::{empty_step, exchange};
use crate::verb::Verb;
use model::{
    ConnectionId, Content, Exchange, Fingerprint, Message, NotSeen, Protocol, Role, Step, Timestamp,
    is_unseen_fingerprint,
};
use std::sync::Arc;
use std::time::Duration;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Progress {
    Writing,
    Awaiting,
    Paused,
}

/// How well a statement describes its exchange; the weightiest names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Weight {
    Nothing,
    /// BEGIN, COMMIT, SET and similar statements.
    Control,
    Prepared,
    Fetched,
    Executed,
}

impl Weight {
    /// No more than its execution will have.
    pub(super) fn of_prepared(fingerprint: &str) -> Self {
        Self::of_executed(fingerprint).min(Self::Prepared)
    }

    pub(super) fn of_executed(fingerprint: &str) -> Self {
        match Verb::from_fingerprint(fingerprint) {
            Verb::Control => Self::Control,
            Verb::Read | Verb::Write | Verb::Fetch | Verb::Other => Self::Executed,
        }
    }
}

#[derive(Debug)]
pub(super) struct ExchangeBuilder {
    pub(super) exchange: Box<Exchange>,
    pub(super) step: Step,
    pub(super) progress: Progress,
    /// [`Message::stream`] of its messages.
    pub(super) stream: u32,
    /// Some bytes are opaque; they may hold several requests and replies.
    pub(super) lost: bool,
    pub(super) lost_request: bool,
    pub(super) lost_reply_bytes: u64,
    pub(super) asking: Asking,
    /// Protocol of the request's last message.
    request_protocol: Protocol,
    head_only: bool,
    weight: Weight,
    rows_of_statement: u64,
    returned_rows: bool,
    /// Delay of the acknowledgement of the request's last byte, before any reply.
    acknowledged_after: Option<Duration>,
}

impl ExchangeBuilder {
    pub(super) fn new(connection: ConnectionId, message: &Message<'_>, turn: bool) -> Box<Self> {
        Self::stored(connection, message, turn, Box::new)
    }

    /// `store` boxes the exchange.
    #[inline]
    pub(super) fn stored(
        connection: ConnectionId,
        message: &Message<'_>,
        turn: bool,
        store: impl FnOnce(Exchange) -> Box<Exchange>,
    ) -> Box<Self> {
        let mut step = empty_step(message.started);
        step.turn = turn;
        Box::new(Self {
            exchange: store(exchange(connection, message.phase, message.started, step)),
            step,
            progress: Progress::Writing,
            stream: message.stream,
            lost: false,
            lost_request: false,
            lost_reply_bytes: 0,
            asking: Asking::default(),
            request_protocol: Protocol::Unknown,
            head_only: false,
            weight: Weight::Nothing,
            rows_of_statement: 0,
            returned_rows: false,
            acknowledged_after: None,
        })
    }

    pub(super) fn has_reply(&self) -> bool {
        self.step.reply_started.is_some()
    }

    /// Whether the reply is incomplete, as far as known.
    pub(super) fn is_cut(&self) -> bool {
        self.has_reply()
            && self.progress == Progress::Awaiting
            && !self.lost
            && self.exchange.request_messages > 0
    }

    /// Protocol of an exchange without a whole reply: of a request over HTTP its own, else `known`.
    pub(super) fn protocol_or(&self, known: Protocol) -> Protocol {
        match known.is_over_http() && self.request_protocol.is_over_http() {
            true => self.request_protocol,
            false => known,
        }
    }

    /// The server gave up waiting for the client at `at`: no client waited for this reply.
    pub(super) fn client_was_awaited(&mut self, at: Timestamp) {
        let step = &mut self.step;
        if step.reply_started.is_none() {
            step.client_inside_request += at.since(step.request_ended);
            step.request_ended = step.request_ended.max(at);
            step.turn = false;
        }
    }

    /// Whether this message completes an HTTP request for the first time. The server already knows
    /// a request with a body that it requested.
    pub(super) fn starts_request(&mut self, message: &Message<'_>, role: Role) -> bool {
        let (content, protocol) = (message.content, message.protocol);
        let is_call = matches!(content, Content::Call { .. });
        self.head_only |=
            matches!(content, Content::HttpRequest { .. }) || (is_call && protocol.carries_requests());
        role == Role::Request && std::mem::take(&mut self.head_only)
    }

    pub(super) fn add_request(&mut self, message: &Message<'_>, role: Role, client_idle: Duration) {
        self.step.request_ended = message.ended;
        self.step.request_bytes += message.bytes;
        self.step.client_inside_request += client_idle;
        self.exchange.request_bytes += message.bytes;
        self.request_protocol = message.protocol;
        if role != Role::Opaque {
            self.exchange.request_messages += 1;
        }
        if matches!(role, Role::Request | Role::Opaque) {
            self.progress = Progress::Awaiting;
        }
    }

    /// Payload that passed `rtt` before `at` was acknowledged. At the request's end, that is this
    /// exchange's own round trip.
    pub(super) fn acknowledged(&mut self, at: Timestamp, rtt: Duration) {
        if !self.has_reply() && self.step.request_ended.after(rtt) == at {
            self.acknowledged_after = Some(rtt);
        }
    }

    pub(super) fn note_unnamed(&mut self, content: Content<'_>, fingerprint: Option<&str>) {
        let is_unseen = fingerprint.is_none_or(is_unseen_fingerprint);
        // A path of HTTP/2 may stand in the connection's table of header fields.
        let may_be_unseen = matches!(
            content,
            Content::Execute { .. } | Content::Fetch { .. } | Content::HttpRequest { .. }
        );
        if may_be_unseen && is_unseen {
            self.exchange.not_seen.get_or_insert(NotSeen::PreparedBefore);
        }
    }

    /// The weightiest statement names the exchange. `text` is the literal text of the naming
    /// statement, if kept.
    pub(super) fn name(
        &mut self,
        fingerprint: Option<Fingerprint>,
        weight: Weight,
        executions: u32,
        text: Option<&[u8]>,
    ) {
        if weight > self.weight || self.gives_way(fingerprint.as_ref(), weight) {
            self.weight = weight;
            self.exchange.executions = 0;
            let is_another = fingerprint.is_some() && fingerprint != self.exchange.fingerprint;
            if is_another || text.is_some() {
                self.exchange.literal = text.map(|text| String::from_utf8_lossy(text).into());
            }
            self.exchange.fingerprint = fingerprint.or(self.exchange.fingerprint.take());
        }
        if weight == self.weight {
            self.exchange.executions = self.exchange.executions.saturating_add(executions);
        }
    }

    /// Whether the naming statement yields to one of equal weight: an unseen text yields, as
    /// drivers send a prepared BEGIN before the first statement.
    fn gives_way(&self, to: Option<&Fingerprint>, weight: Weight) -> bool {
        let is_another = weight == self.weight && weight == Weight::Executed && to.is_some();
        let name = self.exchange.fingerprint.as_ref();
        is_another && to != name && name.is_some_and(|name| is_unseen_fingerprint(name))
    }

    pub(super) fn add_reply(
        &mut self,
        message: &Message<'_>,
        distance: Distance,
        previous_reply_ended: Timestamp,
        waits: &mut Waits,
    ) {
        let step = &mut self.step;
        let started = step.reply_started.unwrap_or(message.started);
        if step.reply_ended.is_none() {
            distance.seen_by(self.acknowledged_after.take()).begin_reply(
                step,
                started,
                previous_reply_ended,
                waits,
            );
        }
        let idle = waits.take_server_idle(started);
        step.server += idle;
        step.server_inside_reply += idle;
        self.add_more(message);
    }

    pub(super) fn add_more(&mut self, message: &Message<'_>) {
        self.step.reply_ended = Some(message.ended);
        self.step.reply_bytes += message.bytes;
        self.exchange.reply_bytes += message.bytes;
        if message.role != Role::Opaque {
            self.exchange.reply_messages += 1;
        }
        self.read_content(message);
    }

    /// Adds a separately assembled reply, now that its request is known.
    pub(super) fn add_answer(
        &mut self,
        answer: Box<ExchangeBuilder>,
        bounds: Option<[Duration; 2]>,
        previous_reply_ended: Timestamp,
        waits: &Waits,
    ) {
        let step = &mut self.step;
        let started = answer.step.reply_started.unwrap_or(answer.step.request_started);
        if step.reply_started.is_none() {
            let distance = Distance {
                client_side: answer.step.client_side_rtt,
                server_side: answer.step.server_side_rtt,
                bounds,
            };
            distance.begin_reply(step, started, previous_reply_ended, waits);
        }
        step.reply_ended = answer.step.reply_ended;
        step.reply_bytes += answer.step.reply_bytes;
        step.server += answer.step.server_inside_reply;
        step.server_inside_reply += answer.step.server_inside_reply;
        self.lost |= answer.lost;
        self.rows_of_statement += answer.rows_of_statement;
        self.returned_rows |= answer.returned_rows;
        let (exchange, found) = (&mut self.exchange, answer.exchange);
        exchange.reply_bytes += found.reply_bytes;
        exchange.reply_messages += found.reply_messages;
        exchange.transaction = found.transaction.or(exchange.transaction);
        exchange.error = exchange.error.take().or(found.error);
        if let Some(rows) = found.rows {
            *exchange.rows.get_or_insert(0) += rows;
        }
    }

    fn read_content(&mut self, message: &Message<'_>) {
        match message.content {
            Content::Row => self.rows_of_statement += 1,
            Content::Done { rows, transaction } => {
                self.exchange.transaction = transaction.or(self.exchange.transaction);
                let returned = std::mem::take(&mut self.rows_of_statement);
                self.returned_rows |= returned > 0;
                if let Some(rows) = if returned > 0 { Some(returned) } else { rows } {
                    *self.exchange.rows.get_or_insert(0) += rows;
                }
            }
            Content::Ready(state) => self.exchange.transaction = Some(state),
            Content::Error { code, .. } => {
                let code = &code[..code.len().min(MAXIMUM_ERROR_CODE)];
                let error = &mut self.exchange.error;
                error.get_or_insert_with(|| Arc::from(&*String::from_utf8_lossy(code)));
            }
            Content::HttpResponse { status } if status < 400 => {}
            Content::HttpResponse { status } => self.exchange.error = Some(Arc::from(status.to_string())),
            Content::Statement { .. }
            | Content::Run { .. }
            | Content::Prepare { .. }
            | Content::Execute { .. }
            | Content::Bind { .. }
            | Content::Close
            | Content::Fetch { .. }
            | Content::Command { .. }
            | Content::Call { .. }
            | Content::HttpRequest { .. }
            | Content::Unseen { .. }
            | Content::Named { .. }
            | Content::Columns { .. }
            | Content::ServerVersion { .. }
            | Content::Client { .. }
            | Content::Parameter { .. }
            | Content::Cut
            | Content::Undecoded { .. }
            | Content::Other => {}
        }
    }

    /// The client continues after a pause: the step is complete.
    pub(super) fn next_step(&mut self, message: &Message<'_>, waits: &mut Waits) {
        let done = self.complete_step(waits);
        self.store(done);
        self.step = empty_step(message.started);
        self.step.turn = true;
        self.progress = Progress::Writing;
    }

    #[inline]
    pub(super) fn finish(mut self: Box<Self>, waits: &mut Waits) -> Box<Exchange> {
        if self.rows_of_statement > 0 {
            self.returned_rows = true;
            *self.exchange.rows.get_or_insert(0) += self.rows_of_statement;
        }
        if self.lost {
            self.exchange.rows = None;
        }
        self.exchange.asked = self.asking.asked();
        let fingerprint = self.exchange.fingerprint.as_deref();
        self.exchange.asked.returns_rows =
            self.returned_rows && fingerprint.is_some_and(is_unseen_fingerprint);
        self.exchange.asked.on_stream = self.stream != 0;
        let done = self.complete_step(waits);
        waits.forget_recoveries_before(done.reply_ended.unwrap_or(done.request_ended));
        self.store(done);
        self.exchange
    }

    fn complete_step(&mut self, waits: &Waits) -> Step {
        let mut step = self.step;
        step.turn &= step.reply_started.is_some();
        step.recovery = waits.recovery_between(
            step.request_started,
            step.reply_ended.unwrap_or(step.request_ended),
        );
        step
    }

    #[inline]
    fn store(&mut self, step: Step) {
        self.exchange.turns += u32::from(step.turn);
        if self.exchange.first.reply_started.is_none() && self.exchange.more.is_empty() {
            self.exchange.first = step;
        } else {
            self.exchange.more.push(step);
        }
    }
}

const MAXIMUM_ERROR_CODE: usize = 64;

//! The client's messages open exchanges and extend them.

use super::exchange_builder::{self, ExchangeBuilder, Progress};
use super::{GIVEN_UP, Pairing, comment, pace};
use crate::fact::{Fact, FactSink};
use crate::fingerprint::Fingerprints;
use model::{CallSyntax, Content, Dialect, Fingerprint, Message, NotSeen, Phase, Protocol, Role, Tags};
use std::sync::Arc;
use std::time::Duration;

impl Pairing {
    /// Gives up the oldest requests at the limit of expected replies. The requests of later replies
    /// are then uncertain.
    pub(super) fn make_room(&mut self, protocol: Protocol, out: &mut FactSink<'_>) {
        while self.queue.len() >= self.budget.most() {
            if let Some(front) = self.queue.front_mut() {
                front.exchange.error.get_or_insert_with(|| Arc::from(GIVEN_UP));
            }
            self.finish_front(protocol, out);
            if let Some(front) = self.queue.front_mut() {
                front.lost = true;
            }
        }
    }

    pub(super) fn request(
        &mut self,
        message: &Message<'_>,
        role: Role,
        fingerprints: &mut Fingerprints,
        out: &mut FactSink<'_>,
    ) {
        match self.queue.back().map(|back| back.progress) {
            Some(Progress::Writing) => {}
            Some(Progress::Paused) => self.next_step(message),
            Some(Progress::Awaiting) | None => self.open(message),
        }
        let fingerprint = self.read_request(message, fingerprints);
        if message.phase != Phase::Work {
            self.introduction.process_content(message.content);
        }
        let Some(back) = self.queue.back_mut() else { return };
        let text = fingerprint
            .as_ref()
            .and_then(|(fingerprint, ..)| fingerprint.as_deref());
        back.asking
            .process_message(message.content, text, &self.prepared, self.digests.as_ref());
        back.add_request(
            message,
            role,
            self.waits.take_client_idle(back.step.request_started),
        );
        back.note_unnamed(message.content, text);
        if let Some((fingerprint, weight, executions)) = fingerprint {
            let text = message.content.statement_text().filter(|_| self.keep_literals);
            back.name(fingerprint, weight, executions, text);
        }
        let starts = back.starts_request(message, role);
        self.note_tags(message.content);
        if starts {
            let back = self.queue.back();
            out(Fact::Started {
                connection: self.connection,
                at: message.ended,
                fingerprint: back.and_then(|back| back.exchange.fingerprint.clone()),
                request: back.and_then(|back| back.exchange.tags.as_ref()?.request),
            });
        }
    }

    fn read_request(
        &mut self,
        message: &Message<'_>,
        fingerprints: &mut Fingerprints,
    ) -> Option<(Option<Fingerprint>, exchange_builder::Weight, u32)> {
        use exchange_builder::Weight;
        let dialect = message.protocol.facts().dialect;
        match message.content {
            Content::Statement { text } => {
                self.statements += 1;
                let fingerprint = fingerprints.statement(text, dialect);
                let weight = Weight::of_executed(&fingerprint);
                Some((Some(fingerprint), weight, 1))
            }
            Content::Run {
                statement,
                text,
                sets,
                ..
            } => {
                self.statements += 1;
                let fingerprint = fingerprints.statement(text, dialect);
                if let Some(statement) = statement {
                    self.prepared.remember(statement, text, &fingerprint, None);
                }
                let weight = Weight::of_executed(&fingerprint);
                Some((Some(fingerprint), weight, sets))
            }
            Content::Prepare { statement, text } => {
                self.statements += 1;
                let fingerprint = fingerprints.statement(text, dialect);
                self.prepared
                    .remember(statement, text, &fingerprint, self.digests.as_ref());
                let weight = Weight::of_prepared(&fingerprint);
                Some((Some(fingerprint), weight, 0))
            }
            Content::Execute { statement, sets, .. } => {
                let prepared = self.prepared.find(statement);
                let fingerprint = prepared.map(|prepared| prepared.fingerprint.clone());
                let weight = fingerprint
                    .as_deref()
                    .map_or(Weight::Executed, Weight::of_executed);
                Some((fingerprint, weight, sets))
            }
            Content::Fetch { statement, .. } => {
                let prepared = self.prepared.find(statement);
                let fingerprint = prepared.map(|prepared| prepared.fingerprint.clone());
                Some((fingerprint, Weight::Fetched, 0))
            }
            Content::Command { name, number } => {
                let fingerprint = fingerprints.command(name, number);
                let weight = Weight::of_executed(&fingerprint);
                Some((Some(fingerprint), weight, 1))
            }
            Content::Call { text, syntax, .. } => {
                self.statements += u64::from(syntax == CallSyntax::Statement);
                Some(read_call(text, syntax, dialect, fingerprints))
            }
            Content::HttpRequest { method, target, .. } => {
                let fingerprint = (!target.is_empty()).then(|| fingerprints.http(method, target));
                Some((fingerprint, Weight::Executed, 1))
            }
            Content::Bind { .. }
            | Content::Close
            | Content::Unseen { .. }
            | Content::Named { .. }
            | Content::Columns { .. }
            | Content::Row
            | Content::Done { .. }
            | Content::Ready(_)
            | Content::Error { .. }
            | Content::ServerVersion { .. }
            | Content::Client { .. }
            | Content::Parameter { .. }
            | Content::HttpResponse { .. }
            | Content::Cut
            | Content::Undecoded { .. }
            | Content::Other => None,
        }
    }

    /// Keeps the request's tags; the first message with tags wins.
    fn note_tags(&mut self, content: Content<'_>) {
        let Some(back) = self.queue.back_mut().filter(|back| back.exchange.tags.is_none()) else {
            return;
        };
        let tags = if let Content::HttpRequest { request, span, .. } | Content::Call { request, span, .. } =
            content
        {
            let tags = Tags {
                request,
                span,
                ..Tags::default()
            };
            Some(tags)
        } else {
            content.statement_text().and_then(comment::tags)
        };
        if let Some(tags) = tags.filter(|tags| !tags.is_empty()) {
            back.exchange.tags = Some(Arc::new(tags));
        }
    }

    pub(super) fn one_way(
        &mut self,
        message: &Message<'_>,
        protocol: Protocol,
        fingerprints: &mut Fingerprints,
        out: &mut FactSink<'_>,
    ) {
        let fingerprint = self.read_request(message, fingerprints);
        let mut building = ExchangeBuilder::new(self.connection, message, false);
        building.asking.process_message(
            message.content,
            fingerprint
                .as_ref()
                .and_then(|(fingerprint, ..)| fingerprint.as_deref()),
            &self.prepared,
            self.digests.as_ref(),
        );
        building.add_request(message, Role::OneWay, Duration::ZERO);
        if let Some((fingerprint, weight, executions)) = fingerprint {
            building.name(fingerprint, weight, executions, None);
        }
        self.complete(building, protocol, out);
    }

    /// Opaque client bytes: a new request, more of the one being written, or more of an earlier
    /// opaque one.
    pub(super) fn opaque_request(&mut self, message: &Message<'_>, out: &mut FactSink<'_>) {
        let joins = self.queue.back().is_some_and(|back| {
            let goes_on = back.progress == Progress::Writing || (back.lost && !back.has_reply());
            goes_on && back.stream == 0
        });
        let begins = self.queue.is_empty();
        if !joins {
            self.open(message);
        }
        if begins {
            out(Fact::Begun {
                connection: self.connection,
                at: message.started,
            });
        }
        let Some(back) = self.queue.back_mut() else { return };
        let idle = self.waits.take_client_idle(back.step.request_started);
        back.lost = true;
        back.lost_request = true;
        back.exchange.not_seen.get_or_insert(why_opaque(message));
        if let Content::Undecoded { start } = message.content {
            back.asking.starts(start);
        }
        back.add_request(message, Role::Opaque, idle);
    }

    pub(super) fn open(&mut self, message: &Message<'_>) {
        let [request, reply] = self.last_message.into_array();
        let sent = pace::Sent {
            is_behind: !self.queue.is_empty(),
            pause: message.started.since(request),
            reaction: (reply > request).then(|| message.started.since(reply)),
        };
        let waited = self.queue.is_empty() || self.waited_before(message);
        let turn = message.stream != 0 || (waited && !self.pace.is_kept(sent));
        self.pace.record_request(sent);
        let store = |exchange| self.boxes.fill(exchange);
        let building = ExchangeBuilder::stored(self.connection, message, turn, store);
        self.add(building);
    }

    /// Whether a pipelining client waited for a reply before it sent this.
    pub(super) fn waited_before(&self, message: &Message<'_>) -> bool {
        let [request, reply] = self.last_message.into_array();
        let rtt = self.client_side.current().zip(self.server_side.current());
        rtt.is_some_and(|(client, server)| {
            reply > request && message.started.since(request) >= client + server
        })
    }

    fn next_step(&mut self, message: &Message<'_>) {
        if let Some(back) = self.queue.back_mut() {
            back.next_step(message, &mut self.waits);
        }
    }
}

fn read_call(
    text: &[u8],
    syntax: CallSyntax,
    dialect: Dialect,
    fingerprints: &mut Fingerprints,
) -> (Option<Fingerprint>, exchange_builder::Weight, u32) {
    use exchange_builder::Weight;
    let fingerprint = match syntax {
        CallSyntax::Statement => fingerprints.statement(text, dialect),
        CallSyntax::Words | CallSyntax::FirstPage { .. } | CallSyntax::NextPage => fingerprints.words(text),
        CallSyntax::Target => fingerprints.target(text),
    };
    match syntax {
        CallSyntax::NextPage => (Some(fingerprint), Weight::Fetched, 0),
        CallSyntax::Statement | CallSyntax::Words | CallSyntax::FirstPage { .. } | CallSyntax::Target => {
            let weight = Weight::of_executed(&fingerprint);
            (Some(fingerprint), weight, 1)
        }
    }
}

fn why_opaque(message: &Message<'_>) -> NotSeen {
    match (message.protocol, message.content) {
        (Protocol::Tls, _) => NotSeen::Encrypted,
        (_, Content::Cut) => NotSeen::Cut,
        _ => NotSeen::NotDecoded,
    }
}

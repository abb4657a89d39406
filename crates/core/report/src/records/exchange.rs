//! The `exchange` record is lossless, so every later command can work from a recording.

use super::record::{ReadBody, Record};
use super::{Interner, Text, nanos};
use model::{
    Assigned, AtLevel, ConnectionId, Exchange, Lost, Margin, NotSeen, OperationStep, PerDirection, Phase,
    PoolerTime, Protocol, RequestTraits, Share, Step, Tags, Timestamp, TransactionState,
};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::sync::Arc;
use std::time::Duration;

/// The spans `request_ns`, `first_byte_ns` and `reply_ns` follow each other from `at_ns` on and end
/// with the exchange. `steps` is present only if there are several steps.
#[derive(Serialize, Deserialize)]
pub(super) struct ExchangeRecord<'a> {
    connection: ConnectionId,
    protocol: Protocol,
    #[serde(skip_serializing_if = "Option::is_none")]
    operation: Option<u64>,
    phase: Phase,
    at_ns: Timestamp,
    turns: u32,
    request_bytes: u64,
    reply_bytes: u64,
    request_messages: u32,
    reply_messages: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    rows: Option<u64>,
    executions: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    asked: Option<RequestTraits>,
    #[serde(skip_serializing_if = "Option::is_none")]
    client_before_ns: Option<u64>,
    request_ns: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    first_byte_ns: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reply_ns: Option<i64>,
    client_inside_request_ns: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    server_ns: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    server_min_ns: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    server_max_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pooler: Option<PoolerTime>,
    server_inside_reply_ns: u64,
    recovery_ns: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    client_side_rtt_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    server_side_rtt_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    transaction: Option<TransactionState>,
    #[serde(skip_serializing_if = "Option::is_none", borrow)]
    fingerprint: Option<Text<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    not_seen: Option<NotSeen>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    lost: Option<Lost>,
    #[serde(skip_serializing_if = "Option::is_none", borrow)]
    error: Option<Text<'a>>,
    #[serde(skip_serializing_if = "Option::is_none", borrow)]
    literal: Option<Text<'a>>,
    #[serde(skip_serializing_if = "Option::is_none", skip_deserializing)]
    assigned: Option<Assigned>,
    #[serde(skip_serializing_if = "Option::is_none", skip_deserializing)]
    probability: Option<Share>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tags: Option<Cow<'a, Tags>>,
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    steps: Vec<StepRecord>,
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    levels: Vec<LevelRecord>,
}

fn interned(tags: Tags, shared: &mut Interner) -> Tags {
    let mut text = |tag: Option<Arc<str>>| tag.map(|text| shared.share(&text));
    Tags {
        route: text(tags.route),
        controller: text(tags.controller),
        action: text(tags.action),
        application: text(tags.application),
        framework: text(tags.framework),
        db_driver: text(tags.db_driver),
        ..tags
    }
}

#[derive(Serialize, Deserialize)]
struct StepRecord {
    at_ns: u64,
    turn: bool,
    request_bytes: u64,
    reply_bytes: u64,
    request_ns: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    first_byte_ns: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reply_ns: Option<i64>,
    client_inside_request_ns: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    server_ns: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    server_min_ns: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    server_max_ns: Option<u64>,
    server_inside_reply_ns: u64,
    recovery_ns: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    client_side_rtt_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    server_side_rtt_ns: Option<u64>,
}

#[derive(Serialize, Deserialize)]
struct LevelRecord {
    level: u8,
    request_tunnel_bytes: u64,
    reply_tunnel_bytes: u64,
    request_compressing_ns: u64,
    reply_compressing_ns: u64,
    request_turning_back_ns: u64,
    reply_turning_back_ns: u64,
}

impl LevelRecord {
    fn new(at: &AtLevel) -> Self {
        let [request_tunnel_bytes, reply_tunnel_bytes] = at.tunnel_bytes.into_array();
        let [request_compressing_ns, reply_compressing_ns] = at.compressing.map(nanos).into_array();
        let [request_turning_back_ns, reply_turning_back_ns] = at.turning_back.map(nanos).into_array();
        Self {
            level: at.level,
            request_tunnel_bytes,
            reply_tunnel_bytes,
            request_compressing_ns,
            reply_compressing_ns,
            request_turning_back_ns,
            reply_turning_back_ns,
        }
    }

    fn at_levels(records: &[Self]) -> Option<Arc<[AtLevel]>> {
        let levels = records.iter().map(|record| AtLevel {
            level: record.level,
            tunnel_bytes: PerDirection::new(record.request_tunnel_bytes, record.reply_tunnel_bytes),
            compressing: PerDirection::new(record.request_compressing_ns, record.reply_compressing_ns)
                .map(Duration::from_nanos),
            turning_back: PerDirection::new(record.request_turning_back_ns, record.reply_turning_back_ns)
                .map(Duration::from_nanos),
        });
        (!records.is_empty()).then(|| levels.collect())
    }
}

impl<'a> ExchangeRecord<'a> {
    pub(super) fn new(
        exchange: &'a Exchange,
        protocol: Protocol,
        operation: Option<u64>,
        step: Option<&OperationStep>,
    ) -> Self {
        let first = &exchange.first;
        let reply_ended = match exchange.more.is_empty() {
            true => first.reply_ended,
            false => Some(exchange.ended()),
        };
        let [server_min_ns, server_max_ns] = bounds(exchange.server(), exchange.server_margin());
        let sum = |part: fn(&Step) -> Duration| nanos(exchange.steps().map(part).sum());
        Self {
            connection: exchange.connection,
            protocol,
            operation,
            phase: exchange.phase,
            at_ns: exchange.at,
            turns: exchange.turns,
            request_bytes: exchange.request_bytes,
            reply_bytes: exchange.reply_bytes,
            request_messages: exchange.request_messages,
            reply_messages: exchange.reply_messages,
            rows: exchange.rows,
            executions: exchange.executions,
            asked: (exchange.asked != RequestTraits::default()).then_some(exchange.asked),
            client_before_ns: step.map(|step| nanos(step.client_before)),
            request_ns: span(exchange.at, first.request_ended),
            first_byte_ns: first.reply_started.map(|at| span(first.request_ended, at)),
            reply_ns: reply_ended.map(|at| span(reply_start(first), at)),
            client_inside_request_ns: sum(|step| step.client_inside_request),
            server_ns: exchange
                .steps()
                .filter_map(known_server)
                .reduce(|sum, part| sum + part)
                .map(nanos),
            server_min_ns,
            server_max_ns,
            pooler: exchange.pooler.as_deref().copied(),
            server_inside_reply_ns: sum(|step| step.server_inside_reply),
            recovery_ns: sum(|step| step.recovery),
            client_side_rtt_ns: first.client_side_rtt.map(nanos),
            server_side_rtt_ns: first.server_side_rtt.map(nanos),
            transaction: exchange.transaction,
            fingerprint: exchange.fingerprint.as_deref().map(Text::from),
            not_seen: exchange.not_seen,
            lost: exchange.lost,
            error: exchange.error.as_deref().map(Text::from),
            literal: exchange.literal.as_deref().map(Text::from),
            assigned: step.and_then(|step| step.assigned),
            probability: step.and_then(|step| step.probability),
            tags: exchange.tags.as_deref().map(Cow::Borrowed),
            steps: match is_told_by_its_first_step(exchange) {
                true => Vec::new(),
                false => exchange.steps().map(StepRecord::new).collect(),
            },
            levels: exchange
                .levels
                .as_deref()
                .unwrap_or_default()
                .iter()
                .map(LevelRecord::new)
                .collect(),
        }
    }

    /// The step of a record without `steps`.
    fn only_step(&self) -> StepRecord {
        StepRecord {
            at_ns: self.at_ns.as_nanos(),
            turn: self.turns == 1,
            request_bytes: self.request_bytes,
            reply_bytes: self.reply_bytes,
            request_ns: self.request_ns,
            first_byte_ns: self.first_byte_ns,
            reply_ns: self.reply_ns,
            client_inside_request_ns: self.client_inside_request_ns,
            server_ns: self.server_ns,
            server_min_ns: self.server_min_ns,
            server_max_ns: self.server_max_ns,
            server_inside_reply_ns: self.server_inside_reply_ns,
            recovery_ns: self.recovery_ns,
            client_side_rtt_ns: self.client_side_rtt_ns,
            server_side_rtt_ns: self.server_side_rtt_ns,
        }
    }
}

impl ReadBody for ExchangeRecord<'_> {
    fn into_record(self, shared: &mut Interner) -> Record {
        let mut steps = self.steps.iter().map(StepRecord::step);
        let first = match steps.next() {
            Some(first) => first,
            None => self.only_step().step(),
        };
        let exchange = Box::new(Exchange {
            connection: self.connection,
            phase: self.phase,
            at: self.at_ns,
            turns: self.turns,
            request_bytes: self.request_bytes,
            reply_bytes: self.reply_bytes,
            request_messages: self.request_messages,
            reply_messages: self.reply_messages,
            rows: self.rows,
            executions: self.executions,
            first,
            more: steps.collect(),
            fingerprint: self.fingerprint.map(|text| shared.share(&text.0)),
            not_seen: self.not_seen,
            lost: self.lost,
            asked: self.asked.unwrap_or_default(),
            transaction: self.transaction,
            error: self.error.map(|text| shared.share(&text.0)),
            literal: self.literal.map(|text| Arc::from(text.0)),
            tags: self
                .tags
                .map(|tags| Arc::new(interned(tags.into_owned(), shared))),
            levels: LevelRecord::at_levels(&self.levels),
            pooler: self.pooler.map(Box::new),
        });
        Record::Exchange {
            exchange,
            protocol: self.protocol,
            operation: self.operation,
        }
    }
}

impl StepRecord {
    fn new(step: &Step) -> Self {
        let [server_min_ns, server_max_ns] = bounds(step.server, step.server_margin);
        Self {
            at_ns: step.request_started.as_nanos(),
            turn: step.turn,
            request_bytes: step.request_bytes,
            reply_bytes: step.reply_bytes,
            request_ns: span(step.request_started, step.request_ended),
            first_byte_ns: step.reply_started.map(|at| span(step.request_ended, at)),
            reply_ns: step.reply_ended.map(|at| span(reply_start(step), at)),
            client_inside_request_ns: nanos(step.client_inside_request),
            server_ns: known_server(step).map(nanos),
            server_min_ns,
            server_max_ns,
            server_inside_reply_ns: nanos(step.server_inside_reply),
            recovery_ns: nanos(step.recovery),
            client_side_rtt_ns: step.client_side_rtt.map(nanos),
            server_side_rtt_ns: step.server_side_rtt.map(nanos),
        }
    }

    fn step(&self) -> Step {
        let request_started = Timestamp::from_nanos(self.at_ns);
        let request_ended = moved(request_started, self.request_ns);
        let reply_started = self.first_byte_ns.map(|span| moved(request_ended, span));
        let server = self.server_ns.map(Duration::from_nanos).unwrap_or_default();
        Step {
            request_started,
            request_ended,
            reply_started,
            reply_ended: self
                .reply_ns
                .map(|span| moved(reply_started.unwrap_or(request_ended), span)),
            request_bytes: self.request_bytes,
            reply_bytes: self.reply_bytes,
            turn: self.turn,
            client_inside_request: Duration::from_nanos(self.client_inside_request_ns),
            server,
            server_margin: Margin::within_bounds(
                server,
                [self.server_min_ns, self.server_max_ns].map(|bound| bound.map(Duration::from_nanos)),
            ),
            server_inside_reply: Duration::from_nanos(self.server_inside_reply_ns),
            client_side_rtt: self.client_side_rtt_ns.map(Duration::from_nanos),
            server_side_rtt: self.server_side_rtt_ns.map(Duration::from_nanos),
            recovery: Duration::from_nanos(self.recovery_ns),
        }
    }
}

/// Whether the keys of the exchange suffice to rebuild its only step.
fn is_told_by_its_first_step(exchange: &Exchange) -> bool {
    let first = &exchange.first;
    exchange.more.is_empty()
        && exchange.at == first.request_started
        && exchange.turns == u32::from(first.turn)
        && exchange.request_bytes == first.request_bytes
        && exchange.reply_bytes == first.reply_bytes
}

fn bounds(server: Duration, margin: Margin) -> [Option<u64>; 2] {
    margin.bounds(server).map(|bound| bound.map(nanos))
}

/// `None` if the round-trip time to the server was unknown.
fn known_server(step: &Step) -> Option<Duration> {
    (step.server_side_rtt.is_some() || !step.server.is_zero()).then_some(step.server)
}

fn reply_start(step: &Step) -> Timestamp {
    step.reply_started.unwrap_or(step.request_ended)
}

/// Negative if `to` is earlier: a reply may begin before its request has ended. Wraps beyond 292
/// years; [`moved`] wraps back, so records are lossless.
fn span(from: Timestamp, to: Timestamp) -> i64 {
    to.as_nanos().wrapping_sub(from.as_nanos()).cast_signed()
}

fn moved(from: Timestamp, span: i64) -> Timestamp {
    Timestamp::from_nanos(from.as_nanos().wrapping_add(span.cast_unsigned()))
}

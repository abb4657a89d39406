//! Operations as traces: a span per operation, with a child span per exchange.

use crate::otlp::attributes::{
    ResourceAttributes, fraction, number, scope, server, statement, system, text, yes,
};
use crate::otlp::messages::{
    FAILED, KeyValue, ResourceSpans, ScopeSpans, Span, Status, TracesRequest, span_kind,
};
use crate::otlp::summary::query_summary;
use analysis::waited::waited;
use model::{
    ConnectionId, Endpoint, Exchange, Operation, OperationKind, OperationStep, RequestId, SpanId, Timestamp,
};
use prost::Message;
use std::time::Duration;

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TraceOptions {
    /// Share of all operations, 0 to 1. The trace identifier decides, so that other samplers with
    /// the same share agree.
    pub sampled: f64,
    /// Minimum duration of an exported operation, `None` to disable.
    pub slow: Option<Duration>,
    /// Exports operations with waste.
    pub flagged: bool,
    /// Adds the text of statements, without literals, to their summary.
    pub keep_text: bool,
}

/// Random identifiers for traces and spans that have none.
pub trait SpanIds {
    fn next(&mut self) -> u64;
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpanChoice {
    Sampled,
    Slow,
    Flagged,
}

impl SpanChoice {
    /// Value of the attribute `longwire.chosen`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sampled => "sampled",
            Self::Slow => "slow",
            Self::Flagged => "flagged",
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct SpansOfOperation(Vec<Span>);

impl SpansOfOperation {
    pub fn count(&self) -> usize {
        self.0.len()
    }
}

/// Builds the spans of an operation; `None` if it becomes no trace. `is_flagged`: whether waste was
/// found in it. `server_of`: server of a connection.
///
/// If the traffic carries a `traceparent`, the spans join that trace, below the span it names.
pub fn spans_of(
    operation: &Operation,
    is_flagged: bool,
    options: &TraceOptions,
    ids: &mut dyn SpanIds,
    server_of: &dyn Fn(ConnectionId) -> Option<Endpoint>,
) -> Option<SpansOfOperation> {
    let carried = operation.steps.iter().find_map(|step| parent_of(&step.exchange));
    let trace = carried.map_or_else(
        || RequestId(u128::from(ids.next()) << 64 | u128::from(ids.next())),
        |(trace, _)| trace,
    );
    let choice = choose(operation, trace, is_flagged, options)?;
    // The request names the client's span; a statement inside names the sender's, that is the
    // application's.
    let of_request = operation
        .steps
        .first()
        .filter(|step| step.protocol.carries_requests());
    let parent = of_request
        .and_then(|step| parent_of(&step.exchange))
        .map(|(_, span)| span);
    let root = SpanId(ids.next());
    let mut spans = vec![of_operation(operation, trace, root, parent, choice)];
    for step in operation.steps.iter().take(MAX_STEPS) {
        let (trace, parent) = match parent_of(&step.exchange) {
            Some((trace, parent)) if !step.protocol.carries_requests() => (trace, parent),
            _ => (trace, root),
        };
        spans.push(of_step(
            step,
            trace,
            SpanId(ids.next()),
            parent,
            options,
            server_of,
        ));
    }
    Some(SpansOfOperation(spans))
}

fn parent_of(exchange: &Exchange) -> Option<(RequestId, SpanId)> {
    let tags = exchange.tags.as_deref()?;
    tags.request.zip(tags.span)
}

fn choose(
    operation: &Operation,
    trace: RequestId,
    is_flagged: bool,
    options: &TraceOptions,
) -> Option<SpanChoice> {
    if options.slow.is_some_and(|slow| operation.duration >= slow) {
        return Some(SpanChoice::Slow);
    }
    if options.flagged && is_flagged {
        return Some(SpanChoice::Flagged);
    }
    // OpenTelemetry, "TraceIdRatioBased": the last 56 bits are random.
    let drawn = (trace.0 as u64 & ((1 << 56) - 1)) as f64 / (1_u64 << 56) as f64;
    (drawn < options.sampled).then_some(SpanChoice::Sampled)
}

fn of_operation(
    operation: &Operation,
    trace: RequestId,
    span: SpanId,
    parent: Option<SpanId>,
    choice: SpanChoice,
) -> Span {
    let attribution = &operation.attribution;
    let mut attributes = vec![
        text("longwire.kind", operation.kind.name()),
        text("longwire.chosen", choice.name()),
        number("longwire.turns", i64::from(operation.turns)),
        fraction("longwire.network.duration", attribution.network().as_secs_f64()),
        fraction("longwire.server.duration", attribution.server.as_secs_f64()),
        fraction("longwire.client.duration", attribution.client.as_secs_f64()),
    ];
    if operation.steps.len() > MAX_STEPS || operation.continues {
        attributes.push(yes("longwire.spans.incomplete"));
    }
    let failed = operation.steps.iter().any(|step| step.exchange.error.is_some());
    Span {
        trace_id: trace.0.to_be_bytes().to_vec(),
        span_id: bytes_of(span),
        parent_span_id: parent.map(bytes_of).unwrap_or_default(),
        name: name_of(&operation.name),
        kind: match operation.kind {
            OperationKind::Http => span_kind::SERVER,
            _ => span_kind::INTERNAL,
        },
        start: operation.at.as_nanos(),
        end: operation.at.after(operation.duration).as_nanos(),
        attributes,
        status: failed.then_some(Status { code: FAILED }),
    }
}

fn of_step(
    step: &OperationStep,
    trace: RequestId,
    span: SpanId,
    parent: SpanId,
    options: &TraceOptions,
    server_of: &dyn Fn(ConnectionId) -> Option<Endpoint>,
) -> Span {
    let exchange = &step.exchange;
    let (start, end) = client_side(exchange);
    Span {
        trace_id: trace.0.to_be_bytes().to_vec(),
        span_id: bytes_of(span),
        parent_span_id: bytes_of(parent),
        name: match &exchange.fingerprint {
            Some(fingerprint) => name_of(&query_summary(step.protocol, fingerprint)),
            None => exchange.phase.name().to_owned(),
        },
        kind: span_kind::CLIENT,
        start: start.as_nanos(),
        end: end.as_nanos(),
        attributes: of_exchange(step, options.keep_text, server_of),
        status: exchange.error.is_some().then_some(Status { code: FAILED }),
    }
}

/// Start and end of the client's wait: half of its round trip before and after the observation.
fn client_side(exchange: &Exchange) -> (Timestamp, Timestamp) {
    let half = exchange.first.client_side_rtt.unwrap_or_default() / 2;
    (exchange.at.before(half), exchange.ended().after(half))
}

fn of_exchange(
    step: &OperationStep,
    keep_text: bool,
    server_of: &dyn Fn(ConnectionId) -> Option<Endpoint>,
) -> Vec<KeyValue> {
    let exchange = &step.exchange;
    let waited = waited(exchange);
    let mut all = vec![
        system(Some(step.protocol)),
        text("longwire.phase", exchange.phase.name()),
        number("longwire.turns", i64::from(exchange.turns)),
        fraction("longwire.network.duration", waited.network.as_secs_f64()),
        fraction("longwire.server.duration", waited.server.as_secs_f64()),
        fraction("longwire.client.duration", waited.client.as_secs_f64()),
    ];
    if let Some(target) = server_of(exchange.connection) {
        all.extend(server(&target.to_string()));
    }
    if let Some(fingerprint) = &exchange.fingerprint {
        all.extend(statement(Some(step.protocol), fingerprint, keep_text));
    }
    if let Some(rows) = exchange.rows.and_then(|rows| i64::try_from(rows).ok()) {
        all.push(number("db.response.returned_rows", rows));
    }
    if let Some(error) = &exchange.error {
        all.push(text("db.response.status_code", error));
        all.push(text("error.type", error));
    }
    all
}

pub fn traces_request(operations: Vec<SpansOfOperation>, resource: &ResourceAttributes) -> Vec<u8> {
    let request = TracesRequest {
        resource_spans: vec![ResourceSpans {
            resource: Some(resource.message()),
            scope_spans: vec![ScopeSpans {
                scope: Some(scope()),
                spans: operations.into_iter().flat_map(|operation| operation.0).collect(),
            }],
        }],
    };
    request.encode_to_vec()
}

fn bytes_of(span: SpanId) -> Vec<u8> {
    span.0.to_be_bytes().to_vec()
}

fn name_of(text: &str) -> String {
    text.chars().take(MAX_NAME_LEN).collect()
}

/// Further exchanges of an operation get no span; the operation reports that.
const MAX_STEPS: usize = 500;

const MAX_NAME_LEN: usize = 255;

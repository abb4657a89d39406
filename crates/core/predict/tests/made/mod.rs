//! Operations made for tests, as seen next to the client on an ideal path.

#![allow(dead_code, reason = "each test file uses its part")]

use model::{
    Attribution, ConnectionId, Exchange, Operation, OperationKind, OperationStep, Phase, Protocol, Step,
    Timestamp,
};
use std::time::Duration;

#[derive(Debug, Clone, Copy)]
pub struct Made {
    pub connection: u32,
    pub phase: Phase,
    pub request_bytes: u64,
    pub reply_bytes: u64,
    pub server: Duration,
    pub server_inside: Duration,
    pub client_before: Duration,
}

impl Made {
    pub fn query(request_bytes: u64, reply_bytes: u64) -> Self {
        Self {
            connection: 0,
            phase: Phase::Work,
            request_bytes,
            reply_bytes,
            server: Duration::ZERO,
            server_inside: Duration::ZERO,
            client_before: Duration::ZERO,
        }
    }

    pub fn handshake() -> Self {
        Self {
            phase: Phase::Connect,
            ..Self::query(0, 0)
        }
    }

    pub fn on(self, connection: u32) -> Self {
        Self { connection, ..self }
    }

    pub fn server(self, server: Duration) -> Self {
        Self { server, ..self }
    }

    pub fn client_before(self, client_before: Duration) -> Self {
        Self {
            client_before,
            ..self
        }
    }
}

/// Sequential exchanges over a path of `rtt` that takes no time for bytes.
pub fn in_sequence(rtt: Duration, made: &[Made]) -> Operation {
    let mut now = Timestamp::from_nanos(1_000_000_000_000);
    let begin = now;
    let mut steps = Vec::new();
    for (index, made) in made.iter().enumerate() {
        now = now.after(made.client_before);
        let step = step(now, rtt, made);
        now = step.reply_ended.expect("made with a reply");
        let mut operation_step = operation_step(made, step);
        operation_step.after = (index as u32).checked_sub(1);
        steps.push(operation_step);
    }
    operation(begin, now.since(begin), steps)
}

pub fn step(at: Timestamp, rtt: Duration, made: &Made) -> Step {
    let replied = at.after(rtt + made.server - made.server_inside);
    Step {
        request_started: at,
        request_ended: at,
        reply_started: Some(replied),
        reply_ended: Some(replied.after(made.server_inside)),
        request_bytes: made.request_bytes,
        reply_bytes: made.reply_bytes,
        turn: true,
        client_inside_request: Duration::ZERO,
        server: made.server,
        server_margin: model::Margin::default(),
        server_inside_reply: made.server_inside,
        client_side_rtt: Some(Duration::ZERO),
        server_side_rtt: Some(rtt),
        recovery: Duration::ZERO,
    }
}

pub fn operation_step(made: &Made, step: Step) -> OperationStep {
    OperationStep {
        exchange: Exchange {
            connection: ConnectionId(made.connection),
            phase: made.phase,
            at: step.request_started,
            turns: u32::from(step.turn),
            request_bytes: made.request_bytes,
            reply_bytes: made.reply_bytes,
            request_messages: 1,
            reply_messages: 1,
            rows: None,
            executions: 1,
            first: step,
            more: Vec::new(),
            fingerprint: None,
            asked: model::RequestTraits::default(),
            transaction: None,
            error: None,
            literal: None,
            tags: None,
            levels: None,
            pooler: None,
            not_seen: None,
            lost: None,
        },
        protocol: Protocol::Postgres,
        after: None,
        after_start: false,
        client_before: made.client_before,
        also_after: Vec::new(),
        reply_after: None,
        reply_also_after: Vec::new(),
        assigned: None,
        probability: None,
        outside_requests: false,
        is_call: false,
    }
}

pub fn operation(at: Timestamp, duration: Duration, steps: Vec<OperationStep>) -> Operation {
    Operation {
        id: 0,
        kind: OperationKind::Whole,
        name: "made".into(),
        at,
        duration,
        turns: steps.iter().map(|step| step.exchange.turns).sum(),
        connections: 1,
        steps,
        attribution: Attribution::default(),
        setup: Duration::ZERO,
        client_after: Duration::ZERO,
        transactions: Vec::new(),
        after_reply: Vec::new(),
        continues: false,
    }
}

//! Synthetic operations, as seen by an observation point next to the client at distance zero.

use model::{
    Attribution, ConnectionId, Exchange, Operation, OperationKind, OperationStep, Phase, Protocol, Step,
    Timestamp,
};
use std::time::Duration;

pub const fn millis(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

pub fn exchange(connection: u32, bytes: [u64; 2], after: Option<u32>) -> OperationStep {
    let at = Timestamp::from_nanos(1_000_000_000_000);
    let step = Step {
        request_started: at,
        request_ended: at,
        reply_started: Some(at),
        reply_ended: Some(at),
        request_bytes: bytes[0],
        reply_bytes: bytes[1],
        turn: true,
        client_inside_request: Duration::ZERO,
        server: Duration::ZERO,
        server_margin: model::Margin::default(),
        server_inside_reply: Duration::ZERO,
        client_side_rtt: Some(Duration::ZERO),
        server_side_rtt: Some(Duration::ZERO),
        recovery: Duration::ZERO,
    };
    OperationStep {
        exchange: Exchange {
            connection: ConnectionId(connection),
            phase: Phase::Work,
            at,
            turns: 1,
            request_bytes: bytes[0],
            reply_bytes: bytes[1],
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
        after,
        after_start: false,
        client_before: Duration::ZERO,
        also_after: Vec::new(),
        reply_after: None,
        reply_also_after: Vec::new(),
        assigned: None,
        probability: None,
        outside_requests: false,
        is_call: false,
    }
}

pub fn handshake(connection: u32, after: Option<u32>) -> OperationStep {
    let mut step = exchange(connection, [0, 0], after);
    step.exchange.phase = Phase::Connect;
    step
}

pub fn served(mut step: OperationStep, server: Duration) -> OperationStep {
    step.exchange.first.server = server;
    step
}

pub fn operation(steps: Vec<OperationStep>) -> Operation {
    Operation {
        id: 0,
        kind: OperationKind::Whole,
        name: "made".into(),
        at: Timestamp::from_nanos(1_000_000_000_000),
        duration: Duration::ZERO,
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

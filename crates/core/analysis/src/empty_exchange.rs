//! Exchanges and steps before any message is added.

use model::{ConnectionId, Exchange, Margin, Phase, RequestTraits, Step, Timestamp};
use std::time::Duration;

pub(crate) fn empty_step(at: Timestamp) -> Step {
    Step {
        request_started: at,
        request_ended: at,
        reply_started: None,
        reply_ended: None,
        request_bytes: 0,
        reply_bytes: 0,
        turn: false,
        client_inside_request: Duration::ZERO,
        server: Duration::ZERO,
        server_margin: Margin::default(),
        server_inside_reply: Duration::ZERO,
        client_side_rtt: None,
        server_side_rtt: None,
        recovery: Duration::ZERO,
    }
}

#[inline]
pub(crate) fn exchange(connection: ConnectionId, phase: Phase, at: Timestamp, first: Step) -> Exchange {
    Exchange {
        connection,
        phase,
        at,
        turns: u32::from(first.turn && first.reply_started.is_some()),
        request_bytes: 0,
        reply_bytes: 0,
        request_messages: 0,
        reply_messages: 0,
        rows: None,
        executions: 0,
        first,
        more: Vec::new(),
        fingerprint: None,
        asked: RequestTraits::default(),
        transaction: None,
        error: None,
        literal: None,
        tags: None,
        levels: None,
        pooler: None,
        not_seen: None,
        lost: None,
    }
}

pub(crate) fn no_exchange() -> Exchange {
    let at = Timestamp::default();
    exchange(ConnectionId(0), Phase::Work, at, empty_step(at))
}

//! One side holds back the rest of a message until an acknowledgement arrives (Nagle against
//! delayed ACK).
//!
//! The parts of a small request or reply are as far apart as a delayed acknowledgement (Linux 40
//! ms, others 200 ms), or as a longer round trip. Saved is that time, not a round trip. A client or
//! database server that computes for exactly that long in mid-message looks the same.
//!
//! Other servers, such as web servers, do compute in mid-response. There only the time counts in
//! which bytes waited for the acknowledgement, and only if they left the server at the moment it
//! arrived.

use super::ledger::Waste;
use super::operation_view::OperationView;
use crate::verb::Verb;
use model::{FindingKind, Phase, Step};
use std::ops::RangeInclusive;
use std::time::Duration;

/// Linux, and most other systems.
const DELAYS: [RangeInclusive<Duration>; 2] = [
    Duration::from_millis(38)..=Duration::from_millis(50),
    Duration::from_millis(190)..=Duration::from_millis(220),
];

/// After ten packets a connection must wait for an acknowledgement anyway.
const MAX_BYTES: u64 = 14_000;

pub(super) fn detect_waste(view: &mut OperationView<'_>) {
    look_at_databases(view);
    look_at_other_servers(view);
}

fn look_at_other_servers(view: &mut OperationView<'_>) {
    let operation = view.operation;
    for (number, step) in operation.steps.iter().enumerate() {
        let exchange = &step.exchange;
        if exchange.phase != Phase::Work || step.protocol.is_database() {
            continue;
        }
        let held_back: Duration = exchange.steps().filter_map(held_back).sum();
        if !held_back.is_zero() {
            let waste = Waste {
                fingerprint: exchange.fingerprint.clone(),
                count: 1,
                spares: held_back,
                ..Waste::new(FindingKind::AckStall, exchange.connection, step.protocol)
            };
            view.note_steps_held_back(waste, &[number]);
        }
    }
}

/// Time for which the rest of a response waited for the first acknowledgement, without the server's
/// computing.
fn held_back(step: &Step) -> Option<Duration> {
    let span = step.reply_ended?.since(step.reply_started?);
    let waited = span.saturating_sub(step.server_inside_reply);
    let rtt = step.client_side_rtt.unwrap_or_default() + step.server_side_rtt.unwrap_or_default();
    let is_stall = [waited, waited.saturating_sub(rtt)]
        .iter()
        .any(|waited| is_stall(*waited, step.reply_bytes));
    (is_stall && step.recovery.is_zero()).then_some(waited)
}

fn look_at_databases(view: &mut OperationView<'_>) {
    for index in 0..view.turns.all.len() {
        let turn = view.turns.all[index];
        let Some(exchange) = view.exchange(index) else {
            continue;
        };
        if !exchange.more.is_empty() || turn.verb() == Some(Verb::Other) {
            continue;
        }
        let Some(stall) = stall(&exchange.first) else {
            continue;
        };
        if let Some(waste) = view.waste(FindingKind::AckStall, index) {
            let waste = Waste {
                count: 1,
                turns: 0,
                spares: stall,
                ..waste
            };
            view.note_held_back(waste, index);
        }
    }
}

fn stall(step: &Step) -> Option<Duration> {
    if !step.recovery.is_zero() {
        return None;
    }
    let request = step.request_ended.since(step.request_started);
    let reply = step.reply_started.zip(step.reply_ended);
    let reply = reply.map_or(Duration::ZERO, |(started, ended)| ended.since(started));
    let stalls = [(request, step.request_bytes), (reply, step.reply_bytes)];
    let stalls = stalls.into_iter().filter(|(span, bytes)| is_stall(*span, *bytes));
    let sum: Duration = stalls.map(|(span, _)| span).sum();
    (!sum.is_zero()).then_some(sum)
}

fn is_stall(span: Duration, bytes: u64) -> bool {
    let is_delayed = DELAYS.iter().any(|delay| delay.contains(&span));
    is_delayed && (2..=MAX_BYTES).contains(&bytes)
}

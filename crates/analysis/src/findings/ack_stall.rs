//! A client that waits for an acknowledgement before it sends the rest of a request, or a server with the rest of a reply (Nagle against delayed
//! ACK).
//!
//! A small request, or a small reply, whose parts lie as far apart as a delayed acknowledgement takes (Linux 40 ms, others 200 ms), or as a round trip does
//! where that is longer: its sender held the second part back until the first was acknowledged. Saved is that time; it is no
//! turn. A client, or a server, that computes for exactly that long in the middle of what it sends looks the same.

use super::ledger::Waste;
use super::look::Look;
use crate::verb::Verb;
use model::{FindingKind, Step};
use std::ops::RangeInclusive;
use std::time::Duration;

/// How long acknowledgements are delayed: Linux, and most other systems.
const DELAYS: [RangeInclusive<Duration>; 2] = [
    Duration::from_millis(38)..=Duration::from_millis(50),
    Duration::from_millis(190)..=Duration::from_millis(220),
];

/// Bytes that a connection may send before it must wait for an acknowledgement anyway: ten packets.
const MOST_BYTES: u64 = 14_000;

pub(super) fn look(look: &mut Look<'_>) {
    for index in 0..look.turns.all.len() {
        let turn = look.turns.all[index];
        let Some(exchange) = look.exchange(index) else {
            continue;
        };
        if !exchange.more.is_empty() || turn.verb() == Some(Verb::Other) {
            continue;
        }
        let Some(stall) = stall(&exchange.first) else {
            continue;
        };
        if let Some(waste) = look.waste(FindingKind::AckStall, index) {
            let waste = Waste {
                count: 1,
                turns: 0,
                spares: stall,
                ..waste
            };
            look.note_held_back(waste, index);
        }
    }
}

/// How long the request, the reply or both waited for an acknowledgement.
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
    is_delayed && (2..=MOST_BYTES).contains(&bytes)
}

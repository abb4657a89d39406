//! A client that waits for an acknowledgement before it sends the rest of a request (Nagle against delayed ACK).
//!
//! A small request whose parts lie as far apart as a delayed acknowledgement takes (Linux 40 ms, others 200 ms), or as a round trip does
//! where that is longer: its sender held the second part back until the first was acknowledged. Saved is that time; it is no
//! turn. In a relay a client that computes for exactly that long in the middle of a request looks the same.

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

/// How long the request waited for an acknowledgement.
fn stall(step: &Step) -> Option<Duration> {
    let span = step.request_ended.since(step.request_started);
    let is_delayed = DELAYS.iter().any(|delay| delay.contains(&span));
    let is_small = (2..=MOST_BYTES).contains(&step.request_bytes);
    (is_delayed && is_small && step.recovery.is_zero()).then_some(span)
}

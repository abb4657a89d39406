//! Transfers that wait for the receiver's window instead of the link.
//!
//! A large reply moves just under 64 KiB per round trip: the maximum in flight without window
//! scaling. Saved are the round trips that a growing window avoids. Reported only if the round trip
//! was long enough to be the limit.

use super::ledger::Waste;
use super::operation_view::OperationView;
use model::{FindingKind, Step};
use std::ops::RangeInclusive;
use std::time::Duration;

const MIN_RTT: Duration = Duration::from_millis(2);

const MIN_BYTES: u64 = 512 * 1024;

/// Bytes per round trip with a window of 64 KiB.
const WINDOW: RangeInclusive<u64> = 52_000..=66_000;

/// The initial congestion window of ten segments.
const FIRST_WINDOW: u64 = 14_600;

pub(super) fn detect_waste(view: &mut OperationView<'_>) {
    for index in 0..view.turns.all.len() {
        let Some(exchange) = view.exchange(index) else {
            continue;
        };
        if exchange.reply_bytes < MIN_BYTES {
            continue;
        }
        let waits: u64 = exchange.steps().filter_map(waits).sum();
        if waits > 0
            && let Some(waste) = view.waste(FindingKind::WindowLimited, index)
        {
            view.record_waste(Waste {
                count: 1,
                turns: 0,
                saves_waits: waits,
                ..waste
            });
        }
    }
}

fn waits(step: &Step) -> Option<u64> {
    let rtt = step.client_side_rtt? + step.server_side_rtt?;
    let span = step.reply_ended?.since(step.reply_started?);
    if rtt < MIN_RTT || step.reply_bytes < MIN_BYTES {
        return None;
    }
    // From the first byte of the first window to the last byte of the last: one round trip fewer
    // than windows.
    let between = (span + rtt / 2).as_nanos().checked_div(rtt.as_nanos())?;
    let rounds = u64::try_from(between).ok()?.saturating_add(1);
    let a_round = step.reply_bytes.checked_div(rounds)?;
    let needed = u64::from((step.reply_bytes / FIRST_WINDOW).max(1).ilog2()) + 1;
    WINDOW.contains(&a_round).then(|| rounds.saturating_sub(needed))
}

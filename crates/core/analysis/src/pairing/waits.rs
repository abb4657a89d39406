//! Waits inside a step other than round trips and transfer: idle senders and retransmissions.

use model::{Direction, Timestamp};
use std::time::Duration;

/// Waits recorded until their messages are complete. Beyond [`MAXIMUM_NOTES`] the newest note of a
/// kind absorbs the next.
#[derive(Debug, Default)]
pub(super) struct Waits {
    client_idle: Vec<Idle>,
    server_idle: Vec<Idle>,
    recoveries: Vec<Recovery>,
}

#[derive(Debug, Clone, Copy)]
struct Idle {
    until: Timestamp,
    span: Duration,
}

#[derive(Debug, Clone, Copy)]
struct Recovery {
    from: Timestamp,
    to: Timestamp,
}

const MAXIMUM_NOTES: usize = 256;

impl Waits {
    pub(super) fn idle(&mut self, direction: Direction, until: Timestamp, span: Duration) {
        if span.is_zero() {
            return;
        }
        let notes = match direction {
            Direction::ClientToServer => &mut self.client_idle,
            Direction::ServerToClient => &mut self.server_idle,
        };
        let full = notes.len() == MAXIMUM_NOTES;
        match notes.last_mut() {
            Some(last) if full => {
                *last = Idle {
                    until,
                    span: last.span + span,
                }
            }
            _ => notes.push(Idle { until, span }),
        }
    }

    /// Client idle time that ended after `since`; drops older notes, which belong to no request.
    pub(super) fn take_client_idle(&mut self, since: Timestamp) -> Duration {
        take_after(&mut self.client_idle, since)
    }

    /// Server idle time that ended after `since`; drops older notes, which precede the reply.
    pub(super) fn take_server_idle(&mut self, since: Timestamp) -> Duration {
        take_after(&mut self.server_idle, since)
    }

    pub(super) fn server_was_idle(&self) -> bool {
        !self.server_idle.is_empty()
    }

    pub(super) fn recovery(&mut self, from: Timestamp, to: Timestamp) {
        if self.recoveries.len() == MAXIMUM_NOTES {
            self.recoveries.remove(0);
        }
        self.recoveries.push(Recovery { from, to });
    }

    /// Time with bytes waiting for a retransmission, without overlaps.
    pub(super) fn recovery_between(&self, from: Timestamp, to: Timestamp) -> Duration {
        let mut covered_until = from;
        let mut sum = Duration::ZERO;
        for recovery in &self.recoveries {
            let start = recovery.from.max(covered_until);
            let end = recovery.to.min(to);
            sum += end.since(start);
            covered_until = covered_until.max(end);
        }
        sum
    }

    /// Drops retransmissions that ended before `at`.
    pub(super) fn forget_recoveries_before(&mut self, at: Timestamp) {
        self.recoveries.retain(|recovery| recovery.to > at);
    }
}

fn take_after(notes: &mut Vec<Idle>, since: Timestamp) -> Duration {
    if notes.is_empty() {
        return Duration::ZERO;
    }
    let sum = notes
        .iter()
        .filter(|idle| idle.until > since)
        .map(|idle| idle.span)
        .sum();
    notes.clear();
    sum
}

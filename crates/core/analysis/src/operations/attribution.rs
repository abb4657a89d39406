//! Attributes an operation's time by walking back from its end along the waits.
//!
//! Every nanosecond counts once: the exchange that ended last, then the client's time before it,
//! then the exchange that ended last before that, and so on. Concurrent work is hidden and not
//! counted. Within an exchange, in this order and up to its length: server time, retransmissions,
//! client time inside the request, round trips; the rest is transfer. The wait of a step without a
//! known server-side round trip is `unknown`.

use super::span;
use model::{Attribution, Exchange, OperationStep, Phase, PoolerTime, Step, Timestamp};
use std::time::Duration;

#[derive(Debug, Default)]
pub(super) struct Walked {
    pub(super) attribution: Attribution,
    pub(super) setup: Duration,
}

pub(super) fn walk(
    steps: &[OperationStep],
    parents: &[Option<u32>],
    by_end: &[u32],
    from: Timestamp,
    to: Timestamp,
) -> Walked {
    let mut children: Vec<Vec<u32>> = Vec::new();
    let mut roots: Vec<u32> = Vec::new();
    if parents.iter().any(Option::is_some) {
        children.resize_with(steps.len(), Vec::new);
    }
    for &index in by_end {
        match parents[index as usize] {
            Some(parent) => children[parent as usize].push(index),
            None => roots.push(index),
        }
    }
    let mut walker = Walker {
        steps,
        children,
        walked: Walked::default(),
    };
    walker.level(&roots, from, to);
    walker.walked
}

/// Like [`walk`], for selected steps without parents.
pub(super) fn walk_some(
    steps: &[OperationStep],
    some: &[u32],
    from: Timestamp,
    to: Timestamp,
) -> Attribution {
    let mut some = some.to_vec();
    some.sort_by_key(|&index| span::ended(&steps[index as usize].exchange));
    let mut walker = Walker {
        steps,
        children: Vec::new(),
        walked: Walked::default(),
    };
    walker.level(&some, from, to);
    walker.walked.attribution
}

struct Walker<'a> {
    steps: &'a [OperationStep],
    children: Vec<Vec<u32>>,
    walked: Walked,
}

impl Walker<'_> {
    /// Walks back over siblings, sorted by end. Children use a work list instead of recursion, as a
    /// garbage capture may nest to any depth.
    fn level(&mut self, siblings: &[u32], from: Timestamp, to: Timestamp) {
        let mut work = vec![(siblings.to_vec(), from, to)];
        while let Some((siblings, from, to)) = work.pop() {
            let mut until = to;
            let mut next_is_setup = false;
            for &index in siblings.iter().rev() {
                let step = &self.steps[index as usize];
                if until <= from {
                    break;
                }
                if span::started(&step.exchange) >= until {
                    continue;
                }
                // A damaged capture may contain an exchange that ends before it begins.
                let ended = span::ended(&step.exchange).min(until).max(from);
                let started = self.counted_from(step).max(from).min(ended);
                let gap = until.since(ended);
                self.walked.attribution.client += gap;
                if next_is_setup {
                    self.walked.setup += gap;
                }
                next_is_setup = step.exchange.phase < Phase::Work;
                if let Some(inner) = self.exchange(index, started, ended) {
                    work.push(inner);
                }
                until = started;
            }
            self.walked.attribution.client += until.since(from);
        }
    }

    /// A pipelined exchange counts from the end of the previous one, which the client waited for
    /// until then.
    fn counted_from(&self, step: &OperationStep) -> Timestamp {
        let started = span::started(&step.exchange);
        match step.after {
            Some(after) if step.after_start => {
                let earlier = &self.steps[after as usize].exchange;
                if earlier.connection == step.exchange.connection {
                    span::ended(earlier).max(started)
                } else {
                    started
                }
            }
            _ => started,
        }
    }

    /// Returns the part that children explain.
    fn exchange(
        &mut self,
        index: u32,
        from: Timestamp,
        to: Timestamp,
    ) -> Option<(Vec<u32>, Timestamp, Timestamp)> {
        let step = &self.steps[index as usize];
        let mut left = to.since(from);
        if step.exchange.phase < Phase::Work {
            self.walked.setup += left;
        }
        let inner = self.inner(index, &mut left);
        let parts = parts(&step.exchange, inner.is_some(), left);
        self.walked.attribution.add(&parts);
        inner
    }

    fn inner(&mut self, index: u32, left: &mut Duration) -> Option<(Vec<u32>, Timestamp, Timestamp)> {
        let children = std::mem::take(self.children.get_mut(index as usize)?);
        if children.is_empty() {
            return None;
        }
        let exchange = &self.steps[index as usize].exchange;
        let from = span::reached_server(exchange);
        let last_ended = children
            .last()
            .map(|child| span::ended(&self.steps[*child as usize].exchange));
        let until = span::left_server(exchange)?.max(last_ended.unwrap_or_default());
        let span = until.since(from).min(*left);
        *left -= span;
        Some((children, from, from.after(span)))
    }
}

fn parts(exchange: &Exchange, children_explain_wait: bool, left: Duration) -> Attribution {
    let mut ledger = Ledger {
        parts: Attribution::default(),
        left,
    };
    let mut previous: Option<&Step> = None;
    for (index, step) in exchange.steps().enumerate() {
        if let Some(previous) = previous {
            let pause = step.request_started.since(ended(previous));
            ledger.add_part(
                |parts| &mut parts.client,
                pause.saturating_sub(span::client_side(step)),
            );
        }
        let explained = children_explain_wait && index == 0;
        let server = if explained {
            step.server_inside_reply
        } else {
            step.server
        };
        let given = ledger.add_part(|parts| &mut parts.server, server);
        if !explained {
            ledger.parts.server_margin.add(step.server_margin.within(given));
        }
        let pooler = match index {
            0 => exchange.pooler_time(),
            _ => PoolerTime::default(),
        };
        if pooler.total() > Duration::ZERO {
            ledger.add_part(|parts| &mut parts.pooler, pooler.own());
            ledger.add_part(|parts| &mut parts.round_trip, pooler.network);
        }
        ledger.add_part(|parts| &mut parts.recovery, step.recovery);
        ledger.add_part(|parts| &mut parts.client, step.client_inside_request);
        ledger.wait(step, pooler.total());
        previous = Some(step);
    }
    let Ledger { mut parts, left } = ledger;
    parts.transfer += left;
    parts
}

fn ended(step: &Step) -> Timestamp {
    step.reply_ended.unwrap_or(step.request_ended)
}

/// Distributes a span of time and never more.
struct Ledger {
    parts: Attribution,
    left: Duration,
}

impl Ledger {
    /// Adds `wanted` or the remaining time; returns the amount added.
    fn add_part(
        &mut self,
        part: impl FnOnce(&mut Attribution) -> &mut Duration,
        wanted: Duration,
    ) -> Duration {
        let given = wanted.min(self.left);
        self.left -= given;
        *part(&mut self.parts) += given;
        given
    }

    /// Attributes the wait for the first byte, without server time and the time of the `pooler` and
    /// behind it.
    fn wait(&mut self, step: &Step, pooler: Duration) {
        let round_trip = span::client_side(step) + span::server_side(step);
        let wait = step
            .reply_started
            .map(|at| at.since(step.request_ended))
            .unwrap_or_default();
        if step.server_side_rtt.is_none() {
            self.add_part(|parts| &mut parts.unknown, wait);
        } else if step.turn {
            self.add_part(|parts| &mut parts.round_trip, round_trip);
        } else if step.reply_started.is_some() {
            // After an earlier reply: travel, then waiting for the server.
            self.add_part(
                |parts| &mut parts.transfer,
                ended(step).since(step.reply_started.unwrap_or_default()),
            );
            self.add_part(|parts| &mut parts.round_trip, round_trip);
            self.add_part(
                |parts| &mut parts.server,
                wait.saturating_sub(step.server + pooler + span::server_side(step)),
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::empty_exchange::no_exchange;
    use model::Margin;

    #[test]
    fn what_is_not_certain_to_be_the_server_s_stays_within_the_same_total() {
        let us = Duration::from_micros;
        let at = Timestamp::from_nanos(1_000_000_000);
        let mut exchange = no_exchange();
        exchange.first = Step {
            request_started: at,
            request_ended: at,
            reply_started: Some(at.after(us(10_300))),
            reply_ended: Some(at.after(us(10_300))),
            turn: true,
            server: us(300),
            server_margin: Margin::between(us(300), [us(100), us(350)]),
            server_side_rtt: Some(us(10_000)),
            ..exchange.first
        };
        let whole = parts(&exchange, false, us(10_300));
        assert_eq!(
            (whole.server, whole.round_trip, whole.total()),
            (us(300), us(10_000), us(10_300))
        );
        assert_eq!(whole.server_margin.around(whole.server), [us(100), us(350)]);
        // The margin is limited to the shortened time.
        let cut = parts(&exchange, false, us(50));
        assert_eq!(cut.server_margin.around(cut.server), [us(0), us(100)]);
    }
}

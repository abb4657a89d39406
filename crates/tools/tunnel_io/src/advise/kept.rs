//! Sums of all operations, and an even sample of them.

use model::{AtLevel, Exchange, Operation, PerDirection, Timestamp};
use std::time::Duration;

/// Every operation, or every second, fourth, ... once there are [`MAX_KEPT_EXCHANGES`].
#[derive(Debug)]
pub(super) struct Kept {
    operations: Vec<Operation>,
    exchanges: usize,
    every: usize,
    seen: usize,
}

impl Default for Kept {
    fn default() -> Self {
        Self {
            operations: Vec::new(),
            exchanges: 0,
            every: 1,
            seen: 0,
        }
    }
}

impl Kept {
    pub(super) fn add(&mut self, operation: Operation) {
        let is_kept = self.seen.is_multiple_of(self.every);
        self.seen += 1;
        if !is_kept {
            return;
        }
        self.exchanges += operation.steps.len();
        self.operations.push(operation);
        while self.exchanges > MAX_KEPT_EXCHANGES && self.operations.len() > 1 {
            let mut number = 0usize;
            self.operations.retain(|_| {
                number += 1;
                !number.is_multiple_of(2)
            });
            self.exchanges = self.operations.iter().map(|kept| kept.steps.len()).sum();
            self.every *= 2;
        }
    }

    /// Every `every`th operation, or somewhat fewer.
    pub(super) fn sample(&self, every: usize) -> Vec<Operation> {
        let step = every.div_ceil(self.every);
        self.operations.iter().step_by(step).cloned().collect()
    }
}

#[derive(Debug, Default)]
pub(super) struct Sums {
    pub(super) operations: u64,
    pub(super) exchanges: u64,
    pub(super) turns: u64,
    pub(super) payload_bytes: PerDirection<u64>,
    pub(super) packets: u64,
    levels: Vec<LevelSums>,
    round_trips: Vec<Duration>,
    begin: Option<Timestamp>,
    end: Option<Timestamp>,
}

#[derive(Debug, Default, Clone, Copy)]
pub(super) struct LevelSums {
    pub(super) tunnel_bytes: PerDirection<u64>,
    pub(super) processor: [Duration; 2],
}

impl Sums {
    pub(super) fn add(&mut self, operation: &Operation, crossing: &[&Exchange]) {
        self.operations += 1;
        let steps = operation.steps.iter().map(|step| &step.exchange);
        let packets =
            steps.map(|exchange| 2 + (exchange.request_bytes + exchange.reply_bytes) / BYTES_A_PACKET);
        self.packets += packets.sum::<u64>();
        self.begin = Some(self.begin.map_or(operation.at, |begin| begin.min(operation.at)));
        self.end = self.end.max(Some(operation.at.after(operation.duration)));
        crossing.iter().for_each(|exchange| self.add_exchange(exchange));
    }

    fn add_exchange(&mut self, exchange: &Exchange) {
        self.exchanges += 1;
        self.turns += u64::from(exchange.turns);
        let bytes = PerDirection::new(exchange.request_bytes, exchange.reply_bytes);
        self.payload_bytes = self.payload_bytes.zip(bytes).map(|(sum, bytes)| sum + bytes);
        let levels = exchange.levels.as_deref().unwrap_or_default();
        if self.levels.len() < levels.len() {
            self.levels.resize(levels.len(), LevelSums::default());
        }
        for (sums, at) in self.levels.iter_mut().zip(levels) {
            sums.add(at);
        }
        let (client, server) = (exchange.first.client_side_rtt, exchange.first.server_side_rtt);
        if (client.is_some() || server.is_some()) && self.round_trips.len() < MAX_ROUND_TRIPS {
            self.round_trips
                .push(client.unwrap_or_default() + server.unwrap_or_default());
        }
    }

    pub(super) fn at(&self, level: usize) -> LevelSums {
        self.levels.get(level).copied().unwrap_or_default()
    }

    pub(super) fn round_trip(&self) -> Option<Duration> {
        model::median(self.round_trips.iter().copied())
    }

    pub(super) fn span(&self) -> Duration {
        self.begin
            .zip(self.end)
            .map_or(Duration::ZERO, |(begin, end)| end.since(begin))
    }
}

impl LevelSums {
    fn add(&mut self, at: &AtLevel) {
        self.tunnel_bytes = self
            .tunnel_bytes
            .zip(at.tunnel_bytes)
            .map(|(sum, bytes)| sum + bytes);
        for (sum, spent) in self.processor.iter_mut().zip([at.compressing, at.turning_back]) {
            *sum += spent.iter().sum::<Duration>();
        }
    }
}

const MAX_KEPT_EXCHANGES: usize = 200_000;
const MAX_ROUND_TRIPS: usize = 1_000_000;
const BYTES_A_PACKET: u64 = 1448;

#[cfg(test)]
mod tests {
    use super::*;
    use model::{Attribution, ConnectionId, OperationKind, OperationStep, Phase, Protocol, Step};

    fn operation(exchanges: usize) -> Operation {
        let at = Timestamp::default();
        let step = Step {
            request_started: at,
            request_ended: at,
            reply_started: None,
            reply_ended: None,
            request_bytes: 0,
            reply_bytes: 0,
            turn: true,
            client_inside_request: Duration::ZERO,
            server: Duration::ZERO,
            server_margin: model::Margin::default(),
            server_inside_reply: Duration::ZERO,
            client_side_rtt: None,
            server_side_rtt: None,
            recovery: Duration::ZERO,
        };
        let exchange = Exchange {
            connection: ConnectionId(0),
            phase: Phase::Work,
            at,
            turns: 1,
            request_bytes: 0,
            reply_bytes: 0,
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
        };
        Operation {
            id: 0,
            kind: OperationKind::Transaction,
            name: "made".into(),
            at,
            duration: Duration::ZERO,
            steps: vec![OperationStep::first(exchange, Protocol::Postgres); exchanges],
            turns: 1,
            connections: 1,
            attribution: Attribution::default(),
            setup: Duration::ZERO,
            client_after: Duration::ZERO,
            transactions: Vec::new(),
            after_reply: Vec::new(),
            continues: false,
        }
    }

    fn kept_of(count: u64, exchanges: usize) -> Kept {
        let (mut kept, whole) = (Kept::default(), operation(exchanges));
        (0..count).for_each(|id| kept.add(Operation { id, ..whole.clone() }));
        kept
    }

    #[test]
    fn a_sample_is_even_and_bounded_however_many_operations_pass() {
        let few = kept_of(100, 3);
        let ids = |sample: Vec<Operation>| sample.iter().map(|operation| operation.id).collect::<Vec<_>>();
        assert_eq!(ids(few.sample(30)), [0, 30, 60, 90]);
        let many = kept_of(1_000, 1_000);
        assert!(many.exchanges <= MAX_KEPT_EXCHANGES, "{}", many.exchanges);
        assert_eq!(ids(many.sample(250)), [0, 256, 512, 768]);
    }
}

//! Similar requests in sequence on connections that are not decoded.
//!
//! In an operation that a user waits for, [`MIN_REQUESTS`] requests to one server, each after the
//! reply before: lengths within 10 % of the first, and most of the first 16 bytes equal. They may be
//! one request for each key of a list; the bytes do not tell, so this is never another finding's
//! kind, and forbidden only by its own name.

use super::ledger::Waste;
use super::operation_view::OperationView;
use model::{ConnectionId, FindingKind, OperationStep, Phase, RequestStart, Timestamp};

pub(super) const MIN_REQUESTS: usize = 5;

pub(super) fn detect_waste(view: &mut OperationView<'_>) {
    if !view.is_one_piece() {
        return;
    }
    let operation = view.operation;
    let mut series: Vec<Series> = Vec::new();
    for (number, step) in operation.steps.iter().enumerate() {
        let Some(start) = start_of(step) else { continue };
        let exchange = &step.exchange;
        let place = series.iter().position(|one| {
            one.connection == exchange.connection && one.is_like(start, exchange.request_bytes)
        });
        match place {
            Some(place) if series[place].ended <= exchange.at => series[place].add(number, step),
            None if series.len() < MAX_SERIES => series.push(Series::new(number, step, start)),
            Some(_) | None => {}
        }
    }
    for one in series.iter().filter(|one| one.steps.len() >= MIN_REQUESTS) {
        let count = one.steps.len() as u64;
        let waste = Waste {
            count,
            turns: count,
            saves_turns: count - 1,
            ..Waste::new(FindingKind::SimilarRequests, one.connection, one.protocol)
        };
        view.note_steps(waste, &one.steps[1..]);
    }
}

fn start_of(step: &OperationStep) -> Option<RequestStart> {
    let exchange = &step.exchange;
    let is_plain = exchange.phase == Phase::Work && exchange.turns == 1 && exchange.error.is_none();
    exchange.asked.start.filter(|_| is_plain)
}

struct Series {
    connection: ConnectionId,
    protocol: model::Protocol,
    start: RequestStart,
    bytes: u64,
    ended: Timestamp,
    steps: Vec<usize>,
}

impl Series {
    fn new(number: usize, step: &OperationStep, start: RequestStart) -> Self {
        Self {
            connection: step.exchange.connection,
            protocol: step.protocol,
            start,
            bytes: step.exchange.request_bytes,
            ended: step.exchange.ended(),
            steps: vec![number],
        }
    }

    fn is_like(&self, start: RequestStart, bytes: u64) -> bool {
        self.bytes.abs_diff(bytes) * 10 <= self.bytes && self.start.is_like(start)
    }

    fn add(&mut self, number: usize, step: &OperationStep) {
        self.ended = step.exchange.ended();
        self.steps.push(number);
    }
}

/// Maximum shapes of requests in one operation.
const MAX_SERIES: usize = 64;

//! Work of a server for a request after its reply. Nobody waits for it, but it keeps a worker busy.

use super::nanos;
use link::LinkDescription;
use model::{Nanos, Operation, OperationStep};

#[derive(Debug, Clone, Default)]
pub struct AfterReply {
    /// From the reply to the end of the last exchange.
    pub measured: Nanos,
    pub computing: Nanos,
    /// Round trips on moved connections, by link.
    turns: Vec<(u32, u32)>,
}

impl AfterReply {
    pub(super) fn new(operation: &Operation, moved: &dyn Fn(&OperationStep) -> Option<u32>) -> Self {
        let steps = &operation.after_reply;
        let Some(ended) = steps.iter().map(|step| step.exchange.ended()).max() else {
            return Self::default();
        };
        let replied = operation.steps.iter().map(|step| step.exchange.ended()).max();
        let mut after = Self {
            measured: ended.nanos_since(replied.unwrap_or(ended)),
            ..Self::default()
        };
        let mut network = Nanos::ZERO;
        for step in steps {
            if let Some(link) = moved(step) {
                let turns = step.exchange.turns;
                let round_trip = step.exchange.first.server_side_rtt.unwrap_or_default();
                network = network.saturating_add(nanos(round_trip * turns));
                after.turns.push((link, turns));
            }
        }
        after.computing = after.measured.saturating_sub(network);
        after
    }

    pub fn is_none(&self) -> bool {
        self.measured.is_zero()
    }

    pub fn network(&self, links: &[LinkDescription]) -> Nanos {
        let round_trip = |link: u32| links[(link as usize).min(links.len() - 1)].rtt;
        self.turns
            .iter()
            .map(|&(link, turns)| nanos(round_trip(link) * turns))
            .sum()
    }
}

//! Replays operations of a single client.

use super::Predictor;
use super::totals::ReplayTotals;
use crate::held::HeldReplay;
use crate::plan::OperationPlan;
use crate::replay::run_alone;
use crate::sequence::InSequence;
use crate::unexplained::ReplayedHere;
use link::LinkDescription;
use model::Operation;

impl Predictor {
    /// Returns per target the replays of an operation, summed over its parts so far.
    pub(super) fn replay_alone(
        &mut self,
        operation: &Operation,
        plan: &OperationPlan,
        sequence: Option<&InSequence>,
        place: usize,
        here: ReplayedHere,
    ) -> Vec<Vec<ReplayTotals>> {
        let known = self.unfinished.remove(&operation.id);
        let mut wholes = known.unwrap_or_else(|| vec![Vec::new(); self.targets.len()]);
        for (index, target) in self.targets.iter().enumerate() {
            if !self.is_alone(target) {
                continue;
            }
            let connections = &mut self.connections[index];
            let flows = plan
                .connections
                .iter()
                .map(|id| connections.take_flows(*id, operation.at));
            let mut flows: Vec<_> = flows.collect();
            let wholes = &mut wholes[index];
            if wholes.is_empty() {
                let replays = replays(&self.links[index], self.names[place].operations);
                wholes.resize(replays, ReplayTotals::default());
            }
            for (number, whole) in wholes.iter_mut().enumerate().rev() {
                let links = &self.links[index];
                let own_seeds = draws(links).then(|| with_own_seeds(links, operation.id, number as u64));
                let links = own_seeds.as_deref().unwrap_or(links);
                let before = if number == 0 {
                    std::mem::take(&mut flows)
                } else {
                    flows.clone()
                };
                let alone = run_alone(plan, sequence, links, &self.wake_up, before.into_iter());
                let mut critical_path = alone.critical_path;
                let replayed = critical_path.duration;
                critical_path.wait(here.wait(critical_path.attribution.transfer));
                whole.add(&critical_path, plan.turns_moved);
                whole.measured += operation.duration;
                whole.computing += plan.computing();
                if !operation.transactions.is_empty() {
                    let replay = HeldReplay {
                        operation,
                        plan,
                        target: index,
                        number,
                        times: &alone.times,
                        critical_path: &critical_path,
                    };
                    self.held.replayed(&replay, self.targets.len());
                }
                if number == 0 {
                    connections.put(plan, alone.flows, operation, replayed);
                }
            }
        }
        wholes
    }
}

/// Replays of an operation after `before` others of its name: several on a link with random
/// effects, most for the first operations.
fn replays(links: &[LinkDescription], before: u64) -> usize {
    if !draws(links) {
        return 1;
    }
    (REPLAYS_OF_FIRST / (before + 1).saturating_mul(before + 1)).max(1) as usize
}

fn draws(links: &[LinkDescription]) -> bool {
    let draws = |link: &LinkDescription| link.loss.is_some() || link.jitter.is_some();
    links.iter().any(draws)
}

/// The links with separate random seeds per replay.
fn with_own_seeds(links: &[LinkDescription], operation: u64, replay: u64) -> Vec<LinkDescription> {
    let own = operation.wrapping_mul(REPLAYS_OF_FIRST).wrapping_add(replay);
    let with_own_seed = |link: &LinkDescription| LinkDescription {
        seed: link.seed.wrapping_add(own.wrapping_mul(SEED_STEP)),
        ..*link
    };
    links.iter().map(with_own_seed).collect()
}

const REPLAYS_OF_FIRST: u64 = 64;

/// An odd number near 2^64 divided by the golden ratio: neighbouring seeds lie far apart.
const SEED_STEP: u64 = 0x9E37_79B9_7F4A_7C15;

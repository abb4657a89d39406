//! The cheapest placement that keeps all budgets, and the order of moves to it.

use crate::placement::Placement;
use model::PlacementOutcome;
use std::collections::{HashMap, VecDeque};
use std::time::Duration;

/// The position of the cheapest that keeps all budgets: of those with the same price that with the fewest
/// moves, then the one whose operations take least. `None` if none keeps them.
pub fn cheapest(outcomes: &[PlacementOutcome]) -> Option<usize> {
    let kept = outcomes
        .iter()
        .enumerate()
        .filter(|(_, outcome)| outcome.broken.is_empty());
    let sum = |outcome: &PlacementOutcome| -> Duration {
        outcome.operations.iter().map(|operation| operation.median).sum()
    };
    let best = kept.min_by(|(_, one), (_, other)| {
        let by_price = one.price.total_cmp(&other.price);
        by_price
            .then(one.moved.cmp(&other.moved))
            .then_with(|| sum(one).cmp(&sum(other)))
    });
    best.map(|(index, _)| index)
}

/// The placements on the way from `from` to `to`, the last one included, in which one service moves at a time
/// and none breaks a budget: one of the shortest ways, cheap early. Services may stop at a third place on it.
/// `None` if there is none among those predicted.
///
/// `outcomes` are those of `placements`. Each placement is inspected once.
pub fn order(
    placements: &[Placement],
    outcomes: &[PlacementOutcome],
    [from, to]: [&Placement; 2],
) -> Option<Vec<Placement>> {
    let mut kept: Vec<(&Placement, &PlacementOutcome)> = placements.iter().zip(outcomes).collect();
    kept.retain(|(_, outcome)| outcome.broken.is_empty());
    kept.sort_by(|(_, one), (_, other)| one.price.total_cmp(&other.price));
    let mut before: HashMap<&Placement, &Placement> = HashMap::new();
    let mut waiting = VecDeque::from([from]);
    while let Some(at) = waiting.pop_front() {
        if at == to {
            return Some(move_path(&before, [from, to]));
        }
        for (next, _) in &kept {
            if at.differences(next) == 1 && *next != from && !before.contains_key(next) {
                before.insert(next, at);
                waiting.push_back(next);
            }
        }
    }
    None
}

/// From the placement that each was reached from to the placements on the way.
fn move_path(before: &HashMap<&Placement, &Placement>, [from, to]: [&Placement; 2]) -> Vec<Placement> {
    let mut way = Vec::new();
    let mut at = to;
    while at != from {
        way.push(at.clone());
        let Some(earlier) = before.get(at) else { break };
        at = earlier;
    }
    way.reverse();
    way
}

#[cfg(test)]
mod tests;

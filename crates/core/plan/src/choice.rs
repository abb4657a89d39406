//! The cheapest placement within all budgets, and the order of moves to it.

use crate::placement::Placement;
use model::PlacementOutcome;
use std::collections::{HashMap, VecDeque};
use std::time::Duration;

/// Index of the cheapest placement within all budgets; ties go to the fewest moves, then the
/// fastest operations. `None` if none qualifies.
pub fn cheapest(outcomes: &[PlacementOutcome]) -> Option<usize> {
    let kept = outcomes
        .iter()
        .enumerate()
        .filter(|(_, outcome)| outcome.broken.is_empty());
    let sum = |outcome: &PlacementOutcome| -> Duration {
        let operations = outcome.operations.iter();
        operations
            .map(|operation| operation.median.unwrap_or(operation.high))
            .sum()
    };
    let best = kept.min_by(|(_, one), (_, other)| {
        let by_price = one.price.total_cmp(&other.price);
        by_price
            .then(one.moved.cmp(&other.moved))
            .then_with(|| sum(one).cmp(&sum(other)))
    });
    best.map(|(index, _)| index)
}

/// The placements on a shortest way from `from` to `to`, including the last, moving one service at
/// a time without breaking a budget, cheap ones early. Services may pass through a third place.
/// `None` if there is no such way.
///
/// `outcomes` belong to `placements`. Each placement is visited once.
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

/// Follows predecessors back to the start.
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

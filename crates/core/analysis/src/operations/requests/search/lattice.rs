//! Extracts owners from the lattice: the most likely path, with a probability per decision
//! (forward-backward).

use super::states::{Decision, State};
use super::{COST_LEFT, Event, Owner, Search, UNANSWERED};
use foldhash::{HashMap, HashMapExt};

impl Search<'_> {
    fn decisions(&self) -> Vec<(Decision, f64)> {
        let mut ahead: Vec<Vec<f64>> = vec![vec![0.0]];
        for layer in &self.layers {
            let before = ahead.last().map(Vec::as_slice).unwrap_or_default();
            let mut costs = vec![f64::INFINITY; layer.cheapest.len()];
            for edge in &layer.edges {
                let cost = &mut costs[edge.to as usize];
                *cost = either(*cost, before[edge.from as usize] + edge.cost);
            }
            ahead.push(from_zero(costs));
        }
        let left = |state: &State| COST_LEFT * state.chains.len() as f64;
        let mut behind: Vec<f64> = self.states.iter().map(left).collect();
        let total = |index: &usize| self.states[*index].cost + left(&self.states[*index]);
        let mut at = (0..self.states.len())
            .min_by(|one, other| total(one).total_cmp(&total(other)))
            .unwrap_or(0);
        let mut decisions = Vec::with_capacity(self.layers.len());
        for (layer, ahead) in self.layers.iter().zip(&ahead).rev() {
            let chosen = layer.edges[layer.cheapest[at]];
            let (mut all, mut same) = (f64::INFINITY, f64::INFINITY);
            let mut before = vec![f64::INFINITY; ahead.len()];
            for edge in &layer.edges {
                let (from, cost) = (edge.from as usize, edge.cost + behind[edge.to as usize]);
                before[from] = either(before[from], cost);
                all = either(all, ahead[from] + cost);
                if edge.decision == chosen.decision {
                    same = either(same, ahead[from] + cost);
                }
            }
            decisions.push((chosen.decision, (all - same).exp().min(1.0)));
            at = chosen.from as usize;
            behind = from_zero(before);
        }
        decisions.reverse();
        decisions
    }

    /// Work belongs to the request with the response that ends the chain, with the probability of all paths
    /// there.
    pub(super) fn owners(&self) -> Vec<Owner> {
        let mut owners: Vec<Owner> = self.group.work.iter().map(|work| (work.owner, 0.0)).collect();
        let mut chains: HashMap<u32, Vec<(u32, bool, f64)>> = HashMap::new();
        let known = self.group.work.len()..self.group.work.len() + self.group.earlier.len();
        chains.extend(known.map(|index| (index as u32, Vec::new())));
        for (layer, (decision, probability)) in self.layers.iter().zip(self.decisions()) {
            match (layer.event, decision) {
                (Event::Started(work), Decision::Begin) => {
                    chains.insert(work, vec![(work, true, probability)]);
                }
                (Event::Started(work), Decision::Continue(last) | Decision::AtOnce(last)) => {
                    let mut chain = chains.remove(&last).unwrap_or_default();
                    let waits = matches!(decision, Decision::Continue(_));
                    chain.push((work, waits, probability));
                    let ended = |index: u32| self.group.work.get(index as usize).map_or(0, |work| work.ended);
                    chains.insert(if ended(work) >= ended(last) { work } else { last }, chain);
                }
                (Event::Started(work), _) => owners[work as usize].1 = probability,
                (Event::Responded(request), Decision::Respond(last)) => {
                    let mut likely = probability;
                    for (work, waits, probability) in
                        chains.remove(&last).unwrap_or_default().into_iter().rev()
                    {
                        let own = if waits { likely } else { likely * probability };
                        owners[work as usize] = (Some(request), own);
                        likely = if waits { likely * probability } else { likely };
                    }
                }
                _ => {}
            }
        }
        self.give_to_open(chains, &mut owners);
        owners
    }

    fn give_to_open(&self, chains: HashMap<u32, Vec<(u32, bool, f64)>>, owners: &mut [Owner]) {
        let Some(state) = self
            .states
            .iter()
            .min_by(|one, other| one.cost.total_cmp(&other.cost))
        else {
            return;
        };
        for (chain, request) in state.chains.iter().zip(&self.open) {
            for (work, ..) in chains.get(&chain.last).map(Vec::as_slice).unwrap_or_default() {
                owners[*work as usize] = (Some(chain.owner.unwrap_or(*request)), UNANSWERED);
            }
        }
    }
}

fn either(one: f64, other: f64) -> f64 {
    let (less, more) = if one < other { (one, other) } else { (other, one) };
    if more.is_infinite() {
        less
    } else {
        less - (less - more).exp().ln_1p()
    }
}

fn from_zero(mut costs: Vec<f64>) -> Vec<f64> {
    let least = costs.iter().copied().fold(f64::INFINITY, f64::min);
    costs.iter_mut().for_each(|cost| *cost -= least);
    costs
}

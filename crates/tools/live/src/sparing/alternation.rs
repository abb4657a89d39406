//! Which operations are spared: in pairs of random order, so that neither a drift nor a period of the
//! workload weighs on one side.

use link::impairments::draws::Draws;
use std::collections::HashMap;
use std::sync::Arc;

/// Operations of one phase, all with or all without the link's delay. With one operation at a time
/// each begins a phase. While others are in progress they join its phase, until enough have ended:
/// then those in progress belong to neither.
#[derive(Debug)]
pub(super) struct Alternation {
    phase: u64,
    spares: bool,
    /// Operations of this phase that have ended, and the most at once.
    ended: usize,
    most_at_once: usize,
    names: HashMap<Arc<str>, Balance>,
    phases: Balance,
    draws: Draws,
}

/// Operations of a name, or phases, with and without delay.
#[derive(Debug, Default, Clone, Copy)]
struct Balance {
    with: u64,
    without: u64,
}

impl Balance {
    /// The rest of a pair, or one of a new pair.
    const fn spares_next(self, draws: &mut Draws) -> bool {
        if self.with == self.without {
            draws.draw() >> 63 == 1
        } else {
            self.with > self.without
        }
    }

    const fn count(&mut self, spares: bool) {
        match spares {
            true => self.without += 1,
            false => self.with += 1,
        }
    }
}

impl Default for Alternation {
    fn default() -> Self {
        Self {
            phase: 0,
            spares: false,
            ended: 0,
            most_at_once: 0,
            names: HashMap::new(),
            phases: Balance::default(),
            draws: Draws::new(SEED, 0),
        }
    }
}

impl Alternation {
    /// The same phases go on, with new pairs.
    pub(super) fn renew(&mut self) {
        *self = Self {
            phase: self.phase,
            draws: std::mem::replace(&mut self.draws, Draws::new(SEED, 0)),
            ..Self::default()
        };
    }

    /// An operation begins while `in_progress` others are. Returns its phase.
    pub(super) fn begin(&mut self, name: &Arc<str>, in_progress: usize) -> u64 {
        let balance = self.names.entry(name.clone()).or_default();
        if in_progress == 0 {
            let spares = balance.spares_next(&mut self.draws);
            self.next_phase(spares);
        } else if self.ended >= PHASE * self.most_at_once {
            let spares = self.phases.spares_next(&mut self.draws);
            self.phases.count(spares);
            self.next_phase(spares);
        }
        self.most_at_once = self.most_at_once.max(in_progress + 1);
        self.names.entry(name.clone()).or_default().count(self.spares);
        self.phase
    }

    pub(super) fn ended(&mut self, phase: u64) {
        self.ended += usize::from(phase == self.phase);
    }

    pub(super) const fn phase(&self) -> u64 {
        self.phase
    }

    pub(super) const fn spares(&self) -> bool {
        self.spares
    }

    fn next_phase(&mut self, spares: bool) {
        (self.phase, self.spares) = (self.phase + 1, spares);
        (self.ended, self.most_at_once) = (0, 0);
    }
}

/// Operations that end in a phase, for each that is in progress at once. About two of each are mixed
/// at a change, and over 10 % of them no difference is stated.
const PHASE: usize = 24;
const SEED: u64 = 7;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_of_each_name_are_spared_in_pairs_of_random_order() {
        let names: [Arc<str>; 3] = ["a", "b", "c"].map(Arc::from);
        for order in [&[0][..], &[0, 1], &[0, 1, 2], &[0, 0, 1, 2, 2]] {
            let mut alternation = Alternation::default();
            let mut spared = [const { Vec::new() }; 3];
            for turn in 0..400 {
                let name = order[turn % order.len()];
                let phase = alternation.begin(&names[name], 0);
                spared[name].push(alternation.spares());
                alternation.ended(phase);
            }
            for spared in spared.iter().filter(|spared| !spared.is_empty()) {
                assert!(spared.chunks_exact(2).all(|pair| pair[0] != pair[1]), "{order:?}");
                let firsts = spared.chunks_exact(2).filter(|pair| pair[0]).count();
                let share = firsts as f64 / (spared.len() / 2) as f64;
                assert!((0.3..0.7).contains(&share), "{order:?}: {share}");
            }
        }
    }

    #[test]
    fn operations_at_once_share_a_phase_until_enough_have_ended() {
        let name: Arc<str> = Arc::from("a");
        let mut alternation = Alternation::default();
        let mut phases = Vec::new();
        alternation.begin(&name, 0);
        for _ in 0..960 {
            let phase = alternation.begin(&name, 1);
            phases.push((phase, alternation.spares()));
            alternation.ended(phase);
        }
        phases.dedup();
        assert!((18..=21).contains(&phases.len()), "{phases:?}");
        let pairs: Vec<_> = phases[1..].chunks_exact(2).collect();
        assert!(pairs.iter().all(|pair| pair[0].1 != pair[1].1), "{phases:?}");
    }
}

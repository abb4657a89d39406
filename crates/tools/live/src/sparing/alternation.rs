//! Which operations are spared: by turns, each name balanced.

use std::collections::HashMap;
use std::sync::Arc;

/// Operations of one phase, all with or all without the link's delay. With one operation at a time
/// each begins a phase. While others are in progress they join its phase, until enough have ended:
/// then those in progress belong to neither.
#[derive(Debug, Default)]
pub(super) struct Alternation {
    phase: u64,
    spares: bool,
    /// Operations of this phase that have ended, and the most at once.
    ended: usize,
    most_at_once: usize,
    turns: HashMap<Arc<str>, Turns>,
}

/// Operations of a name by arm, with and without delay.
#[derive(Debug, Default, Clone, Copy)]
struct Turns {
    with: u64,
    without: u64,
    last_spared: bool,
}

impl Turns {
    /// With, without, without, with, and so on: a drift weighs on both arms.
    const fn spares_next(self) -> bool {
        if self.with == self.without {
            self.last_spared
        } else {
            self.with > self.without
        }
    }
}

impl Alternation {
    /// An operation begins while `in_progress` others are. Returns its phase.
    pub(super) fn begin(&mut self, name: &Arc<str>, in_progress: usize) -> u64 {
        if in_progress == 0 {
            let spares = self.turns.get(name).is_some_and(|turns| turns.spares_next());
            self.next_phase(spares);
        } else if self.ended >= PHASE * self.most_at_once {
            self.next_phase(!self.spares);
        }
        self.most_at_once = self.most_at_once.max(in_progress + 1);
        let turns = self.turns.entry(name.clone()).or_default();
        match self.spares {
            true => turns.without += 1,
            false => turns.with += 1,
        }
        turns.last_spared = self.spares;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_of_each_name_are_spared_by_turns_whatever_their_order() {
        let names: [Arc<str>; 3] = ["a", "b", "c"].map(Arc::from);
        for order in [&[0][..], &[0, 1], &[0, 1, 2], &[0, 0, 1, 2, 2]] {
            let mut alternation = Alternation::default();
            let mut spared = [const { Vec::new() }; 3];
            for turn in 0..40 {
                let name = order[turn % order.len()];
                let phase = alternation.begin(&names[name], 0);
                spared[name].push(alternation.spares());
                alternation.ended(phase);
            }
            for spared in spared.iter().filter(|spared| !spared.is_empty()) {
                for four in spared.chunks_exact(4) {
                    assert_eq!(four, [false, true, true, false], "{order:?}");
                }
            }
        }
    }

    #[test]
    fn operations_at_once_share_a_phase_until_enough_have_ended() {
        let name: Arc<str> = Arc::from("a");
        let mut alternation = Alternation::default();
        let mut phases = Vec::new();
        alternation.begin(&name, 0);
        for _ in 0..240 {
            let phase = alternation.begin(&name, 1);
            phases.push((phase, alternation.spares()));
            alternation.ended(phase);
        }
        phases.dedup();
        assert_eq!(phases, [(1, false), (2, true), (3, false), (4, true), (5, false)]);
    }
}

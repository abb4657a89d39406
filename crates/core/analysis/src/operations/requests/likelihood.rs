//! Probabilities that a statement follows another, begins a request, or ends it; learned from
//! requests with known statements.
//!
//! Costs are negative logarithms minus their mean: an assignment as likely as the learned ones
//! costs zero.

use super::affinity::Affinity;
use foldhash::{HashMap, HashMapExt};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pause {
    BeforeFirst,
    SameConnection,
    OtherConnection,
    BeforeResponse,
    /// From start to start: the second statement does not wait for the first.
    AtOnce,
    WithoutWork,
}

const PAUSES: usize = 6;

/// Sequence of a request's statements, 0 if empty.
pub(super) type Prefix = u32;

pub(super) const NOTHING: Prefix = 0;

/// Follows a request's last statement, instead of a kind.
pub(super) const RESPONSE: u32 = u32::MAX;

const ALL: u32 = u32::MAX - 1;

#[derive(Debug, Clone)]
struct Counts {
    pauses: [[f64; BINS]; PAUSES],
    ranks: [[f64; RANKS]; PAUSES],
    places: [f64; PLACES],
    /// Successors of prefixes, prefixes by request name, and kinds.
    next: HashMap<(Prefix, u32), f64>,
    next_of_name: HashMap<(u32, Prefix, u32), f64>,
    next_of_kind: HashMap<(u32, u32), f64>,
    any: HashMap<u32, f64>,
    /// Requests without and with statements, by name.
    idle: HashMap<u32, [f64; 2]>,
}

impl Default for Counts {
    fn default() -> Self {
        Self {
            pauses: [[0.0; BINS]; PAUSES],
            ranks: [[0.0; RANKS]; PAUSES],
            places: [0.0; PLACES],
            next: HashMap::new(),
            next_of_name: HashMap::new(),
            next_of_kind: HashMap::new(),
            any: HashMap::new(),
            idle: HashMap::new(),
        }
    }
}

fn add_all<K: Copy + Eq + std::hash::Hash>(to: &mut HashMap<K, f64>, from: &HashMap<K, f64>) {
    for (key, weight) in from {
        *to.entry(*key).or_default() += weight;
    }
}

fn get<K: Eq + std::hash::Hash>(counts: &HashMap<K, f64>, key: &K) -> f64 {
    counts.get(key).copied().unwrap_or(0.0)
}

impl Counts {
    fn add(&mut self, other: &Self) {
        let rows = |to: &mut [f64], from: &[f64]| to.iter_mut().zip(from).for_each(|(to, from)| *to += from);
        for (to, from) in self.pauses.iter_mut().zip(&other.pauses) {
            rows(to, from);
        }
        for (to, from) in self.ranks.iter_mut().zip(&other.ranks) {
            rows(to, from);
        }
        rows(&mut self.places, &other.places);
        add_all(&mut self.next, &other.next);
        add_all(&mut self.next_of_name, &other.next_of_name);
        add_all(&mut self.next_of_kind, &other.next_of_kind);
        add_all(&mut self.any, &other.any);
        for (name, [without, with]) in &other.idle {
            let idle = self.idle.entry(*name).or_default();
            *idle = [idle[0] + without, idle[1] + with];
        }
    }

    fn halve(&mut self) {
        let arrays = self
            .pauses
            .iter_mut()
            .flatten()
            .chain(self.ranks.iter_mut().flatten());
        arrays.chain(&mut self.places).for_each(|count| *count /= 2.0);
        let maps = self.next.values_mut().chain(self.next_of_name.values_mut());
        let maps = maps
            .chain(self.next_of_kind.values_mut())
            .chain(self.any.values_mut());
        maps.chain(self.idle.values_mut().flatten())
            .for_each(|count| *count /= 2.0);
    }

    fn requests(&self) -> f64 {
        self.idle.values().flatten().sum()
    }
}

/// Cost by length of a pause, and the share of longer pauses.
#[derive(Debug, Clone, Default)]
struct Lengths {
    cost: Vec<f64>,
    longer: Vec<f64>,
}

#[derive(Debug, Default)]
pub(super) struct Likelihood {
    pub(super) affinity: Affinity,
    known: Counts,
    current: Counts,
    sum: Counts,
    lengths: Vec<Lengths>,
    rank_costs: Vec<Vec<f64>>,
    place_costs: Vec<f64>,
    follows: HashMap<(Prefix, u32), Prefix>,
    /// Parent prefix, kind of the last statement, length.
    prefixes: Vec<(Prefix, u32, u32)>,
    /// Probability that a request ends with each prefix.
    ends: Vec<f64>,
}

impl Likelihood {
    pub(super) fn forget_current(&mut self) {
        self.current = Counts::default();
        self.affinity.forget_current();
    }

    pub(super) fn keep_current(&mut self) {
        if self.known.requests() > MAX_KNOWN {
            self.known.halve();
        }
        self.known.add(&std::mem::take(&mut self.current));
        self.affinity.keep_current();
        if self.prefixes.len() > MAX_PREFIXES {
            *self = Self::default();
        }
    }

    pub(super) fn observe_pause(&mut self, pause: Pause, nanoseconds: u64, rank: usize) {
        self.current.pauses[pause as usize][bin(nanoseconds)] += 1.0;
        self.current.ranks[pause as usize][rank.min(RANKS - 1)] += 1.0;
    }

    /// Ranks in the order of requests: of the first statement, and of the response.
    pub(super) fn observe_place(&mut self, work: usize, response: usize) {
        self.current.places[bucket_index(work, response)] += 1.0;
    }

    pub(super) fn observe_request(&mut self, name: u32, kinds: &[u32]) {
        self.current.idle.entry(name).or_default()[usize::from(!kinds.is_empty())] += 1.0;
        if kinds.is_empty() {
            return;
        }
        let mut prefix = NOTHING;
        for &kind in kinds.iter().chain(&[RESPONSE]) {
            let last = self.last(prefix);
            let counts = &mut self.current;
            for kind in [kind, ALL] {
                *counts.next.entry((prefix, kind)).or_default() += 1.0;
                *counts.next_of_name.entry((name, prefix, kind)).or_default() += 1.0;
                *counts.next_of_kind.entry((last, kind)).or_default() += 1.0;
                *counts.any.entry(kind).or_default() += 1.0;
            }
            if kind != RESPONSE {
                prefix = self.after(prefix, kind);
            }
        }
    }

    pub(super) fn after(&mut self, prefix: Prefix, kind: u32) -> Prefix {
        if let Some(found) = self.find_after(prefix, kind) {
            return found;
        }
        if self.prefixes.is_empty() {
            self.prefixes.push((NOTHING, ALL, 0));
        }
        let from = self.base(prefix);
        let depth = self.prefixes[from as usize].2 + 1;
        let new = self.prefixes.len() as Prefix;
        self.prefixes.push((from, kind, depth));
        self.follows.insert((from, kind), new);
        while self.ends.len() < self.prefixes.len() {
            self.ends.push(self.chance(self.ends.len() as Prefix, RESPONSE));
        }
        new
    }

    pub(super) fn find_after(&self, prefix: Prefix, kind: u32) -> Option<Prefix> {
        self.follows.get(&(self.base(prefix), kind)).copied()
    }

    /// Long sequences start over.
    fn base(&self, prefix: Prefix) -> Prefix {
        match self.prefixes.get(prefix as usize) {
            Some((_, _, depth)) if *depth < MAX_PREFIX_LEN => prefix,
            _ => NOTHING,
        }
    }

    fn last(&self, prefix: Prefix) -> u32 {
        self.prefixes
            .get(prefix as usize)
            .map_or(ALL, |(_, kind, _)| *kind)
    }

    pub(super) fn refresh(&mut self) {
        self.sum = self.known.clone();
        self.sum.add(&self.current);
        self.affinity.refresh();
        let pauses = self.sum.pauses.iter().zip(TYPICAL);
        self.lengths = pauses.map(|(counts, typical)| lengths(counts, typical)).collect();
        let ranks = self.sum.ranks.iter();
        self.rank_costs = ranks
            .map(|counts| costs(counts, |rank| 0.8 * 0.8_f64.powi(rank as i32) + 0.05))
            .collect();
        let center = PLACES as i32 / 2;
        self.place_costs = costs(&self.sum.places, |place| {
            0.3 * 0.75_f64.powi((place as i32 - center).abs()) + 0.01
        });
        let all = 0..self.prefixes.len().max(1) as Prefix;
        self.ends = all.map(|prefix| self.chance(prefix, RESPONSE)).collect();
    }

    pub(super) fn chance(&self, prefix: Prefix, kind: u32) -> f64 {
        let counts = &self.sum;
        let last = self.last(prefix);
        let any = (get(&counts.any, &kind) + 0.2) / (get(&counts.any, &ALL) + 2.0);
        let of_kind = (get(&counts.next_of_kind, &(last, kind)) + 2.0 * any)
            / (get(&counts.next_of_kind, &(last, ALL)) + 2.0);
        (get(&counts.next, &(prefix, kind)) + of_kind) / (get(&counts.next, &(prefix, ALL)) + 1.0)
    }

    pub(super) fn chance_of_end(&self, prefix: Prefix) -> f64 {
        self.ends.get(prefix as usize).copied().unwrap_or(0.5)
    }

    /// Cost of exactly these statements for the request's name, beyond [`Self::chance`].
    pub(super) fn cost_of_name(&self, name: u32, prefix: Prefix) -> f64 {
        let counts = &self.sum;
        let (mut cost, mut at, mut kind) = (0.0, prefix, RESPONSE);
        loop {
            let chance = self.chance(at, kind);
            let of_name = (get(&counts.next_of_name, &(name, at, kind)) + chance)
                / (get(&counts.next_of_name, &(name, at, ALL)) + 1.0);
            cost += chance.ln() - of_name.ln();
            if at == NOTHING {
                return cost;
            }
            (at, kind, _) = self.prefixes.get(at as usize).copied().unwrap_or_default();
        }
    }

    pub(super) fn cost_of_pause(&self, pause: Pause, nanoseconds: u64) -> f64 {
        let lengths = self.lengths.get(pause as usize);
        lengths.map_or(0.0, |lengths| lengths.cost[bin(nanoseconds)])
    }

    pub(super) fn chance_of_longer(&self, pause: Pause, nanoseconds: u64) -> f64 {
        let lengths = self.lengths.get(pause as usize);
        lengths.map_or(1.0, |lengths| lengths.longer[bin(nanoseconds)])
    }

    /// Cost if `rank` others had waited longer.
    pub(super) fn cost_of_rank(&self, pause: Pause, rank: usize) -> f64 {
        let costs = self.rank_costs.get(pause as usize);
        costs.map_or(0.0, |costs| costs[rank.min(RANKS - 1)])
    }

    pub(super) fn cost_of_place(&self, work: usize, response: usize) -> f64 {
        self.place_costs
            .get(bucket_index(work, response))
            .copied()
            .unwrap_or(0.0)
    }

    /// Probability that the next statement is on another connection. Wrong assignments look like
    /// moves, so a few moves are ignored.
    pub(super) fn chance_of_moving(&self) -> f64 {
        let [same, other] = [Pause::SameConnection, Pause::OtherConnection].map(|pause| self.count(pause));
        match (other + 0.2) / (same + other + 1.0) {
            few if few < FEW_MOVES => RAREST_MOVE,
            many => many,
        }
    }

    pub(super) fn chance_of_at_once(&self) -> f64 {
        let one_by_one = self.count(Pause::SameConnection) + self.count(Pause::OtherConnection);
        let at_once = self.count(Pause::AtOnce) + 0.02;
        at_once / (at_once + one_by_one + 10.0)
    }

    fn count(&self, pause: Pause) -> f64 {
        self.sum.pauses[pause as usize].iter().sum()
    }

    pub(super) fn chance_of_idle(&self, name: u32) -> f64 {
        let [without, with] = self.sum.idle.get(&name).copied().unwrap_or_default();
        (without + 0.05) / (without + with + 1.0)
    }
}

fn bucket_index(work: usize, response: usize) -> usize {
    let displaced = work as i64 - response as i64 + PLACES as i64 / 2;
    displaced.clamp(0, PLACES as i64 - 1) as usize
}

fn bin(nanoseconds: u64) -> usize {
    let milliseconds = nanoseconds as f64 / 1e6;
    let bin = (milliseconds.max(MIN_SECONDS) / MIN_SECONDS).ln() / GROWTH.ln();
    (bin as usize).min(BINS - 1)
}

/// The width is in milliseconds.
fn width(bin: usize) -> f64 {
    let from = MIN_SECONDS * GROWTH.powi(bin as i32);
    if bin == 0 {
        from * GROWTH
    } else {
        from * (GROWTH - 1.0)
    }
}

/// A smoothed histogram, with typical observations as a prior.
fn lengths(counts: &[f64; BINS], typical: f64) -> Lengths {
    let advance = |bin: usize| {
        let middle = MIN_SECONDS * GROWTH.powf(bin as f64 + 0.5);
        let deviation = (middle / typical).ln() / 1.8;
        (-0.5 * deviation * deviation).exp() + 1e-3
    };
    let sum: f64 = (0..BINS).map(advance).sum();
    let count: f64 = counts.iter().sum();
    let share = |bin: usize| {
        let near = KERNEL.iter().enumerate();
        let smoothed: f64 = near
            .map(|(offset, weight)| weight * counts[(bin + offset).saturating_sub(3).min(BINS - 1)])
            .sum();
        (smoothed + IN_ADVANCE * advance(bin) / sum) / (count + IN_ADVANCE)
    };
    let shares: Vec<f64> = (0..BINS).map(share).collect();
    let densities = || shares.iter().enumerate().map(|(bin, share)| share / width(bin));
    let mean: f64 = shares
        .iter()
        .zip(densities())
        .map(|(share, density)| -share * density.ln())
        .sum();
    let mut longer: Vec<f64> = shares
        .iter()
        .rev()
        .scan(0.0, |sum, share| {
            *sum += share;
            Some(*sum)
        })
        .collect();
    longer.reverse();
    Lengths {
        cost: densities().map(|density| -density.ln() - mean).collect(),
        longer,
    }
}

fn costs(counts: &[f64], advance: impl Fn(usize) -> f64) -> Vec<f64> {
    let at = |index: usize| counts[index.min(counts.len() - 1)];
    let weight = |index: usize| {
        0.8 * at(index) + 0.1 * at(index.saturating_sub(1)) + 0.1 * at(index + 1) + advance(index)
    };
    let weights: Vec<f64> = (0..counts.len()).map(weight).collect();
    let sum: f64 = weights.iter().sum();
    let mean: f64 = weights
        .iter()
        .map(|weight| -(weight / sum) * (weight / sum).ln())
        .sum();
    weights.iter().map(|weight| -(weight / sum).ln() - mean).collect()
}

/// 2 us to about 5 minutes.
const BINS: usize = 72;
const MIN_SECONDS: f64 = 0.002;
const GROWTH: f64 = 1.3;
const RANKS: usize = 24;
const PLACES: usize = 33;
const KERNEL: [f64; 7] = [0.04, 0.11, 0.21, 0.28, 0.21, 0.11, 0.04];
/// Prior pauses in milliseconds, in the order of [`Pause`], and their weight in observations.
const TYPICAL: [f64; PAUSES] = [0.5, 0.2, 0.3, 0.3, 0.1, 1.0];
const IN_ADVANCE: f64 = 3.0;
/// Longer sequences start over.
const MAX_PREFIX_LEN: u32 = 40;
const MAX_PREFIXES: usize = 50_000;
/// Maximum share of moves taken for errors, and the probability then used.
const FEW_MOVES: f64 = 0.1;
const RAREST_MOVE: f64 = 0.001;
/// From this many requests on, older ones count half.
const MAX_KNOWN: f64 = 300.0;

#[cfg(test)]
mod tests {
    use super::*;

    fn moving(same: u64, other: u64) -> f64 {
        let mut likelihood = Likelihood::default();
        (0..same).for_each(|_| likelihood.observe_pause(Pause::SameConnection, 1_000, 0));
        (0..other).for_each(|_| likelihood.observe_pause(Pause::OtherConnection, 1_000, 0));
        likelihood.refresh();
        likelihood.chance_of_moving()
    }

    #[test]
    fn a_few_moves_to_another_connection_are_mistakes() {
        assert_eq!(moving(95, 5), RAREST_MOVE);
        assert!(moving(50, 50) > 0.45);
    }
}

//! Limits the names with separate series to those with most round trips and most time.

use std::collections::HashMap;
use std::hash::Hash;
use std::time::Duration;

/// Name for the sum of names without a series.
pub const OTHER: &str = "(other)";

/// Decides which names have a series.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Cost {
    pub(crate) turns: u64,
    pub(crate) time: Duration,
}

pub(crate) trait Mergeable: Default {
    fn merge(&mut self, other: &Self);
}

/// Values of a limited number of names, and of all others together. No data is lost: the values of
/// a removed name are added to the others'.
///
/// While there is room, a name gets a series at once. Afterwards its cost is counted, and
/// [`TopNames::refresh`] decides: half of the room goes to names with most recent round trips, half
/// to those with most recent time.
#[derive(Debug)]
pub(crate) struct TopNames<K, V> {
    most: usize,
    named: HashMap<K, Named<V>>,
    waiting: HashMap<K, Cost>,
    other: Named<V>,
    /// Names that lost their series.
    merged: u64,
}

/// A value with its recent cost.
#[derive(Debug)]
struct Named<V> {
    value: V,
    cost: Cost,
    /// Start of the series, in nanoseconds since the epoch.
    since: u64,
}

impl<K: Eq + Hash + Clone + Ord, V: Mergeable> TopNames<K, V> {
    pub(crate) fn new(most: usize) -> Self {
        Self {
            most,
            named: HashMap::new(),
            waiting: HashMap::new(),
            other: Named::since(0),
            merged: 0,
        }
    }

    /// The value to add to, for a name with this cost at this time.
    pub(crate) fn at(&mut self, name: &K, cost: Cost, now: u64) -> &mut V {
        if self.other.since == 0 {
            self.other.since = now;
        }
        if !self.named.contains_key(name) {
            if self.named.len() >= self.most {
                self.wait(name, cost);
                return &mut self.other.value;
            }
            self.named.insert(name.clone(), Named::since(now));
        }
        match self.named.get_mut(name) {
            Some(named) => {
                named.cost.add(cost);
                &mut named.value
            }
            None => &mut self.other.value,
        }
    }

    /// The name must have a series.
    pub(crate) fn known(&mut self, name: &K) -> &mut V {
        match self.named.get_mut(name) {
            Some(named) => &mut named.value,
            None => &mut self.other.value,
        }
    }

    fn wait(&mut self, name: &K, cost: Cost) {
        if let Some(waiting) = self.waiting.get_mut(name) {
            waiting.add(cost);
            return;
        }
        if self.waiting.len() >= WAITING * self.most.max(1) {
            self.forget_half();
        }
        self.waiting.insert(name.clone(), cost);
    }

    /// Drops the cheaper half of the waiting names; they restart from zero.
    fn forget_half(&mut self) {
        let mut times: Vec<Duration> = self.waiting.values().map(|cost| cost.time).collect();
        let half = times.len() / 2;
        let (_, middle, _) = times.select_nth_unstable(half);
        let middle = *middle;
        self.waiting.retain(|_, cost| cost.time > middle);
    }

    /// Decides anew which names have a series; call about once a minute. Earlier cost counts half.
    pub(crate) fn refresh(&mut self, now: u64) {
        if !self.waiting.is_empty() {
            for name in self.newcomers() {
                self.waiting.remove(&name);
                self.named.insert(name, Named::since(now));
            }
        }
        for cost in self
            .named
            .values_mut()
            .map(|named| &mut named.cost)
            .chain(self.waiting.values_mut())
        {
            cost.halve();
        }
        self.waiting.retain(|_, cost| *cost != Cost::default());
    }

    /// Makes room for waiting names that cost more than twice as much as those removed, and returns
    /// them.
    fn newcomers(&mut self) -> Vec<K> {
        // A name keeps its series unless another is well ahead: unstable series are of little use.
        let settled = self
            .named
            .iter()
            .map(|(name, named)| (name, named.cost.doubled()));
        let mut all: Vec<(&K, Cost)> = settled
            .chain(self.waiting.iter().map(|(name, cost)| (name, *cost)))
            .collect();
        all.sort_by(|(one, a), (other, b)| (b.turns, one).cmp(&(a.turns, other)));
        let by_turns = all.iter().take(self.most / 2).map(|(name, _)| (*name).clone());
        let mut chosen: Vec<K> = by_turns.collect();
        all.sort_by(|(one, a), (other, b)| (b.time, one).cmp(&(a.time, other)));
        for (name, _) in all {
            if chosen.len() >= self.most {
                break;
            }
            if !chosen.contains(name) {
                chosen.push(name.clone());
            }
        }
        let gone: Vec<K> = self
            .named
            .keys()
            .filter(|name| !chosen.contains(name))
            .cloned()
            .collect();
        for name in gone {
            if let Some(named) = self.named.remove(&name) {
                self.other.value.merge(&named.value);
                self.merged += 1;
            }
        }
        chosen.retain(|name| !self.named.contains_key(name));
        chosen
    }

    /// Number of names that lost their series.
    pub(crate) const fn merged(&self) -> u64 {
        self.merged
    }

    /// All values with their start, ordered by name; last the others, without a name.
    pub(crate) fn values(&self) -> impl Iterator<Item = (Option<&K>, &V, u64)> {
        let mut names: Vec<(&K, &Named<V>)> = self.named.iter().collect();
        names.sort_by_key(|(name, _)| *name);
        let named = names
            .into_iter()
            .map(|(name, named)| (Some(name), &named.value, named.since));
        named.chain(std::iter::once((None, &self.other.value, self.other.since)))
    }
}

impl<V: Mergeable> Named<V> {
    fn since(since: u64) -> Self {
        Self {
            value: V::default(),
            cost: Cost::default(),
            since,
        }
    }
}

impl Cost {
    fn add(&mut self, more: Self) {
        self.turns += more.turns;
        self.time += more.time;
    }

    fn halve(&mut self) {
        self.turns /= 2;
        self.time /= 2;
    }

    fn doubled(self) -> Self {
        Self {
            turns: self.turns * 2,
            time: self.time * 2,
        }
    }
}

/// Waiting names per possible series.
const WAITING: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Default)]
    struct Sum(u64);

    impl Mergeable for Sum {
        fn merge(&mut self, other: &Self) {
            self.0 += other.0;
        }
    }

    fn cost(turns: u64) -> Cost {
        Cost {
            turns,
            time: Duration::from_millis(turns),
        }
    }

    fn named(names: &TopNames<u32, Sum>) -> Vec<u32> {
        names.values().filter_map(|(name, ..)| name.copied()).collect()
    }

    fn total(names: &TopNames<u32, Sum>) -> u64 {
        names.values().map(|(_, sum, _)| sum.0).sum()
    }

    #[test]
    fn nothing_is_lost_however_many_names_come_and_go() {
        let mut names: TopNames<u32, Sum> = TopNames::new(10);
        for round in 0..50_u32 {
            for name in 0..1_000 {
                names.at(&(name + 100 * round), cost(u64::from(name % 17)), 1).0 += 1;
            }
            names.refresh(2);
            assert!(named(&names).len() <= 10);
            assert!(names.waiting.len() <= WAITING * 10);
        }
        assert_eq!(total(&names), 50_000);
        assert!(names.merged() > 0);
    }

    #[test]
    fn the_costly_take_the_place_of_the_cheap_and_ties_stay() {
        let mut names: TopNames<u32, Sum> = TopNames::new(4);
        for name in 0..4 {
            names.at(&name, cost(10), 1).0 += 1;
        }
        names.at(&4, cost(15), 1).0 += 1;
        names.refresh(2);
        assert_eq!(named(&names), [0, 1, 2, 3], "half as much again is no reason");
        names.at(&5, cost(100), 3).0 += 1;
        names.refresh(4);
        assert!(named(&names).contains(&5));
        assert_eq!(named(&names).len(), 4);
        assert_eq!(total(&names), 6);
        let since = names
            .values()
            .find(|(name, ..)| *name == Some(&5))
            .map(|(_, _, since)| since);
        assert_eq!(since, Some(4));
    }

    #[test]
    fn few_turns_that_take_long_have_their_half() {
        let mut names: TopNames<u32, Sum> = TopNames::new(4);
        for name in 0..6 {
            names.at(&name, cost(1_000), 1);
        }
        let slow = Cost {
            turns: 1,
            time: Duration::from_secs(3_600),
        };
        names.at(&9, slow, 1);
        names.refresh(2);
        assert!(named(&names).contains(&9));
    }
}

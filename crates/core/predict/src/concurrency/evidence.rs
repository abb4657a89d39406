//! Collects which exchanges of a name's operations were seen at once.

use super::batch::ConcurrentBatch;
use super::family::{Class, Family, Pair, is_setup};
use super::pools::Pools;
use foldhash::HashMap;
use std::time::Duration;

#[derive(Debug, Default)]
pub struct OrderEvidence {
    classes: HashMap<Class, u32>,
    pairs: HashMap<(Key, Key), Seen>,
    neighbours: HashMap<(u32, u32), Seen>,
    /// How often the steps of a class looked served by a pool, and how often not.
    served: HashMap<Class, [u32; 2]>,
    shares: HashMap<Class, Shares>,
    operations: u64,
    alone: u64,
    at_once: u64,
    pub concluded: u64,
    pub open: u64,
    pub some_at_once: u64,
}

/// Class of a step, and the number of earlier steps of that class in the operation.
type Key = (u32, u32);

#[derive(Debug, Default, Clone, Copy)]
struct Seen {
    /// Sightings in operations that overlapped no other.
    alone: u32,
    /// Sent before the reply had arrived.
    overlapped: u32,
    /// Sent sooner after the reply than any client reacts.
    too_soon: u32,
    /// Sightings in operations that overlapped others.
    crowded: u32,
    overlapped_crowded: u32,
    /// Whether the uses of their connections ever crossed, see [`crosses`].
    crossed: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dependence {
    Together,
    Waited,
    Open {
        /// Whether it more likely did not wait.
        likely_at_once: bool,
    },
}

#[derive(Debug, Default)]
struct Shares {
    operations: u32,
    /// By the sorted numbers of steps per connection, with at most [`MAX_SHARINGS`] entries.
    seen: HashMap<Vec<usize>, u32>,
}

#[derive(Debug)]
pub struct Verdicts<'f> {
    family: &'f Family<'f>,
    size: usize,
    /// Row by row, by the earlier step.
    all: Vec<Dependence>,
}

impl OrderEvidence {
    /// `alone` means that no other operation overlapped. A request sooner than `floor` after a
    /// reply was sent without reading it.
    pub fn learn(&mut self, families: &[Family<'_>], alone: bool, floor: Duration, pools: &Pools) {
        self.operations += 1;
        self.alone += u64::from(alone);
        let mut any = false;
        for family in families.iter().filter(|family| family.is_examined()) {
            let width = pools.supply(family.connections()).width;
            for batch in ConcurrentBatch::all(family) {
                if let Some(served) = batch.looks_served(family, width) {
                    self.served.entry(batch.class.clone()).or_default()[usize::from(!served)] += 1;
                }
                if alone {
                    self.shares
                        .entry(batch.class.clone())
                        .or_default()
                        .add(batch.rested(family));
                }
            }
            let keys: Vec<Key> = self.known_keys(family);
            let uses = family.uses();
            let count = keys.len();
            for later in 1..count {
                for earlier in 0..later {
                    let places = Pair { earlier, later };
                    if family.is_on_one_connection(places) {
                        continue;
                    }
                    let crossed = crosses(uses[earlier], uses[later]);
                    let both_open = is_setup(family.exchange(earlier)) && is_setup(family.exchange(later));
                    let gap = match crossed && both_open {
                        true => Gap::Overlapped,
                        false => Gap::between(family, places, floor),
                    };
                    any |= gap == Gap::Overlapped;
                    let pair = (keys[earlier], keys[later]);
                    let seen = self.pairs.entry(pair).or_default();
                    seen.add(gap, alone);
                    seen.crossed |= alone && crossed;
                    if earlier + 1 == later {
                        let classes = (pair.0.0, pair.1.0);
                        self.neighbours.entry(classes).or_default().add(gap, alone);
                    }
                }
            }
        }
        self.at_once += u64::from(any);
    }

    /// Operations seen, and those of them with steps at once.
    pub fn operations(&self) -> (u64, u64) {
        (self.operations, self.at_once)
    }

    pub fn is_served(&self, class: &Class) -> bool {
        self.served.get(class).is_some_and(|[served, not]| served > not)
    }

    /// Whether the steps of the class are chains of possibly unequal length, each step waiting for
    /// the previous one on its connection: their numbers are the same in nearly all operations,
    /// unlike those of a pool's queue.
    pub fn are_chains(&self, class: &Class) -> bool {
        self.shares.get(class).is_some_and(|shares| {
            let usual = shares.seen.values().max().copied().unwrap_or_default();
            u64::from(shares.operations) >= ENOUGH && usual * 5 >= shares.operations * 4
        })
    }

    /// Whether most operations overlapped no other: only then are the exchanges assigned with
    /// certainty.
    pub fn is_of_operations_alone(&self) -> bool {
        self.alone * 2 > self.operations
    }

    pub fn pairs(&self) -> usize {
        self.pairs.len()
    }

    pub fn verdicts<'f>(&self, family: &'f Family<'f>, pools: &Pools) -> Verdicts<'f> {
        let keys = self.keys(family);
        let size = keys.len();
        let mut all = vec![Dependence::Waited; size * size];
        for later in 1..size {
            for earlier in 0..later {
                let pair = Pair { earlier, later };
                all[earlier * size + later] = match family.is_on_one_connection(pair) {
                    true => self.verdict_elsewhere(&keys, pair),
                    false => self.verdict(family, &keys, pair, pools),
                };
            }
        }
        let mut verdicts = Verdicts { family, size, all };
        verdicts.complete_volleys(&keys);
        verdicts.part_chains(|place| self.are_chains(&family.class(place)), &keys);
        verdicts
    }

    fn verdict(&self, family: &Family<'_>, keys: &[Option<Key>], pair: Pair, pools: &Pools) -> Dependence {
        let unknown = Dependence::Open {
            likely_at_once: false,
        };
        let (Some(first), Some(second)) = (keys[pair.earlier], keys[pair.later]) else {
            return unknown;
        };
        let seen = self.pairs.get(&(first, second)).copied().unwrap_or_default();
        if seen.is_together() {
            return Dependence::Together;
        }
        if was_in_use(family, pair, pools) {
            return Dependence::Together;
        }
        if seen.crossed {
            return Dependence::Open { likely_at_once: true };
        }
        let neighbours = self.neighbours.get(&(first.0, second.0));
        let never = neighbours.is_some_and(|seen| !seen.is_together() && seen.count() >= ENOUGH);
        if seen.count() >= ENOUGH || never {
            return Dependence::Waited;
        }
        unknown
    }

    /// For two steps of one connection: their dependence in operations where they used two.
    fn verdict_elsewhere(&self, keys: &[Option<Key>], Pair { earlier, later }: Pair) -> Dependence {
        let pair = keys[earlier].zip(keys[later]);
        let seen = pair.and_then(|pair| self.pairs.get(&pair));
        match seen.is_some_and(Seen::is_together) {
            true => Dependence::Together,
            false => Dependence::Waited,
        }
    }

    fn known_keys(&mut self, family: &Family<'_>) -> Vec<Key> {
        for place in 0..family.members.len() {
            let next = self.classes.len() as u32;
            self.classes.entry(family.class(place)).or_insert(next);
        }
        self.keys(family).into_iter().flatten().collect()
    }

    /// Keys of a family's steps; `None` if no earlier operation had the step.
    fn keys(&self, family: &Family<'_>) -> Vec<Option<Key>> {
        let mut counts: HashMap<u32, u32> = HashMap::default();
        let keys = (0..family.members.len()).map(|place| {
            let class = *self.classes.get(&family.class(place))?;
            let count = counts.entry(class).or_default();
            *count += 1;
            Some((class, *count))
        });
        keys.collect()
    }
}

/// Whether two uses of connections overlap without nesting. A sequential client never ends the
/// outer use first.
fn crosses(one: (usize, usize), other: (usize, usize)) -> bool {
    let (first, second) = (one.min(other), one.max(other));
    first.0 < second.0 && second.0 < first.1 && first.1 < second.1
}

/// Whether the connection of `earlier` was in use when `later` took another, although the reply had
/// arrived: the pool reuses the last returned connection, it was the last used, and it is not
/// used again, as by a client that keeps it.
fn was_in_use(family: &Family<'_>, Pair { earlier, later }: Pair, pools: &Pools) -> bool {
    let connection = family.connection(earlier);
    let uses_again = (later..family.members.len()).any(|place| family.connection(place) == connection);
    let begun = family.before_on_connection(later).is_some();
    let last = (0..later).max_by_key(|place| family.exchange(*place).ended());
    !uses_again && !begun && last == Some(earlier) && pools.gives_last(connection)
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Gap {
    Overlapped,
    TooSoon,
    Waited,
}

impl Gap {
    fn between(family: &Family<'_>, Pair { earlier, later }: Pair, floor: Duration) -> Self {
        let (reply, request) = (family.exchange(earlier).ended(), family.exchange(later).at);
        if request < reply {
            Self::Overlapped
        } else if request.since(reply) < floor {
            Self::TooSoon
        } else {
            Self::Waited
        }
    }
}

impl Shares {
    fn add(&mut self, rested: Option<Vec<usize>>) {
        self.operations += 1;
        if let Some(counts) = rested
            && (self.seen.len() < MAX_SHARINGS || self.seen.contains_key(&counts))
        {
            *self.seen.entry(counts).or_default() += 1;
        }
    }
}

impl Seen {
    fn add(&mut self, gap: Gap, alone: bool) {
        if alone {
            self.alone += 1;
            self.overlapped += u32::from(gap == Gap::Overlapped);
            self.too_soon += u32::from(gap == Gap::TooSoon);
        } else {
            self.crowded += 1;
            self.overlapped_crowded += u32::from(gap == Gap::Overlapped);
        }
    }

    fn count(&self) -> u64 {
        u64::from(self.alone) + u64::from(self.crowded)
    }

    /// In operations without overlap one sighting suffices, unless it was only too soon; in others
    /// one in three.
    fn is_together(&self) -> bool {
        self.overlapped > 0
            || (self.too_soon > 0 && self.too_soon * 10 >= self.alone)
            || (self.alone == 0 && self.overlapped_crowded * 3 >= self.crowded.max(1))
    }
}

impl Verdicts<'_> {
    /// For two places on one connection, their dependence in operations where they used different
    /// ones.
    pub fn dependence(&self, Pair { earlier, later }: Pair) -> Dependence {
        self.all[earlier * self.size + later]
    }

    /// For every step and its predecessor on a different connection.
    pub fn neighbours(&self) -> Vec<Dependence> {
        let neighbours = (1..self.size).map(|later| Pair {
            earlier: later - 1,
            later,
        });
        let different = neighbours.filter(|pair| !self.family.is_on_one_connection(*pair));
        different.map(|pair| self.dependence(pair)).collect()
    }

    pub fn any_at_once(&self, waits: &dyn Fn(Pair) -> bool) -> bool {
        (1..self.size).any(|later| {
            let mut pairs = (0..later).map(|earlier| Pair { earlier, later });
            pairs.any(|pair| !self.family.is_on_one_connection(pair) && !waits(pair))
        })
    }

    /// If two in a row of steps of one class, each on a separate connection, were together, most
    /// likely all were.
    fn complete_volleys(&mut self, keys: &[Option<Key>]) {
        let mut batches: HashMap<u32, Vec<usize>> = HashMap::default();
        let mut complete: Vec<Vec<usize>> = Vec::new();
        for (place, key) in keys.iter().enumerate() {
            let Some((class, _)) = key else { continue };
            let batch = batches.entry(*class).or_default();
            let connection = self.family.connection(place);
            if batch
                .iter()
                .any(|other| self.family.connection(*other) == connection)
            {
                complete.push(std::mem::take(batch));
            }
            batch.push(place);
        }
        complete.extend(batches.into_values());
        for batch in complete {
            self.complete_volley(&batch);
        }
    }

    /// Steps of chains on different connections do not wait for each other, unless a place in the
    /// row separates all earlier from all later steps.
    fn part_chains(&mut self, is_of_chain: impl Fn(usize) -> bool, keys: &[Option<Key>]) {
        let mut chains: HashMap<u32, Vec<usize>> = HashMap::default();
        for (place, key) in keys.iter().enumerate() {
            if let Some((class, _)) = key {
                chains.entry(*class).or_default().push(place);
            }
        }
        for steps in chains.into_values().filter(|steps| is_of_chain(steps[0])) {
            let crossed = self.crossed(&steps);
            for (count, later) in steps.iter().enumerate() {
                for (place, earlier) in steps[..count].iter().enumerate() {
                    let other = self.family.connection(*earlier) != self.family.connection(*later);
                    if other && !crossed[place + 1..=count].contains(&false) {
                        self.all[earlier * self.size + later] = Dependence::Together;
                    }
                }
            }
        }
    }

    /// For each place in a row, whether a pair across it was together.
    fn crossed(&self, row: &[usize]) -> Vec<bool> {
        let together = |cut: usize| {
            let (before, after) = row.split_at(cut);
            let mut pairs = before
                .iter()
                .flat_map(|&earlier| after.iter().map(move |&later| Pair { earlier, later }));
            pairs.any(|pair| self.dependence(pair) == Dependence::Together)
        };
        (0..row.len()).map(|cut| cut > 0 && together(cut)).collect()
    }

    /// If one pair across a place was together, all pairs across it were. Other places are open.
    fn complete_volley(&mut self, batch: &[usize]) {
        let crossed = self.crossed(batch);
        if !crossed.contains(&true) {
            return;
        }
        for (count, later) in batch.iter().enumerate() {
            for (place, earlier) in batch[..count].iter().enumerate() {
                self.all[earlier * self.size + later] = match crossed[place + 1..=count].contains(&false) {
                    false => Dependence::Together,
                    true => Dependence::Open { likely_at_once: true },
                };
            }
        }
    }
}

const MAX_SHARINGS: usize = 32;

/// Sightings, never at once, after which the second is known to wait.
pub const ENOUGH: u64 = 5;

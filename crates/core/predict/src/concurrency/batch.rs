//! Steps of one statement in a family of concurrent steps.

use super::family::{Class, Family, Pair};
use foldhash::{HashMap, HashSet};
use model::{ConnectionId, Phase};

#[derive(Debug)]
pub struct ConcurrentBatch {
    pub class: Class,
    pub(super) places: Vec<usize>,
}

impl ConcurrentBatch {
    pub fn all(family: &Family<'_>) -> Vec<Self> {
        let mut batches: Vec<Self> = Vec::new();
        let mut by_class: HashMap<Class, usize> = HashMap::default();
        for place in 0..family.members.len() {
            let class = family.class(place);
            if class.0 != Phase::Work || class.1.is_none() {
                continue;
            }
            let at = *by_class.entry(class.clone()).or_insert_with(|| {
                batches.push(Self {
                    class,
                    places: Vec::new(),
                });
                batches.len() - 1
            });
            batches[at].places.push(place);
        }
        batches
    }

    /// Whether a pool of that width seems to have served it; `None` if it has a single step.
    ///
    /// 1. The first steps are on different connections, as many as the pool has.
    /// 2. The last steps are not all on one connection: that would be one client that goes on alone.
    /// 3. All connections take nearly equal part: an idle one would have been taken before another is reused,
    ///    except by an event loop that sees several replies at once.
    pub fn looks_served(&self, family: &Family<'_>, width: usize) -> Option<bool> {
        let served = width.min(self.places.len());
        if served < 2 {
            return None;
        }
        let different = |places: &[usize]| {
            let connections: HashSet<_> = places.iter().map(|place| family.connection(*place)).collect();
            connections.len()
        };
        let mut uses: HashMap<ConnectionId, usize> = HashMap::default();
        for place in &self.places {
            *uses.entry(family.connection(*place)).or_default() += 1;
        }
        let (fewest, most) = (uses.values().min()?, uses.values().max()?);
        let alike = fewest * 5 >= most * 2;
        let nearly = *fewest > 1 && most * uses.len() * 5 <= self.places.len() * 11;
        let last = &self.places[self.places.len() - served..];
        Some(different(&self.places[..served]) == served && different(last) > 1 && (alike || nearly))
    }

    /// Sorted number of steps per connection, if unequal and a connection rested while another was
    /// used twice more, where a pool would have used the resting one.
    pub fn rested(&self, family: &Family<'_>) -> Option<Vec<usize>> {
        let mut places: HashMap<ConnectionId, Vec<usize>> = HashMap::default();
        for place in &self.places {
            places.entry(family.connection(*place)).or_default().push(*place);
        }
        let over = |used: &Vec<usize>| used.last().map(|last| family.exchange(*last).ended());
        let first = places.values().filter_map(over).min()?;
        let later = |used: &Vec<usize>| {
            used.iter()
                .filter(|place| family.exchange(**place).at > first)
                .count()
        };
        if places.values().map(later).max()? < 2 {
            return None;
        }
        let mut counts: Vec<usize> = places.values().map(Vec::len).collect();
        counts.sort_unstable();
        (counts.first() != counts.last()).then_some(counts)
    }

    pub(super) fn has_reuse(&self, family: &Family<'_>) -> bool {
        let used: HashSet<_> = self
            .places
            .iter()
            .map(|place| family.connection(*place))
            .collect();
        used.len() < self.places.len()
    }

    /// Whether at least half of the steps that reuse a connection do not wait for the previous one
    /// there: in other operations they ran at once on different connections. Threads with one
    /// connection each do so: without distance the fastest takes the next step before another has
    /// begun.
    pub(super) fn reuses_by_chance(&self, family: &Family<'_>, waits: &dyn Fn(Pair) -> bool) -> bool {
        let mut last: HashMap<ConnectionId, usize> = HashMap::default();
        let (mut all, mut by_chance) = (0, 0);
        for place in &self.places {
            if let Some(earlier) = last.insert(family.connection(*place), *place) {
                let later = *place;
                all += 1;
                by_chance += usize::from(!waits(Pair { earlier, later }));
            }
        }
        all > 0 && by_chance * 2 >= all
    }

    /// Whether at least half of its neighbours on different connections do not wait for each other.
    pub(super) fn is_at_once(&self, family: &Family<'_>, waits: &dyn Fn(Pair) -> bool) -> bool {
        let neighbours = self.places.windows(2).map(|pair| Pair {
            earlier: pair[0],
            later: pair[1],
        });
        let neighbours = neighbours.filter(|pair| !family.is_on_one_connection(*pair));
        let (mut all, mut at_once) = (0, 0);
        for pair in neighbours {
            all += 1;
            at_once += usize::from(!waits(pair));
        }
        all > 0 && at_once * 2 >= all
    }
}

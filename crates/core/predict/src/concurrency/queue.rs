//! A queue for pooled connections, if one statement runs concurrently more often than there are
//! connections.

use super::batch::ConcurrentBatch;
use super::evidence::OrderEvidence;
use super::family::{Class, Family, Pair};
use foldhash::{HashMap, HashSet};
use model::ConnectionId;

/// Connection uses by a volley of one statement.
///
/// A unit is one use: the statement and its followers on the connection (a pool's reset, say).
/// Units take connections in order, as if all took equally long, which distance ensures. Without
/// distance one connection may be free so soon that it is reused again and again.
#[derive(Debug, Default)]
pub struct Queue {
    /// The unit of each place.
    units: HashMap<usize, usize>,
    places: Vec<Vec<usize>>,
    connections: Vec<ConnectionId>,
    /// The previous unit on the connection of each unit.
    before: Vec<Option<usize>>,
}

#[derive(Debug, Default)]
pub struct Supply {
    /// Most connections used in one family.
    pub width: usize,
    pub connections: Vec<ConnectionId>,
}

impl Queue {
    /// The first volley of a family that queued, or reused a connection that was quickly free;
    /// otherwise an empty queue. `waits` also answers for two steps on one connection, from other
    /// operations.
    pub fn find(
        family: &Family<'_>,
        waits: &dyn Fn(Pair) -> bool,
        supply: &Supply,
        evidence: &OrderEvidence,
    ) -> Self {
        for batch in ConcurrentBatch::all(family) {
            let is_queue = batch.has_reuse(family) && !evidence.are_chains(&batch.class);
            if !is_queue || !batch.is_at_once(family, waits) {
                continue;
            }
            let by_chance = evidence.is_of_operations_alone() && batch.reuses_by_chance(family, waits);
            if by_chance || evidence.is_served(&batch.class) {
                return Self::with_units(family, &batch.places, supply);
            }
        }
        Self::default()
    }

    fn with_units(family: &Family<'_>, batch: &[usize], supply: &Supply) -> Self {
        let starts: HashMap<usize, usize> = batch
            .iter()
            .enumerate()
            .map(|(unit, place)| (*place, unit))
            .collect();
        let mut queue = Self {
            places: vec![Vec::new(); batch.len()],
            ..Self::default()
        };
        // Steps between a statement of the volley and the next on its connection also follow the
        // last ones.
        let mut followers: HashSet<Class> = HashSet::default();
        let mut under_way: HashMap<ConnectionId, (usize, Vec<usize>)> = HashMap::default();
        for place in batch[0]..family.members.len() {
            let connection = family.connection(place);
            if let Some(unit) = starts.get(&place) {
                if let Some((before, behind)) = under_way.insert(connection, (*unit, Vec::new())) {
                    followers.extend(behind.iter().map(|place| family.class(*place)));
                    queue.take_unit(before, &behind);
                }
                queue.take_unit(*unit, &[place]);
            } else if let Some((_, behind)) = under_way.get_mut(&connection) {
                behind.push(place);
            }
        }
        for (unit, behind) in under_way.into_values() {
            let known = behind
                .iter()
                .take_while(|place| followers.contains(&family.class(**place)));
            let known: Vec<usize> = known.copied().collect();
            queue.take_unit(unit, &known);
        }
        queue.assign(family, batch, supply);
        queue
    }

    /// Assigns a connection to every unit. The first ones get one each: their own, or an unused one
    /// of the pool if that is taken. The others get the least used of those free when they began.
    fn assign(&mut self, family: &Family<'_>, batch: &[usize], supply: &Supply) {
        let used: HashSet<ConnectionId> = batch.iter().map(|place| family.connection(*place)).collect();
        let spare = supply.connections.iter().filter(|one| !used.contains(one));
        let mut spare = spare.take(supply.width.saturating_sub(used.len())).copied();
        // Per connection, the last unit and the number of units.
        let mut last: Vec<(usize, usize)> = Vec::new();
        for (unit, start) in batch.iter().enumerate() {
            let own = family.connection(*start);
            let own = Some(own).filter(|own| !self.connections.contains(own));
            let not_begun = used.iter().filter(|one| !self.connections.contains(one)).count();
            let another = own.or_else(|| (not_begun == 0).then(|| spare.next()).flatten());
            if let Some(connection) = another {
                last.push((unit, 1));
                self.connections.push(connection);
                self.before.push(None);
                continue;
            }
            let is_over = |before: usize| self.places[before].iter().all(|place| place < start);
            let slots = (0..last.len()).filter(|slot| is_over(last[*slot].0));
            let slot = slots.min_by_key(|slot| (last[*slot].1, last[*slot].0));
            let slot = slot.unwrap_or(unit % last.len());
            let (before, had) = last[slot];
            self.connections.push(self.connections[before]);
            self.before.push(Some(before));
            last[slot] = (unit, had + 1);
        }
    }

    fn take_unit(&mut self, unit: usize, places: &[usize]) {
        self.places[unit].extend(places);
        self.units.extend(places.iter().map(|place| (*place, unit)));
    }

    pub fn has_both(&self, pair: Pair) -> bool {
        self.units.contains_key(&pair.earlier) && self.units.contains_key(&pair.later)
    }

    /// `None` if the place belongs to no unit.
    pub fn connection(&self, place: usize) -> Option<ConnectionId> {
        self.connections.get(*self.units.get(&place)?).copied()
    }

    /// For the first place of a queued unit, the last place of the previous unit on the connection.
    pub fn before(&self, place: usize) -> Option<usize> {
        let unit = *self.units.get(&place)?;
        let earlier = self.before[unit]?;
        let is_first = self.places[unit].first() == Some(&place);
        let places = self.places[earlier].iter().copied();
        places.filter(|earlier| is_first && *earlier < place).max()
    }

    /// Whether the place begins the first unit on a connection other than the measured one.
    pub fn is_moved(&self, place: usize, measured: ConnectionId) -> bool {
        let begins = |unit: &usize| self.before[*unit].is_none() && self.connections[*unit] != measured;
        let unit = self
            .units
            .get(&place)
            .filter(|unit| self.places[**unit].first() == Some(&place));
        unit.is_some_and(begins)
    }
}

//! A statement waits until another client's transaction releases its lock.
//!
//! The wire does not show which rows, tables or advisory locks a statement locks, or whether the
//! server allows only one writer. Two observations do:
//!
//! 1. Fingerprint and [`model::RequestTraits::rows_digest`] identify the rows that an `update` or `delete`
//!    writes. Clients that run the same recorded operation would meet on all rows, so only rows that several
//!    operations wrote count.
//! 2. With several clients in the measurement: a statement that was never held by two transactions at once,
//!    although it often arrived during another's ([`LockEvidence::conclude`]).
//!
//! Measured lock waits are removed from server time and simulated again, because the other
//! transaction takes longer on a longer link.

use crate::client_node::{ClientId, ClientNode};
use crate::plan::{LockKey, OperationPlan, PlanNode};
use model::{ConnectionId, Nanos, Timestamp};
use std::collections::{HashMap, HashSet, VecDeque};

#[derive(Debug, Default)]
pub struct LockEvidence {
    asked: HashMap<LockKey, Vec<Asked>>,
    known: usize,
}

/// An executed statement of the measurement.
#[derive(Debug, Clone, Copy)]
struct Asked {
    by: ConnectionId,
    /// When the request reached the server, and when the reply left.
    arrived: Timestamp,
    replied: Timestamp,
    /// When the request that ended the transaction reached the server, and when it was answered.
    /// `None` if the lock ended with the reply.
    ended: Option<[Timestamp; 2]>,
}

impl LockEvidence {
    pub fn add(&mut self, plan: &OperationPlan) {
        let mut ended: Vec<Option<[Timestamp; 2]>> = vec![None; plan.connections.len()];
        for index in (0..plan.first_nodes.len()).rev() {
            let nodes = &plan.nodes[plan.places_of(index)];
            let (Some(first), Some(last)) = (nodes.first(), nodes.last()) else {
                continue;
            };
            let ended = &mut ended[first.connection.index()];
            if last.ends_transaction {
                *ended = None;
            }
            if let Some(key) = first.locks.filter(|_| self.known < MAX_ASKED) {
                self.known += 1;
                self.asked.entry(key).or_default().push(Asked {
                    by: plan.connections[first.connection.index()],
                    arrived: arrived(first),
                    replied: first.measured.computed_at[1],
                    ended: *ended,
                });
            }
            if last.ends_transaction {
                *ended = Some([arrived(last), last.measured.computed_at[1]]);
            }
        }
    }

    /// Determines the locks for which clients wait, and the measured waits:
    ///
    /// - Rows written more than once, unless two transactions held them at once.
    /// - Statements with unknown rows that arrived at least [`MIN_TESTS`] times while another's transaction
    ///   held the lock and would usually have been answered before its end, but were so at most one time in
    ///   [`ONE_HELD_BOTH_IN`]: they wait for the end of that transaction.
    /// - Statements that waited so in one of [`ONE_WAITED_IN`], and [`MIN_TESTS`] times, are open.
    pub fn conclude(self) -> Locked {
        let mut locked = Locked::default();
        for (key, mut asked) in self.asked {
            asked.sort_unstable_by_key(|one| (one.replied, one.arrived));
            let seen = Exclusion::from_requests(&asked);
            if seen.excludes() || (key.has_rows() && asked.len() > 1 && !seen.is_refuted()) {
                locked.certain.insert(key);
                locked.waits.extend(seen.waits);
            } else if seen.may_exclude() {
                locked.open.insert(key);
            }
        }
        locked
    }
}

const fn arrived(node: &PlanNode) -> Timestamp {
    node.measured.computed_at[1].minus(node.measured.server_before)
}

#[derive(Debug, Default)]
struct Exclusion {
    /// Arrivals during another's transaction that usually would have been answered before its end.
    tests: usize,
    held_both: usize,
    /// Tests that took much longer than usual instead.
    waited: usize,
    waits: Vec<(Timestamp, Nanos)>,
}

impl Exclusion {
    fn from_requests(asked: &[Asked]) -> Self {
        let usual = usual_time(asked);
        let mut seen = Self::default();
        for (place, one) in asked.iter().enumerate() {
            let others = others_before(asked, place);
            let ends = others.clone().filter_map(|other| other.ended);
            let held_both = ends.clone().any(|[ending, _]| ending > one.replied);
            let would_be_over = one.arrived.plus(usual);
            let is_test = others.clone().any(|other| {
                other.replied <= would_be_over
                    && other.ended.is_some_and(|[ending, _]| ending > would_be_over)
            });
            seen.tests += usize::from(is_test || held_both);
            seen.held_both += usize::from(held_both);
            let took = one.replied.nanos_since(one.arrived);
            seen.waited += usize::from(is_test && !held_both && took > usual * MUCH_LONGER);
            let free = ends.map(|[_, ended]| ended.min(one.replied)).max();
            let waited = free.map_or(Nanos::ZERO, |free| free.nanos_since(one.arrived));
            // The lock is released a little before the reply; the usual time remains.
            let waited = waited.min(took.saturating_sub(usual));
            if !waited.is_zero() {
                seen.waits.push((one.arrived, waited));
            }
        }
        seen
    }

    const fn is_refuted(&self) -> bool {
        self.held_both * ONE_HELD_BOTH_IN > self.tests
    }

    const fn excludes(&self) -> bool {
        self.tests >= MIN_TESTS && !self.is_refuted()
    }

    const fn may_exclude(&self) -> bool {
        self.waited >= MIN_TESTS && self.waited * ONE_WAITED_IN >= self.tests
    }
}

/// Statements of other connections answered before the one at `place` that may still have held the
/// lock when it arrived.
fn others_before(asked: &[Asked], place: usize) -> impl Iterator<Item = &Asked> + Clone {
    let one = asked[place];
    asked[place.saturating_sub(LOOKED_BACK)..place]
        .iter()
        .filter(move |other| other.by != one.by && other.ended.is_some_and(|[_, ended]| ended > one.arrived))
}

/// Median time without another holder. If that is rare: the fastest tenth, counted from the end of
/// the other transaction.
fn usual_time(asked: &[Asked]) -> Nanos {
    let took = |one: &Asked| one.replied.nanos_since(one.arrived);
    let alone = (0..asked.len()).filter(|place| others_before(asked, *place).next().is_none());
    let mut alone: Vec<Nanos> = alone.map(|place| took(&asked[place])).collect();
    if alone.len() < MIN_ALONE {
        let since = |place: usize| {
            let one = &asked[place];
            let ends = others_before(asked, place).filter_map(|other| other.ended);
            let over = ends
                .map(|[_, ended]| ended)
                .filter(|ended| *ended <= one.replied)
                .max();
            one.replied.nanos_since(over.unwrap_or(one.arrived))
        };
        alone = (0..asked.len()).map(since).collect();
        alone.sort_unstable();
        return alone.get(alone.len() / 10).copied().unwrap_or_default();
    }
    alone.sort_unstable();
    alone[alone.len() / 2]
}

#[derive(Debug, Default)]
pub struct Locked {
    certain: HashSet<LockKey>,
    open: HashSet<LockKey>,
    waits: HashMap<Timestamp, Nanos>,
}

impl Locked {
    pub fn is_open(&self) -> bool {
        !self.open.is_empty()
    }

    /// Measured wait of a statement that arrived at `arrived`.
    pub fn waited(&self, arrived: Timestamp) -> Nanos {
        self.waits.get(&arrived).copied().unwrap_or_default()
    }

    /// Removes the measured waits from the plan.
    pub fn take_out(&self, plan: &mut OperationPlan) {
        for node in plan.nodes.iter_mut().filter(|node| node.locks.is_some()) {
            let waited = self.waited(arrived(node));
            node.measured.server_before = node.measured.server_before.saturating_sub(waited);
        }
    }
}

/// Locks for which clients wait in a replay.
#[derive(Debug, Clone, Copy)]
pub enum SimulatedLocks<'a> {
    Certain(&'a Locked),
    /// The certain and the open ones.
    Possible(&'a Locked),
}

impl SimulatedLocks<'_> {
    fn contain(self, key: LockKey) -> bool {
        match self {
            Self::Certain(locked) => locked.certain.contains(&key),
            Self::Possible(locked) => locked.certain.contains(&key) || locked.open.contains(&key),
        }
    }
}

#[derive(Debug, Default)]
pub struct Locks<'a> {
    simulated: Option<SimulatedLocks<'a>>,
    held: HashMap<LockKey, RowLock>,
    by_client: HashMap<ClientId, Vec<LockKey>>,
    waits_for: HashMap<ClientId, LockKey>,
}

#[derive(Debug)]
struct RowLock {
    by: ClientId,
    waiting: VecDeque<ClientNode>,
}

impl<'a> Locks<'a> {
    /// No lock is held.
    pub fn new(simulated: Option<SimulatedLocks<'a>>) -> Self {
        Self {
            simulated,
            ..Self::default()
        }
    }

    pub fn concern(&self, key: LockKey) -> bool {
        self.simulated.is_some_and(|locks| locks.contain(key))
    }

    /// Whether the request `id` gets the lock now; otherwise it waits. A request in a deadlock
    /// proceeds, because a real server would abort one of the transactions.
    pub fn acquire(&mut self, key: LockKey, id: ClientNode) -> bool {
        let client = id.client();
        if !self.concern(key) {
            return true;
        }
        if self.held.get(&key).is_some_and(|held| held.by == client) || self.leads_to(key, client) {
            return true;
        }
        match self.held.get_mut(&key) {
            Some(held) => {
                held.waiting.push_back(id);
                self.waits_for.insert(client, key);
                false
            }
            None => {
                let waiting = VecDeque::new();
                self.held.insert(key, RowLock { by: client, waiting });
                self.by_client.entry(client).or_default().push(key);
                true
            }
        }
    }

    /// Whether the lock's holder waits, through others, for `client`.
    fn leads_to(&self, key: LockKey, client: ClientId) -> bool {
        let mut next = self.held.get(&key);
        for _ in 0..=self.waits_for.len() {
            let Some(held) = next else { return false };
            if held.by == client {
                return true;
            }
            let awaited = self.waits_for.get(&held.by);
            next = awaited.and_then(|key| self.held.get(key));
        }
        // A cycle that does not include this client.
        false
    }

    /// Ends the client's transaction and returns the requests that proceed.
    pub fn release(&mut self, client: ClientId) -> Vec<ClientNode> {
        let mut next = Vec::new();
        for key in self.by_client.remove(&client).unwrap_or_default() {
            let Some(held) = self.held.get_mut(&key) else {
                continue;
            };
            match held.waiting.pop_front() {
                Some(id) => {
                    let other = id.client();
                    held.by = other;
                    self.waits_for.remove(&other);
                    self.by_client.entry(other).or_default().push(key);
                    next.push(id);
                }
                None => {
                    self.held.remove(&key);
                }
            }
        }
        next
    }

    pub fn forget(&mut self, id: ClientNode) {
        for held in self.held.values_mut() {
            let waits_for = &mut self.waits_for;
            held.waiting.retain(|waiting| {
                if *waiting == id {
                    waits_for.remove(&id.client());
                }
                *waiting != id
            });
        }
    }
}

/// Statements of the measurement, about 30 MB.
const MAX_ASKED: usize = 500_000;
/// With more clients at once, only some are inspected.
const LOOKED_BACK: usize = 100;
const MIN_TESTS: usize = 5;
const ONE_HELD_BOTH_IN: usize = 20;
const ONE_WAITED_IN: usize = 5;
const MIN_ALONE: usize = 3;
/// Multiple of the usual time.
const MUCH_LONGER: u64 = 3;

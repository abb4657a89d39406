//! What transactions hold: who asks for it while another's transaction holds it waits until that is over.
//!
//! What a statement locks (rows, a table, an advisory lock, a server that lets only one write) is not on the
//! wire. Two things show it:
//!
//! 1. Which rows an `update` or `delete` writes is known by its fingerprint and
//!    [`model::RequestTraits::rows_digest`]. Clients that carry out the same recorded operation would meet on
//!    all its rows, so only rows that several operations wrote count.
//! 2. Of several clients in the measurement: a statement of which no two transactions held what it requested
//!    at once, although it often came while another's did ([`LockEvidence::conclude`]).
//!
//! Where it waited in the measurement already, that wait is taken out of the server's time and simulated
//! again: on a longer link the other transaction takes longer, and so does the wait.

use crate::plan::{OperationPlan, PlanNode};
use model::{ConnectionId, Exchange};
use std::collections::hash_map::DefaultHasher;
use std::collections::{HashMap, HashSet, VecDeque};
use std::hash::{Hash, Hasher};

/// What an exchange may have to wait for: a number that is the same wherever the same statement asks for the
/// same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct LockKey {
    of: u64,
    /// Whether it tells the rows; otherwise it is the statement's alone.
    tells_rows: bool,
}

impl LockKey {
    /// That of an exchange whose statement is known.
    pub fn from_exchange(exchange: &Exchange) -> Option<Self> {
        let digest = exchange.asked.rows_digest;
        let mut hasher = DefaultHasher::new();
        (exchange.fingerprint.as_deref()?, digest).hash(&mut hasher);
        Some(Self {
            of: hasher.finish(),
            tells_rows: digest.is_some(),
        })
    }
}

/// What the measurement shows of who waited for whom.
#[derive(Debug, Default)]
pub struct LockEvidence {
    asked: HashMap<LockKey, Vec<Asked>>,
    known: usize,
}

/// A statement that was carried out. Nanoseconds of the measurement.
#[derive(Debug, Clone, Copy)]
struct Asked {
    by: ConnectionId,
    /// When it had reached the server, and when the reply left.
    arrived: u64,
    replied: u64,
    /// When the request that ended its transaction reached the server, and when that was answered. `None` if
    /// nothing was held any more after the reply.
    ended: Option<[u64; 2]>,
}

impl LockEvidence {
    /// Takes the next operation.
    pub fn add(&mut self, plan: &OperationPlan) {
        let mut ended: Vec<Option<[u64; 2]>> = vec![None; plan.connections.len()];
        for index in (0..plan.first_nodes.len()).rev() {
            let nodes = &plan.nodes[plan.places_of(index)];
            let (Some(first), Some(last)) = (nodes.first(), nodes.last()) else {
                continue;
            };
            let ended = &mut ended[first.connection as usize];
            if last.ends_transaction {
                *ended = None;
            }
            if let Some(key) = first.locks.filter(|_| self.known < MAX_ASKED) {
                self.known += 1;
                self.asked.entry(key).or_default().push(Asked {
                    by: plan.connections[first.connection as usize],
                    arrived: arrived(first),
                    replied: first.computed_at[1],
                    ended: *ended,
                });
            }
            if last.ends_transaction {
                *ended = Some([arrived(last), last.computed_at[1]]);
            }
        }
    }

    /// What clients wait for, and how long those of the measurement did.
    ///
    /// - Rows that were written more than once, unless two transactions held them at once.
    /// - What a statement asks for of which the rows are not known, if it came at least [`MIN_TESTS`] times
    ///   while another's transaction held it and would have been answered before that was over, taking the
    ///   usual time: and was, no more than one time in [`ONE_HELD_BOTH_IN`]. Each time it waited for that
    ///   transaction's end, then.
    /// - Where it waited so in one of [`ONE_WAITED_IN`], and [`MIN_TESTS`] times, it may be that some of them
    ///   meet: open.
    pub fn conclude(self) -> Locked {
        let mut locked = Locked::default();
        for (key, mut asked) in self.asked {
            asked.sort_unstable_by_key(|one| (one.replied, one.arrived));
            let seen = Exclusion::from_requests(&asked);
            if seen.excludes() || (key.tells_rows && asked.len() > 1 && !seen.is_refuted()) {
                locked.certain.insert(key);
                locked.waits.extend(seen.waits);
            } else if seen.may_exclude() {
                locked.open.insert(key);
            }
        }
        locked
    }
}

/// When the request of the node had reached its server.
const fn arrived(node: &PlanNode) -> u64 {
    node.computed_at[1].saturating_sub(node.server_before)
}

/// What all executions of one statement show.
#[derive(Debug, Default)]
struct Exclusion {
    /// How often it came while another's transaction held what it requested, and would have been answered
    /// meanwhile.
    tests: usize,
    /// How often it was.
    held_both: usize,
    /// How often it took much longer than usual instead.
    waited: usize,
    /// When it came, and how long it waited.
    waits: Vec<(u64, u64)>,
}

impl Exclusion {
    /// `asked` in the order of the replies.
    fn from_requests(asked: &[Asked]) -> Self {
        let usual = usual_time(asked);
        let mut seen = Self::default();
        for (place, one) in asked.iter().enumerate() {
            let others = others_before(asked, place);
            let ends = others.clone().filter_map(|other| other.ended);
            let held_both = ends.clone().any(|[ending, _]| ending > one.replied);
            let would_be_over = one.arrived.saturating_add(usual);
            let is_test = others.clone().any(|other| {
                other.replied <= would_be_over
                    && other.ended.is_some_and(|[ending, _]| ending > would_be_over)
            });
            seen.tests += usize::from(is_test || held_both);
            seen.held_both += usize::from(held_both);
            let took = one.replied.saturating_sub(one.arrived);
            seen.waited += usize::from(is_test && !held_both && took > MUCH_LONGER * usual);
            let free = ends.map(|[_, ended]| ended.min(one.replied)).max();
            let waited = free.map_or(0, |free| free.saturating_sub(one.arrived));
            // What holds is given up a little before that is answered: what is left is the usual time.
            let waited = waited.min(took.saturating_sub(usual));
            if waited > 0 {
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

/// What other connections asked, were given before the one at `place`, and may not have been done with when
/// it came.
fn others_before(asked: &[Asked], place: usize) -> impl Iterator<Item = &Asked> + Clone {
    let one = asked[place];
    asked[place.saturating_sub(LOOKED_BACK)..place]
        .iter()
        .filter(move |other| other.by != one.by && other.ended.is_some_and(|[_, ended]| ended > one.arrived))
}

/// What it takes where nobody else holds anything: the median; where that is seldom, what the quickest tenth
/// takes from the end of another's transaction on.
fn usual_time(asked: &[Asked]) -> u64 {
    let took = |one: &Asked| one.replied.saturating_sub(one.arrived);
    let alone = (0..asked.len()).filter(|place| others_before(asked, *place).next().is_none());
    let mut alone: Vec<u64> = alone.map(|place| took(&asked[place])).collect();
    if alone.len() < MIN_ALONE {
        let since = |place: usize| {
            let one = &asked[place];
            let ends = others_before(asked, place).filter_map(|other| other.ended);
            let over = ends
                .map(|[_, ended]| ended)
                .filter(|ended| *ended <= one.replied)
                .max();
            one.replied.saturating_sub(over.unwrap_or(one.arrived))
        };
        alone = (0..asked.len()).map(since).collect();
        alone.sort_unstable();
        return alone.get(alone.len() / 10).copied().unwrap_or_default();
    }
    alone.sort_unstable();
    alone[alone.len() / 2]
}

/// What clients wait for because another's transaction holds it.
#[derive(Debug, Default)]
pub struct Locked {
    certain: HashSet<LockKey>,
    open: HashSet<LockKey>,
    /// When statements came that waited in the measurement, and how long.
    waits: HashMap<u64, u64>,
}

impl Locked {
    /// Whether it is open for some whether they wait.
    pub fn is_open(&self) -> bool {
        !self.open.is_empty()
    }

    /// Those that may wait, wait.
    pub fn all(&self) -> HashSet<LockKey> {
        self.certain.union(&self.open).copied().collect()
    }

    /// Those that wait.
    pub const fn certain(&self) -> &HashSet<LockKey> {
        &self.certain
    }

    /// How long what came then waited in the measurement.
    pub fn waited(&self, arrived: u64) -> u64 {
        self.waits.get(&arrived).copied().unwrap_or_default()
    }

    /// Takes out of the plan the time in which its statements waited.
    pub fn take_out(&self, plan: &mut OperationPlan) {
        for node in plan.nodes.iter_mut().filter(|node| node.locks.is_some()) {
            let waited = self.waited(arrived(node));
            node.server_before = node.server_before.saturating_sub(waited);
        }
    }
}

/// Who holds what in a run, and who waits for it.
#[derive(Debug, Default)]
pub struct Locks<'a> {
    keys: Option<&'a HashSet<LockKey>>,
    held: HashMap<LockKey, RowLock>,
    /// What clients hold, and what each of them waits for.
    by_client: HashMap<u32, Vec<LockKey>>,
    waits_for: HashMap<u32, LockKey>,
}

#[derive(Debug)]
struct RowLock {
    by: u32,
    /// First come, first served: the client and the request that waits.
    waiting: VecDeque<(u32, u64)>,
}

impl<'a> Locks<'a> {
    /// Nothing is held; `keys` are what clients wait for.
    pub fn new(keys: Option<&'a HashSet<LockKey>>) -> Self {
        Self {
            keys,
            ..Self::default()
        }
    }

    /// Whether a request that asks for this may have to wait.
    pub fn concern(&self, key: LockKey) -> bool {
        self.keys.is_some_and(|keys| keys.contains(&key))
    }

    /// Whether the request `id` of `client` gets what it asks for now; otherwise it waits. One that would
    /// wait for itself, through others, goes on: a real server would end one of the transactions.
    pub fn acquire(&mut self, key: LockKey, client: u32, id: u64) -> bool {
        if !self.concern(key) {
            return true;
        }
        if self.held.get(&key).is_some_and(|held| held.by == client) || self.leads_to(key, client) {
            return true;
        }
        match self.held.get_mut(&key) {
            Some(held) => {
                held.waiting.push_back((client, id));
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

    /// Whether the holder of it waits, through others, for `client`.
    fn leads_to(&self, key: LockKey, client: u32) -> bool {
        let mut next = self.held.get(&key);
        for _ in 0..=self.waits_for.len() {
            let Some(held) = next else { return false };
            if held.by == client {
                return true;
            }
            let awaited = self.waits_for.get(&held.by);
            next = awaited.and_then(|key| self.held.get(key));
        }
        // Others wait in a circle that does not reach this client.
        false
    }

    /// The transaction of the client is over: gives the requests that go on.
    pub fn release(&mut self, client: u32) -> Vec<u64> {
        let mut next = Vec::new();
        for key in self.by_client.remove(&client).unwrap_or_default() {
            let Some(held) = self.held.get_mut(&key) else {
                continue;
            };
            match held.waiting.pop_front() {
                Some((other, id)) => {
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

    /// The request does not wait any more.
    pub fn forget(&mut self, id: u64) {
        for held in self.held.values_mut() {
            let waits_for = &mut self.waits_for;
            held.waiting.retain(|(client, waiting)| {
                if *waiting == id {
                    waits_for.remove(client);
                }
                *waiting != id
            });
        }
    }
}

/// Of statements in the measurement: about 30 MB.
const MAX_ASKED: usize = 500_000;
/// More clients at once than these are inspected in part.
const LOOKED_BACK: usize = 100;
const MIN_TESTS: usize = 5;
const ONE_HELD_BOTH_IN: usize = 20;
const ONE_WAITED_IN: usize = 5;
const MIN_ALONE: usize = 3;
/// Times the usual time.
const MUCH_LONGER: u64 = 3;

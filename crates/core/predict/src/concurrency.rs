//! Which exchanges on several connections waited for each other, from all operations of a name.
//!
//! One local operation does not show it: when an event loop sends four queries at once, the first
//! reply may arrive before the second query leaves. Several operations show more:
//!
//! 1. If the second of two exchanges was ever sent before the first reply had arrived, they never wait for
//!    each other. Exchanges are matched by statement and occurrence ([`evidence`]). A reply more recent than
//!    the client's reaction time counts as pending.
//! 2. A pool that reuses the last returned connection uses another only while that one is in use
//!    ([`pools`]).
//! 3. Uses of connections (transactions, or up to the statement that returns the connection) that overlap
//!    without nesting most likely run in parallel.
//! 4. The same statement on several connections, once each, is a volley: a fact about two holds for all.
//! 5. If the connections of a volley have unequal counts, equal in nearly all operations, these are chains:
//!    each step waited for the previous one on its connection. A queue is shared out by chance.
//! 6. Exchanges never seen at once in [`evidence::ENOUGH`] operations waited. With fewer operations the
//!    order is open.
//!
//! Exchanges of one connection always wait for each other, except in a volley with more statements
//! than the pool has connections: each waited for the next free connection ([`rewrite`]).
//! Dependence on the data of a reply cannot be seen. Start at [`Concurrency::ordered`].

mod batch;
mod evidence;
mod family;
mod pools;
mod queue;
mod rewrite;

use evidence::{Dependence, OrderEvidence};
use family::{Family, Pair};
use foldhash::HashMap;
use model::{Operation, Order, OrderKind, Timestamp};
use pools::Pools;
use queue::Queue;
use std::sync::Arc;
use std::time::Duration;

#[derive(Debug, Default)]
pub struct Concurrency {
    names: HashMap<Arc<str>, OrderEvidence>,
    pools: Pools,
    turnarounds: Turnarounds,
    pairs: usize,
}

/// An operation's possible orders over a distance.
#[derive(Debug, Clone)]
pub struct Ordered {
    /// The most likely order; `None` if as measured.
    pub expected: Option<Operation>,
    /// All open pairs run at once; `None` if as expected.
    pub at_once: Option<Operation>,
    /// All open pairs run in sequence; `None` if as expected.
    pub in_sequence: Option<Operation>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reading {
    Expected,
    AtOnce,
    InSequence,
}

impl Concurrency {
    /// Learns from operations in the order of their ends. Overlapping requests count for less:
    /// exchanges are less certainly assigned. Operations that are not requests have separate
    /// connections and disturb none.
    pub fn learn(&mut self, operations: &[Operation]) {
        let alone = alone(operations, |_| true);
        let only_request = alone_among_requests(operations);
        let families: Vec<Vec<Family<'_>>> = operations.iter().map(family::find_families).collect();
        for family in families.iter().flatten() {
            self.turnarounds.learn(family);
        }
        let floor = self.turnarounds.floor();
        for (index, operation) in operations.iter().enumerate() {
            self.pools.learn(operation, &families[index], alone[index]);
            let several = families[index].iter().any(Family::has_several_connections);
            if !several || self.pairs >= MAX_PAIRS {
                continue;
            }
            let evidence = self.names.entry(Arc::clone(&operation.name)).or_default();
            let before = evidence.pairs();
            evidence.learn(&families[index], only_request[index], floor, &self.pools);
            self.pairs += evidence.pairs() - before;
        }
    }

    pub fn ordered(&self, operation: &Operation) -> Ordered {
        let read = |reading| self.restrict_operation(operation, reading);
        let expected = read(Reading::Expected);
        let is_open = self.is_open(operation);
        let other = |reading| {
            let other = is_open.then(|| read(reading)).flatten();
            let as_measured = is_open && expected.is_some();
            let other = other.or_else(|| as_measured.then(|| operation.clone()));
            other.filter(|other| other.steps != expected.as_ref().unwrap_or(operation).steps)
        };
        Ordered {
            at_once: other(Reading::AtOnce),
            in_sequence: other(Reading::InSequence),
            expected,
        }
    }

    pub fn expected(&self, operation: &Operation) -> Operation {
        let read = self.restrict_operation(operation, Reading::Expected);
        read.unwrap_or_else(|| operation.clone())
    }

    pub fn order(&self, name: &Arc<str>) -> Option<Order> {
        let evidence = self.names.get(name)?;
        let (looked_at, at_once) = evidence.operations();
        // A minority of operations does not decide.
        let half = evidence.concluded.div_ceil(2);
        let kind = match (evidence.open >= half, evidence.some_at_once >= half) {
            (true, _) => OrderKind::Open,
            (false, true) => OrderKind::AtOnce,
            (false, false) => OrderKind::InSequence,
        };
        Some(Order {
            kind,
            looked_at,
            at_once,
        })
    }

    /// Counts per name the operations with open order, and those with steps at once.
    pub fn derive_dependencies(&mut self, operations: &[Operation]) {
        for operation in operations {
            let (mut open, mut at_once) = (false, false);
            for verdict in self.verdicts(operation) {
                open |= matches!(verdict, Dependence::Open { .. });
                at_once |= verdict == Dependence::Together;
            }
            if let Some(evidence) = self.names.get_mut(&operation.name) {
                evidence.concluded += 1;
                evidence.open += u64::from(open);
                evidence.some_at_once += u64::from(at_once);
            }
        }
    }

    fn is_open(&self, operation: &Operation) -> bool {
        let open = |verdict: &Dependence| matches!(verdict, Dependence::Open { .. });
        self.verdicts(operation).iter().any(open)
    }

    fn verdicts(&self, operation: &Operation) -> Vec<Dependence> {
        let Some(evidence) = self.names.get(&operation.name) else {
            return Vec::new();
        };
        let mut all = Vec::new();
        for family in family::find_families(operation)
            .iter()
            .filter(|family| family.is_examined())
        {
            let verdicts = evidence.verdicts(family, &self.pools);
            all.extend(verdicts.neighbours());
        }
        all
    }

    fn restrict_operation(&self, operation: &Operation, reading: Reading) -> Option<Operation> {
        let evidence = self.names.get(&operation.name)?;
        let mut rewritten: Option<Operation> = None;
        for family in family::find_families(operation)
            .iter()
            .filter(|family| family.is_examined())
        {
            let verdicts = evidence.verdicts(family, &self.pools);
            let waits = |pair: Pair| match verdicts.dependence(pair) {
                Dependence::Together => false,
                Dependence::Waited => true,
                Dependence::Open { likely_at_once } => match reading {
                    Reading::Expected => !likely_at_once,
                    Reading::AtOnce => false,
                    Reading::InSequence => true,
                },
            };
            if verdicts.any_at_once(&waits) {
                let supply = self.pools.supply(family.connections());
                let queue = Queue::find(family, &waits, &supply, evidence);
                let operation = rewritten.get_or_insert_with(|| operation.clone());
                rewrite::rewrite(operation, family, &waits, &queue);
            }
        }
        rewritten.filter(|rewritten| rewritten.steps != operation.steps)
    }
}

fn alone_among_requests(operations: &[Operation]) -> Vec<bool> {
    let among_requests = alone(operations, |operation| operation.kind.is_request());
    let all = operations.iter().zip(among_requests);
    all.map(|(operation, alone)| alone || !operation.kind.is_request())
        .collect()
}

/// Which operations overlap no other counted operation.
fn alone(operations: &[Operation], counts: impl Fn(&Operation) -> bool) -> Vec<bool> {
    let counted = (0..operations.len()).filter(|&index| counts(&operations[index]));
    let mut by_begin: Vec<usize> = counted.collect();
    by_begin.sort_by_key(|&index| operations[index].at);
    let mut alone = vec![true; operations.len()];
    let mut latest: Option<(usize, Timestamp)> = None;
    for index in by_begin {
        let operation = &operations[index];
        let end = operation.at.after(operation.duration);
        if let Some((before, until)) = latest
            && until > operation.at
            && operations[before].id != operation.id
        {
            (alone[before], alone[index]) = (false, false);
        }
        if latest.is_none_or(|(_, until)| end > until) {
            latest = Some((index, end));
        }
    }
    alone
}

/// Time between a reply and the next request on the same connection.
#[derive(Debug, Default)]
struct Turnarounds {
    times: model::DistributionBuilder,
    floor: Duration,
}

impl Turnarounds {
    fn learn(&mut self, family: &Family<'_>) {
        for time in family.turnarounds() {
            self.times.add(time);
        }
    }

    /// Half of the fifth percentile: no client reads a reply and sends a request in less.
    fn floor(&mut self) -> Duration {
        if self.times.count() >= evidence::ENOUGH {
            self.floor = self.times.percentile(5).unwrap_or_default() / 2;
        }
        self.floor
    }
}

/// Pairs need about 20 MB.
const MAX_PAIRS: usize = 400_000;

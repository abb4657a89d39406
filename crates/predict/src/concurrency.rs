//! What an operation's exchanges on several connections waited for, determined from all operations of its
//! name.
//!
//! Over no distance one operation does not show it: an event loop that sends four queries at once sends the
//! second when the reply to the first may be there already, and it looks as if it had waited. Several
//! operations of a name show more:
//!
//! 1. Two exchanges of which the second was once sent before the reply to the first had arrived did not wait
//!    for each other, in any operation of that name. They are the same two by their statements and how many
//!    of these came before ([`evidence`]). A reply that had arrived more recently than the client ever takes
//!    to react counts as not arrived.
//! 2. A pool that gives the connection back that was returned last gives another one only when that one is in
//!    use ([`pools`]).
//! 3. Two uses of connections (transactions, or what lies before the statement by which a pool takes a
//!    connection back) that overlap without one lying within the other are of two that run at once, most
//!    likely.
//! 4. The same statement on several connections, one use of each, is one volley: what is known of two of them
//!    holds for all.
//! 5. Where the connections of a volley have unequal numbers of it, the same numbers in nearly all
//!    operations, these are chains: each step waited for the one before it on its connection. A queue is
//!    shared out by chance.
//! 6. Exchanges that were never seen at once in [`evidence::ENOUGH`] operations waited. With fewer it is
//!    open.
//!
//! Exchanges of one connection always wait for each other, except where a volley has more of the same
//! statement than the pool has connections: then each waited for the next free connection ([`rewrite`]). What
//! depends on the data of a reply cannot be seen. Start at [`Concurrency::ordered`].

mod evidence;
mod family;
mod pools;
mod queue;
mod rewrite;

use evidence::{Dependence, OrderEvidence};
use family::Family;
use model::{Operation, Order, OrderKind, Timestamp};
use pools::Pools;
use queue::Queue;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

/// What is known of the operations of a run.
#[derive(Debug, Default)]
pub struct Concurrency {
    names: HashMap<Arc<str>, OrderEvidence>,
    pools: Pools,
    turnarounds: Turnarounds,
    /// Pairs of exchanges that are known, of all names.
    pairs: usize,
}

/// An operation as it would go where distance counts.
#[derive(Debug, Clone)]
pub struct Ordered {
    /// As it is most likely; `None` if that is as it was measured.
    pub expected: Option<Operation>,
    /// With everything at once that may be; `None` if that is as expected.
    pub at_once: Option<Operation>,
    /// With everything in sequence that may be; `None` if that is as expected.
    pub in_sequence: Option<Operation>,
}

/// What is assumed about what is open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reading {
    Expected,
    AtOnce,
    InSequence,
}

impl Concurrency {
    /// Learns from operations in the order of their ends. Requests that ran at the same time as others show
    /// less: which of them caused which exchange is less certain there. What is no request has its own
    /// connections, and makes nothing less certain.
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

    /// What the operation would be, by all that is known.
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

    /// The operation as it is most likely.
    pub fn expected(&self, operation: &Operation) -> Operation {
        let read = self.restrict_operation(operation, Reading::Expected);
        read.unwrap_or_else(|| operation.clone())
    }

    /// What is known of the order in operations of that name.
    pub fn order(&self, name: &Arc<str>) -> Option<Order> {
        let evidence = self.names.get(name)?;
        let (looked_at, at_once) = evidence.operations();
        // Of all operations of the name: what few of them do is not said of it.
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

    /// Counts of every name in how many operations the order is open, by all that was learned.
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
            .filter(|family| family.is_told())
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
            .filter(|family| family.is_told())
        {
            let verdicts = evidence.verdicts(family, &self.pools);
            let waits = |earlier: usize, later: usize| match verdicts.dependence(earlier, later) {
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

/// Which operations ran while no request did but they themselves.
fn alone_among_requests(operations: &[Operation]) -> Vec<bool> {
    let among_requests = alone(operations, |operation| operation.kind.is_request());
    let all = operations.iter().zip(among_requests);
    all.map(|(operation, alone)| alone || !operation.kind.is_request())
        .collect()
}

/// Which operations ran while no other of those did that count.
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

/// How soon after a reply clients ask again on the same connection.
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

    /// Half of what the quickest in twenty take: no client read the reply and asked again in less.
    fn floor(&mut self) -> Duration {
        if self.times.count() >= evidence::ENOUGH {
            self.floor = self.times.percentile(5).unwrap_or_default() / 2;
        }
        self.floor
    }
}

/// About 20 MB.
const MAX_PAIRS: usize = 400_000;

//! Rows that several clients write: who comes while another's transaction holds them waits until that is over.
//!
//! Which writes meet is known by their fingerprint and by [`model::RequestTraits::rows_digest`]. Clients that carry out the same
//! recorded operation would meet on all its rows, so only rows that several operations wrote count.

use crate::plan::OperationPlan;
use model::{ConnectionId, Exchange};
use std::collections::hash_map::DefaultHasher;
use std::collections::{HashMap, HashSet, VecDeque};
use std::hash::{Hash, Hasher};

/// Rows that more than one of the measured operations wrote.
#[derive(Debug, Default)]
pub struct SharedRows(HashSet<u64>);

/// The rows that an exchange writes, as a number that is the same wherever these are written by the same statement.
pub fn rows(exchange: &Exchange) -> Option<u64> {
    let digest = exchange.asked.rows_digest?;
    let mut hasher = DefaultHasher::new();
    (exchange.fingerprint.as_deref()?, digest).hash(&mut hasher);
    Some(hasher.finish())
}

/// Which rows were written how often in the measurement, and whether clients waited for each other there.
#[derive(Debug, Default)]
pub struct RowEvidence {
    written: HashMap<u64, Written>,
    waited: bool,
}

#[derive(Debug)]
struct Written {
    times: u64,
    by: ConnectionId,
    /// When the transaction that wrote last was over.
    until: u64,
}

impl RowEvidence {
    /// Takes the next operation in the order in which they began.
    pub fn add(&mut self, plan: &OperationPlan) {
        for (place, node) in plan.nodes.iter().enumerate() {
            let Some(rows) = node.locks else { continue };
            if self.written.len() >= MOST_ROWS && !self.written.contains_key(&rows) {
                continue;
            }
            let same = |other: &&crate::plan::PlanNode| other.connection == node.connection;
            let mut on_connection = plan.nodes[place..].iter().filter(same);
            let end = on_connection.find(|other| other.ends_transaction);
            let until = end.map_or(plan.replied_at, |end| end.computed_at[1]);
            let by = plan.connections[node.connection as usize];
            let arrived = node.computed_at[1].saturating_sub(node.server_before);
            let written = self
                .written
                .entry(rows)
                .or_insert(Written { times: 0, by, until });
            self.waited |= written.by != by && arrived < written.until;
            written.times += 1;
            (written.by, written.until) = (by, until.max(written.until));
        }
    }

    /// The rows that clients would wait for. None where clients waited for each other in the measurement already: their waiting
    /// is in the server times then, and would be counted twice.
    pub fn shared(&self) -> Option<SharedRows> {
        let several = self.written.iter().filter(|(_, written)| written.times > 1);
        let shared: HashSet<u64> = several.map(|(rows, _)| *rows).collect();
        (!self.waited && !shared.is_empty()).then_some(SharedRows(shared))
    }
}

/// Who holds which rows in a run, and who waits for them.
#[derive(Debug, Default)]
pub struct Locks<'a> {
    shared: Option<&'a SharedRows>,
    held: HashMap<u64, Held>,
    /// What clients hold, and what each of them waits for.
    by_client: HashMap<u32, Vec<u64>>,
    waits_for: HashMap<u32, u64>,
}

#[derive(Debug)]
struct Held {
    by: u32,
    /// First come, first served: the client and the request that waits.
    waiting: VecDeque<(u32, u64)>,
}

impl<'a> Locks<'a> {
    /// Nothing is held.
    pub fn new(shared: Option<&'a SharedRows>) -> Self {
        Self {
            shared,
            ..Self::default()
        }
    }

    /// Whether the request `id` of `client` gets the rows now; otherwise it waits. One that would wait for itself, through others,
    /// goes on: a real server would end one of the transactions.
    pub fn acquire(&mut self, rows: u64, client: u32, id: u64) -> bool {
        if self.shared.is_none_or(|shared| !shared.0.contains(&rows)) {
            return true;
        }
        if self.held.get(&rows).is_some_and(|held| held.by == client) || self.leads_to(rows, client) {
            return true;
        }
        match self.held.get_mut(&rows) {
            Some(held) => {
                held.waiting.push_back((client, id));
                self.waits_for.insert(client, rows);
                false
            }
            None => {
                let waiting = VecDeque::new();
                self.held.insert(rows, Held { by: client, waiting });
                self.by_client.entry(client).or_default().push(rows);
                true
            }
        }
    }

    /// Whether the holder of the rows waits, through others, for `client`.
    fn leads_to(&self, rows: u64, client: u32) -> bool {
        let mut next = self.held.get(&rows);
        for _ in 0..=self.waits_for.len() {
            let Some(held) = next else { return false };
            if held.by == client {
                return true;
            }
            let awaited = self.waits_for.get(&held.by);
            next = awaited.and_then(|rows| self.held.get(rows));
        }
        // Others wait in a circle that does not reach this client.
        false
    }

    /// The transaction of the client is over: gives the requests that go on.
    pub fn release(&mut self, client: u32) -> Vec<u64> {
        let mut next = Vec::new();
        for rows in self.by_client.remove(&client).unwrap_or_default() {
            let Some(held) = self.held.get_mut(&rows) else {
                continue;
            };
            match held.waiting.pop_front() {
                Some((other, id)) => {
                    held.by = other;
                    self.waits_for.remove(&other);
                    self.by_client.entry(other).or_default().push(rows);
                    next.push(id);
                }
                None => {
                    self.held.remove(&rows);
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

/// About 30 MB.
const MOST_ROWS: usize = 500_000;

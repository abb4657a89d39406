//! Exchanges with a common cause: the children of one request, or the operation's own.

use foldhash::{HashMap, HashSet};
use model::{
    ConnectionId, Exchange, Fingerprint, Operation, OperationStep, Phase, TransactionState,
    is_unseen_fingerprint,
};
use std::time::Duration;

/// Steps of an operation with the same parent, in the order in which they begin.
#[derive(Debug)]
pub struct Family<'a> {
    operation: &'a Operation,
    /// The request for which the server made these steps; `None` for the operation's own client.
    pub parent: Option<u32>,
    pub members: Vec<u32>,
    has_several_connections: bool,
}

/// Places of two steps of a family.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pair {
    pub earlier: usize,
    pub later: usize,
}

/// Identity of a step across operations. Without a statement text it includes the connection,
/// as those of two connections may be different statements.
pub type Class = (Phase, Option<Fingerprint>, Option<ConnectionId>);

pub fn find_families(operation: &Operation) -> Vec<Family<'_>> {
    let mut families = match operation.steps.iter().any(|step| step.after_start) {
        true => families_of_calls(operation),
        false => vec![Family {
            operation,
            parent: None,
            members: (0..operation.steps.len() as u32).collect(),
            has_several_connections: false,
        }],
    };
    for family in &mut families {
        let first = family.connections().next();
        let has_others = family.connections().any(|other| Some(other) != first);
        family.has_several_connections = has_others;
    }
    families
}

fn families_of_calls(operation: &Operation) -> Vec<Family<'_>> {
    let mut parents: Vec<Option<u32>> = Vec::with_capacity(operation.steps.len());
    let mut places: HashMap<Option<u32>, usize> = HashMap::default();
    let mut families: Vec<Family<'_>> = Vec::new();
    for (index, step) in operation.steps.iter().enumerate() {
        let parent = match step.after.filter(|after| (*after as usize) < index) {
            None => None,
            Some(after) if step.after_start && !same_connection(operation, after, step) => Some(after),
            Some(after) => parents[after as usize],
        };
        parents.push(parent);
        let place = *places.entry(parent).or_insert_with(|| {
            families.push(Family {
                operation,
                parent,
                members: Vec::new(),
                has_several_connections: false,
            });
            families.len() - 1
        });
        families[place].members.push(index as u32);
    }
    families
}

fn same_connection(operation: &Operation, after: u32, step: &OperationStep) -> bool {
    let after = operation.steps.get(after as usize);
    after.is_some_and(|after| after.exchange.connection == step.exchange.connection)
}

impl<'a> Family<'a> {
    pub fn steps(&self) -> impl Iterator<Item = &'a OperationStep> + '_ {
        self.members
            .iter()
            .map(|index| &self.operation.steps[*index as usize])
    }

    pub fn step(&self, place: usize) -> &'a OperationStep {
        &self.operation.steps[self.members[place] as usize]
    }

    pub fn exchange(&self, place: usize) -> &'a Exchange {
        &self.step(place).exchange
    }

    pub fn connection(&self, place: usize) -> ConnectionId {
        self.exchange(place).connection
    }

    pub fn is_on_one_connection(&self, pair: Pair) -> bool {
        self.connection(pair.earlier) == self.connection(pair.later)
    }

    pub fn connections(&self) -> impl Iterator<Item = ConnectionId> + '_ {
        self.steps().map(|step| step.exchange.connection)
    }

    pub fn class(&self, place: usize) -> Class {
        let exchange = self.exchange(place);
        let fingerprint = exchange.fingerprint.as_deref();
        let is_unseen = exchange.phase == Phase::Work && fingerprint.is_none_or(is_unseen_fingerprint);
        let of_connection = is_unseen.then_some(exchange.connection);
        (exchange.phase, exchange.fingerprint.clone(), of_connection)
    }

    pub const fn has_several_connections(&self) -> bool {
        self.has_several_connections
    }

    /// Whether its order is examined: it has several connections, and at most [`MAX_MEMBERS`]
    /// steps.
    pub fn is_examined(&self) -> bool {
        self.has_several_connections() && self.members.len() <= MAX_MEMBERS && !self.operation.continues
    }

    pub fn is_pipelined(&self, place: usize) -> bool {
        let step = self.step(place);
        step.after_start
            && step
                .after
                .is_some_and(|after| same_connection(self.operation, after, step))
    }

    pub fn before_on_connection(&self, place: usize) -> Option<usize> {
        let connection = self.connection(place);
        (0..place).rfind(|earlier| self.connection(*earlier) == connection)
    }

    /// First and last place of each place's connection use, where visible: setup, a transaction, or
    /// everything up to the statement by which a pool takes a connection back.
    pub fn uses(&self) -> Vec<(usize, usize)> {
        let count = self.members.len();
        let mut uses: Vec<(usize, usize)> = (0..count).map(|place| (place, place)).collect();
        let returned: HashSet<ConnectionId> = (0..count)
            .filter(|place| is_return(self.exchange(*place)))
            .map(|place| self.connection(place))
            .collect();
        let mut under_way: HashMap<ConnectionId, Vec<usize>> = HashMap::default();
        for place in 0..count {
            let (exchange, connection) = (self.exchange(place), self.connection(place));
            let places = under_way.entry(connection).or_default();
            places.push(place);
            let first = places[0];
            for earlier in &*places {
                uses[*earlier] = (first, place);
            }
            let is_open = matches!(
                exchange.transaction,
                Some(TransactionState::Open | TransactionState::Failed)
            );
            let goes_on = match returned.contains(&connection) {
                true => !is_return(exchange),
                false => is_open || is_setup(exchange),
            };
            if !goes_on {
                places.clear();
            }
        }
        uses
    }

    pub fn turnarounds(&self) -> impl Iterator<Item = Duration> + '_ {
        (1..self.members.len()).filter_map(|place| {
            let (before, next) = (self.exchange(place - 1), self.exchange(place));
            let reply = before.ended();
            let follows = before.connection == next.connection && next.turns > 0 && reply <= next.at;
            follows.then(|| next.at.since(reply))
        })
    }
}

pub fn is_setup(exchange: &Exchange) -> bool {
    matches!(exchange.phase, Phase::Connect | Phase::Tls | Phase::Login)
}

/// Whether it is a statement by which a pool resets a returned connection: asyncpg's, PgBouncer's
/// and others'.
fn is_return(exchange: &Exchange) -> bool {
    let of_pool = |fingerprint: &Fingerprint| {
        let text = fingerprint.to_ascii_lowercase();
        text.starts_with("select pg_advisory_unlock_all()") || text.starts_with("discard all")
    };
    exchange.fingerprint.as_ref().is_some_and(of_pool)
}

pub const MAX_MEMBERS: usize = 256;

//! Whether a connection is one of a pool: kept open for whatever comes, so that its life is nothing that a user waits for, but its transactions are.
//!
//! Decided when the connection ends (or has to be handed out in parts), by clear evidence only:
//! 1. It held at least two transactions that it began and ended over several requests, and at least half of its exchanges are in such.
//! 2. It was open before the observation began. Or it mostly rests: at least half of its time passes between transactions, where the client asks
//!    nothing, at least two of these pauses last [`PAUSE`] or longer, and one of the transactions came more than once.
//!
//! So a connection that was opened for one page of work stays one operation, and so does a script or a job that commits in a loop.

use super::naming::Naming;
use super::span;
use model::{OperationStep, Phase, Timestamp, TransactionState};
use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

/// Pauses of this length are no program's that works on one thing.
const PAUSE: Duration = Duration::from_millis(10);

/// Transactions from which on they may be what a connection is kept for.
const LEAST_TRANSACTIONS: u64 = 2;

/// Pauses from which on it rests.
const LEAST_PAUSES: u64 = 2;

/// Whether the exchanges of a connection show that it is one of a pool.
pub(super) fn is_of_pool(members: &[OperationStep]) -> bool {
    let mut evidence = Evidence::default();
    // What waited for a decision whose it is comes late.
    let mut members: Vec<&OperationStep> = members.iter().collect();
    members.sort_by_key(|member| member.exchange.at);
    for member in members {
        evidence.take(member);
    }
    evidence.is_enough()
}

/// What was seen so far.
#[derive(Debug, Default)]
struct Evidence {
    /// It was seen from its beginning.
    is_whole: bool,
    work: u64,
    /// Exchanges in transactions that were begun and ended.
    inside: u64,
    transactions: u64,
    /// Of the transaction that is open.
    open: Option<OpenTransaction>,
    names: HashSet<Arc<str>>,
    recurs: bool,
    pauses: u64,
    /// Time between transactions in which the client asked nothing.
    rested: Duration,
    first: Option<Timestamp>,
    ended: Timestamp,
}

#[derive(Debug, Default)]
struct OpenTransaction {
    exchanges: u64,
    naming: Naming,
}

impl Evidence {
    fn take(&mut self, member: &OperationStep) {
        let exchange = &member.exchange;
        match exchange.phase {
            Phase::Connect | Phase::Tls | Phase::Login => self.is_whole = true,
            Phase::Work => self.work(member),
            Phase::Close => {}
        }
    }

    fn work(&mut self, member: &OperationStep) {
        let exchange = &member.exchange;
        let started = span::started(exchange);
        if self.first.is_none() {
            (self.first, self.ended) = (Some(started), started);
        }
        if self.open.is_none() {
            let pause = started.since(self.ended);
            self.rested += pause;
            self.pauses += u64::from(pause >= PAUSE && self.transactions > 0);
        }
        self.ended = self.ended.max(span::ended(exchange));
        self.work += 1;
        let is_open = match exchange.transaction {
            Some(TransactionState::Open | TransactionState::Failed) => true,
            Some(TransactionState::Idle) => false,
            None => self.open.is_some(),
        };
        if is_open {
            let open = self.open.get_or_insert_default();
            open.exchanges += 1;
            open.naming.offer(exchange);
        } else if let Some(open) = self.open.take() {
            self.transactions += 1;
            self.inside += open.exchanges + 1;
            if let Some(name) = open.naming.name() {
                self.recurs |= !self.names.insert(name.clone());
            }
        }
    }

    fn is_enough(&self) -> bool {
        let life = self.ended.since(self.first.unwrap_or_default());
        let rests = self.recurs && self.pauses >= LEAST_PAUSES && self.rested * 2 >= life;
        self.transactions >= LEAST_TRANSACTIONS && self.inside * 2 >= self.work && (rests || !self.is_whole)
    }
}

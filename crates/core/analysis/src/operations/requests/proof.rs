//! Proofs of a statement's request: a carried identifier, an open transaction, the only candidate.

use super::super::member::Member;
use super::{OpenRequest, Requests};
use crate::verb::Verb;
use model::{Assigned, TransactionState};

/// Knowledge of the owner; a guess only if there is one candidate.
#[derive(Debug, Clone, Copy)]
pub(super) enum Proof {
    None,
    Nobodys,
    Of(u64, Assigned),
}

impl Requests {
    pub(super) fn possible(&self, member: &Member) -> Vec<u64> {
        let exchange = &member.exchange;
        let is_tagged = exchange.tags.as_ref().is_some_and(|tags| tags.request.is_some());
        let lives = |open: &OpenRequest| {
            is_tagged
                || self
                    .lives
                    .may_be_for(exchange.connection, &member.sides, open.started)
        };
        let could = |open: &&OpenRequest| {
            self.could_cause(open, exchange.connection, member.sides, exchange.at) && lives(open)
        };
        let possible: Vec<&OpenRequest> = self.open.iter().filter(could).collect();
        let is_within = |id: u64| {
            possible
                .iter()
                .any(|open| open.outer.is_some_and(|(outer, _)| outer == id))
        };
        possible
            .iter()
            .map(|open| open.id)
            .filter(|&id| !is_within(id))
            .collect()
    }

    pub(super) fn proof(&mut self, member: &Member, possible: &[u64]) -> Proof {
        let carried = member.exchange.tags.as_ref().and_then(|tags| tags.request);
        if let Some(carried) = carried {
            let known = self.open.iter().any(|open| open.identifier.is_some());
            let same = |id: &&u64| {
                self.open
                    .iter()
                    .any(|open| open.id == **id && open.identifier == Some(carried))
            };
            let mut same = possible.iter().filter(same);
            match (same.next(), same.next()) {
                (Some(&id), None) => return Proof::Of(id, Assigned::Identifier),
                (Some(_), Some(_)) => {
                    self.repeated_identifiers += 1;
                    return Proof::None;
                }
                (None, _) if known => return Proof::Nobodys,
                (None, _) => {}
            }
        }
        if let Some(&id) = self.in_transaction.get(&member.exchange.connection) {
            return match possible.contains(&id) {
                true => Proof::Of(id, Assigned::Transaction),
                false => Proof::Nobodys,
            };
        }
        match possible {
            [] => Proof::Nobodys,
            [id] if !self.is_left_over(member, *id) => Proof::Of(*id, Assigned::Only),
            _ => Proof::None,
        }
    }

    /// Whether this may be a pool's work after the previous request: no work yet for this request
    /// on the connection.
    fn is_left_over(&self, member: &Member, id: u64) -> bool {
        let connection = member.exchange.connection;
        let is_work = member
            .exchange
            .fingerprint
            .as_deref()
            .is_some_and(|text| Verb::from_fingerprint(text) != Verb::Control);
        let begins = member.exchange.transaction == Some(TransactionState::Open);
        let worked_for = self.worked_for.get(&connection);
        !is_work && !begins && worked_for.is_some_and(|&worked_for| worked_for != id)
    }

    pub(super) fn note_transaction(&mut self, member: &Member, proof: Proof) {
        let connection = member.exchange.connection;
        match (member.exchange.transaction, proof) {
            (Some(TransactionState::Open | TransactionState::Failed), Proof::Of(id, assigned))
                if assigned.is_proof() =>
            {
                self.in_transaction.insert(connection, id);
            }
            (Some(TransactionState::Open | TransactionState::Failed), _) => {}
            _ => {
                self.in_transaction.remove(&connection);
            }
        }
    }
}

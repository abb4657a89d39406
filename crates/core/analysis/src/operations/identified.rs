//! Exchanges with the identifier of an unseen request: captures of a database alone.

use super::member::Member;
use foldhash::HashMap;
use model::{
    Assigned, ConnectionId, ConnectionMap, Phase, RequestId, StageOutput, Timestamp, TransactionState,
};
use std::time::Duration;

#[derive(Debug, Default)]
pub(super) struct Identified {
    in_transaction: ConnectionMap<RequestId>,
    /// The first exchange of a transaction, if untagged: it belongs to the request of the next one.
    beginning: ConnectionMap<Member>,
    last: HashMap<RequestId, Timestamp>,
    now: Timestamp,
    since_look: usize,
}

pub(super) type Sorted = (Member, Option<(RequestId, Assigned)>);

impl Identified {
    pub(super) fn process_member(&mut self, member: Member) -> StageOutput<Sorted> {
        let connection = member.exchange.connection;
        self.now = self.now.max(member.exchange.ended());
        let carried = member.exchange.tags.as_ref().and_then(|tags| tags.request);
        let is_open = matches!(
            member.exchange.transaction,
            Some(TransactionState::Open | TransactionState::Failed)
        );
        let inside = self.in_transaction.get(&connection).copied();
        let of = match (carried, inside) {
            (Some(request), _) => Some((request, Assigned::Identifier)),
            (None, Some(request)) => Some((request, Assigned::Transaction)),
            (None, None) => None,
        };
        match of {
            Some((request, _)) if is_open => {
                self.in_transaction.insert(connection, request);
            }
            _ => {
                self.in_transaction.remove(&connection);
            }
        }
        if let Some((request, _)) = of {
            self.last.insert(request, self.now);
        }
        if let Some(beginning) = self.beginning.remove(&connection) {
            let its = of.map(|(request, _)| (request, Assigned::Transaction));
            return vec![(beginning, its), (member, of)].into();
        }
        // Only if identifiers are in use at all.
        if of.is_none() && is_open && member.exchange.phase == Phase::Work && !self.last.is_empty() {
            self.beginning.insert(connection, member);
            return StageOutput::Stays;
        }
        StageOutput::Go((member, of))
    }

    pub(super) fn closed(&mut self, connection: ConnectionId) -> Option<Member> {
        self.in_transaction.remove(&connection);
        self.beginning.remove(&connection)
    }

    pub(super) fn finish(&mut self) -> Vec<Member> {
        let mut left: Vec<Member> = std::mem::take(&mut self.beginning).into_values().collect();
        left.sort_by_key(|member| member.exchange.at);
        left
    }

    /// Requests idle for [`IDLE`], and beyond the limit those idle longest.
    pub(super) fn over(&mut self) -> Vec<RequestId> {
        self.since_look += 1;
        if self.since_look < EXCHANGES_PER_SWEEP {
            return Vec::new();
        }
        self.since_look = 0;
        let mut all: Vec<(Timestamp, RequestId)> =
            self.last.iter().map(|(&request, &at)| (at, request)).collect();
        all.sort_unstable();
        let too_many = all.len().saturating_sub(MAX_REQUESTS);
        let is_over = |(index, (at, _)): &(usize, &(Timestamp, RequestId))| {
            *index < too_many || self.now.since(*at) > IDLE
        };
        let over: Vec<RequestId> = all
            .iter()
            .enumerate()
            .filter(is_over)
            .map(|(_, (_, request))| *request)
            .collect();
        for request in &over {
            self.last.remove(request);
        }
        over
    }
}

/// A request idle for longer is over.
const IDLE: Duration = Duration::from_secs(10);
const MAX_REQUESTS: usize = 10_000;
const EXCHANGES_PER_SWEEP: usize = 1_000;

//! Exchanges of opaque connections: their request is decided when they begin.

use super::super::grouped::GroupedSink;
use super::super::member::{Member, Sides};
use super::{OpenRequest, Requests};
use model::{Assigned, ConnectionId, Timestamp};

#[derive(Debug, Clone, Copy)]
pub(super) struct UnderWay {
    pub(super) request: u64,
    pub(super) assigned: Assigned,
    pub(super) at: Timestamp,
}

impl Requests {
    /// An opaque exchange has begun; it is reported when the next one begins.
    pub(in crate::operations) fn begun(&mut self, connection: ConnectionId, sides: Sides, at: Timestamp) {
        if let Some((position, assigned)) = self.cause(connection, sides, at) {
            let request = self.works_for(position, connection);
            let begun = UnderWay {
                request,
                assigned,
                at,
            };
            self.under_way.insert(connection, begun);
            *self.awaited.entry(request).or_default() += 1;
        }
    }

    /// The order in which workers connect best shows the owner of opaque exchanges.
    pub(in crate::operations) fn opened(&mut self, connection: ConnectionId, sides: Sides, at: Timestamp) {
        if let Some((position, _)) = self.cause(connection, sides, at) {
            self.works_for(position, connection);
        }
    }

    pub(super) fn claim_opaque(&mut self, mut member: Member) -> Option<Member> {
        let connection = member.exchange.connection;
        let Some((position, assigned)) = self.cause(connection, member.sides, member.exchange.at) else {
            return Some(self.nobodys(member));
        };
        self.works_for(position, connection);
        member.assigned = Some(assigned);
        self.assign_member(self.open[position].id, member)
    }

    /// Assigns an exchange whose request was decided at its beginning, or the handshake before it.
    pub(super) fn claim_begun(
        &mut self,
        member: Member,
        begun: UnderWay,
        out: &mut GroupedSink<'_>,
    ) -> Option<Member> {
        let ends = member.exchange.at == begun.at;
        let connection = member.exchange.connection;
        // The reply did not wait for an exchange that ended later.
        let is_late = self
            .waiting
            .iter()
            .any(|answered| answered.request.id == begun.request && member.exchange.ended() > answered.ended);
        let member = Member {
            assigned: Some(begun.assigned),
            ..member
        };
        let left = match is_late {
            true => Some(member),
            false => self.assign_member(begun.request, member),
        };
        if ends && let Some(UnderWay { request, .. }) = self.under_way.remove(&connection) {
            self.no_longer_awaited(request, out);
        }
        left
    }

    fn cause(&self, connection: ConnectionId, sides: Sides, at: Timestamp) -> Option<(usize, Assigned)> {
        let could_cause = |open: &OpenRequest| self.could_cause(open, connection, sides, at);
        let mut possible = self.open.iter().filter(|open| could_cause(open));
        let assigned = match (possible.next(), possible.next()) {
            (Some(_), None) => Assigned::Only,
            _ => Assigned::Order,
        };
        let worked_for = self.worked_for.get(&connection);
        self.open
            .iter()
            .position(|open| Some(&open.id) == worked_for && could_cause(open))
            .or_else(|| {
                self.open
                    .iter()
                    .position(|open| !open.has_connection && could_cause(open))
            })
            .or_else(|| self.open.iter().rposition(could_cause))
            .map(|position| (position, assigned))
    }

    fn works_for(&mut self, position: usize, connection: ConnectionId) -> u64 {
        let open = &mut self.open[position];
        open.has_connection = true;
        self.worked_for.insert(connection, open.id);
        open.id
    }
}

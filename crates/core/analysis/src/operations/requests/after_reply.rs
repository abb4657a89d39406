//! Statements on connections of programs that work on after their reply: they wait until the
//! connection is closed, as its owner is found from all of it.

use super::super::grouped::GroupedSink;
use super::super::member::Member;
use super::proof::Proof;
use super::{OpenRequest, Requests};
use model::Phase;

impl Requests {
    /// Whether the connection's program may work on it after its reply.
    pub(in crate::operations) fn may_go_on(&self, member: &Member) -> bool {
        member.protocol.is_database() && self.lives.may_go_on(member.exchange.connection)
    }

    pub(super) fn note_life(&mut self, member: &Member) {
        let (exchange, sides) = (&member.exchange, member.sides);
        let (connection, at) = (exchange.connection, exchange.at);
        let serves = |open: &OpenRequest| open.host == sides.client_host && open.started <= at;
        let is_serving = self.open.iter().any(serves);
        if exchange.is_handshake() {
            self.lives.opened(connection, sides, at, is_serving);
        }
        match exchange.phase {
            Phase::Close => {
                let under_way = self.open.iter().map(|open| (open.host, open.started));
                self.lives.over(connection, under_way);
            }
            Phase::Connect | Phase::Tls | Phase::Login | Phase::Work => {
                let span = (at, exchange.ended());
                self.lives.worked(connection, sides, span, is_serving);
            }
        }
    }

    pub(super) fn claim_of_program(
        &mut self,
        member: Member,
        possible: &[u64],
        proof: Proof,
        out: &mut GroupedSink<'_>,
    ) -> Vec<Member> {
        let host = member.sides.client_host;
        let waits = self.windows.get(&host).is_some_and(|window| !window.is_empty());
        if possible.is_empty() && !waits {
            return vec![self.nobodys(member)];
        }
        let owner = match proof {
            Proof::Of(id, assigned) => Some((id, assigned)),
            Proof::None | Proof::Nobodys => None,
        };
        let (is_over, now) = (member.exchange.phase == Phase::Close, member.exchange.ended());
        let mut left = self.wait(host, member, possible, owner, out);
        if is_over {
            left.extend(self.decide(host, now, false, out));
        }
        left
    }
}

//! Requests, or replies, written at the same moment share packets. Sent separately, small ones
//! would use up the congestion window.

use super::SimulatedRun;
use crate::client_node::ClientNode;
use crate::plan::{After, Crossing, PlanNode};

impl SimulatedRun<'_> {
    /// Whether the client writes another request right behind that of `id`, which just started.
    pub(super) fn request_follows(&self, id: ClientNode) -> bool {
        let what = self.node(id);
        let mut next = what.dependencies.first_dependent;
        while let Some(index) = next {
            let dependent = self.beside(id, index);
            let node = self.node(dependent);
            let is_written =
                is_moved(node) && node.bytes.request > 0 && node.measured.client_before.is_zero();
            let follows = node.dependencies.after_what == After::RequestSent;
            if follows && is_written && !self.waits_to_start(dependent) {
                return what.measured.client_inside.is_zero();
            }
            next = node.dependencies.next_dependent;
        }
        false
    }

    /// Whether the server writes another reply right behind that of `id`.
    pub(super) fn reply_follows(&self, id: ClientNode) -> bool {
        let server = &self.client(id).servers[self.node(id).connection.index()];
        let Some(&next) = server.waiting.front() else {
            return false;
        };
        let what = self.node(next);
        let is_given = what.bytes.reply > 0
            && what.measured.server_before.is_zero()
            && what.measured.unknown.is_zero()
            && !self.may_wait(what);
        is_moved(what) && is_given && !self.waits_for_others(next)
    }
}

const fn is_moved(node: &PlanNode) -> bool {
    matches!(node.crossing, Crossing::Moved)
}

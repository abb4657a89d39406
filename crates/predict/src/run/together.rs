//! Requests, or replies, written at the same moment share packets. Sent separately, small ones
//! would use up the congestion window.

use super::{ClientNode, SimulatedRun};
use crate::plan::{After, Crossing, PlanNode};

impl SimulatedRun<'_> {
    /// Whether the client writes another request right behind that of `id`, which just started.
    pub(super) fn request_follows(&self, id: ClientNode) -> bool {
        let what = self.node(id);
        let mut next = what.first_dependent;
        while let Some(index) = next {
            let dependent = self.beside(id, index);
            let node = self.node(dependent);
            let is_written = is_moved(node) && node.request_bytes > 0 && node.client_before.is_zero();
            if node.after_what == After::RequestSent && is_written && !self.waits_to_start(dependent) {
                return what.client_inside.is_zero();
            }
            next = node.next_dependent;
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
        let is_given = what.reply_bytes > 0
            && what.server_before.is_zero()
            && what.unknown.is_zero()
            && !self.may_wait(what);
        is_moved(what) && is_given && !self.waits_for_others(next)
    }
}

const fn is_moved(node: &PlanNode) -> bool {
    matches!(node.crossing, Crossing::Moved)
}

//! Which nodes may start, and which replies may be computed.

use super::{Client, SimulatedRun};
use crate::plan::{After, Crossing, NodeIndex};

impl SimulatedRun<'_> {
    pub(super) fn waits_for_others(&self, id: u64) -> bool {
        let reply_after = self.node(id).reply_after;
        let (client, node) = Self::parts(id);
        let Client { plan, times, .. } = &self.clients[client];
        let is_missing = |node: NodeIndex| times[node.index()].completed.is_none();
        reply_after.is_some_and(is_missing)
            || plan.reply_joins.joined_with(NodeIndex::new(node)).any(is_missing)
    }

    pub(super) fn let_reply(&mut self, id: u64) {
        let times = *self.times_of(id);
        match self.node(id).crossing {
            Crossing::Measured { .. } => {
                if times.arrived.is_some() && times.replied.is_none() && !self.waits_for_others(id) {
                    self.prepare_reply(id);
                }
            }
            Crossing::Handshake | Crossing::Moved => self.serve_next(id),
        }
    }

    pub(super) fn release(&mut self, id: u64, what: After) {
        let mut next = self.node(id).first_dependent;
        while let Some(index) = next {
            let dependent = self.beside(id, index);
            let node = self.node(dependent);
            if node.after_what == what && !self.waits_to_start(dependent) {
                self.start_after_computing(dependent);
            }
            next = node.next_dependent;
        }
        if what == After::Completion {
            let (client, node) = Self::parts(id);
            for waiter in self.clients[client].plan.joins.waiters(NodeIndex::new(node)) {
                let waiter = self.beside(id, waiter);
                if !self.waits_to_start(waiter) {
                    self.start_after_computing(waiter);
                }
            }
        }
    }

    pub(super) fn waits_to_start(&self, id: u64) -> bool {
        let (client, node) = Self::parts(id);
        let Client { plan, times, .. } = &self.clients[client];
        let what = &plan.nodes[node];
        let is_missing = |node: NodeIndex| times[node.index()].completed.is_none();
        let first_missing = what.after.is_some_and(|after| {
            let after = times[after.index()];
            let happened = match what.after_what {
                After::Completion => after.completed,
                After::RequestSent => after.started,
                After::RequestArrived => after.arrived,
            };
            happened.is_none()
        });
        first_missing || plan.joins.joined_with(NodeIndex::new(node)).any(is_missing)
    }

    /// Releases a reply that waits for a step which waits for that reply (only in damaged data).
    /// False if none was stuck.
    pub(super) fn release_stuck(&mut self) -> bool {
        for client in 0..self.clients.len() {
            while self.clients[client].checked < self.clients[client].times.len() {
                let node = self.clients[client].checked;
                self.clients[client].checked += 1;
                let times = self.clients[client].times[node];
                let has_reply = self.clients[client].plan.nodes[node].has_reply;
                if times.arrived.is_some() && times.replied.is_none() && has_reply {
                    let id = self.id(client as u32, NodeIndex::new(node));
                    self.server(id).waiting.retain(|waiting| *waiting != id);
                    self.locks.forget(id);
                    self.compute_reply(id);
                    self.was_stuck = true;
                    return true;
                }
            }
        }
        false
    }
}

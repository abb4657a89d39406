//! Which nodes may start, and which replies may be computed.

use super::progress::NodeState;
use super::{Client, SimulatedRun};
use crate::client_node::{ClientId, ClientNode};
use crate::plan::{After, Crossing};

impl SimulatedRun<'_> {
    /// Starts the nodes that waited for `what` of `id`.
    pub(super) fn release(&mut self, id: ClientNode, what: After) {
        let mut next = self.node(id).dependencies.first_dependent;
        while let Some(index) = next {
            let dependent = self.beside(id, index);
            let node = self.node(dependent);
            if node.dependencies.after_what == what && !self.waits_to_start(dependent) {
                self.start_after_computing(dependent);
            }
            next = node.dependencies.next_dependent;
        }
        if what == After::Completion {
            let plan = self.client(id).plan;
            for waiter in plan.joins.waiters(id.node()) {
                let waiter = self.beside(id, waiter);
                if !self.waits_to_start(waiter) {
                    self.start_after_computing(waiter);
                }
            }
        }
    }

    pub(super) fn waits_to_start(&self, id: ClientNode) -> bool {
        let Client { plan, progress, .. } = self.client(id);
        let what = self.node(id);
        let is_missing = |after| !progress.has_happened(after, what.dependencies.after_what);
        what.dependencies.after.is_some_and(is_missing)
            || plan
                .joins
                .joined_with(id.node())
                .any(|other| progress.state(other) != NodeState::Done)
    }

    /// Computes the replies that waited for `id`, which is done.
    pub(super) fn release_replies(&mut self, id: ClientNode) {
        let mut next = self.node(id).dependencies.first_reply_waiter;
        while let Some(index) = next {
            let waiter = self.beside(id, index);
            self.release_reply(waiter);
            next = self.node(waiter).dependencies.next_reply_waiter;
        }
        let plan = self.client(id).plan;
        for waiter in plan.reply_joins.waiters(id.node()) {
            self.release_reply(self.beside(id, waiter));
        }
    }

    fn release_reply(&mut self, id: ClientNode) {
        let what = self.node(id);
        match what.crossing {
            Crossing::Moved if !what.on_stream => self.serve_next(id),
            Crossing::Measured { .. } | Crossing::Moved => {
                let is_queued = self.progress(id).state(id.node()) == NodeState::Queued;
                if is_queued && !self.waits_for_others(id) {
                    self.prepare_reply(id);
                }
            }
            Crossing::Handshake => self.serve_next(id),
        }
    }

    /// Whether the reply waits for calls of its server.
    pub(super) fn waits_for_others(&self, id: ClientNode) -> bool {
        let Client { plan, progress, .. } = self.client(id);
        let is_missing = |node| progress.state(node) != NodeState::Done;
        self.node(id).dependencies.reply_after.is_some_and(is_missing)
            || plan.reply_joins.joined_with(id.node()).any(is_missing)
    }

    /// Releases a reply that waits for a step which waits for that reply (only in damaged data).
    /// False if none was stuck.
    pub(super) fn release_stuck(&mut self) -> bool {
        for client in 0..self.clients.len() {
            if let Some(node) = self.clients[client].progress.next_stuck() {
                let id = self.id(ClientId::new(client), node);
                self.server(id).waiting.retain(|waiting| *waiting != id);
                self.locks.forget(id);
                self.compute_reply(id);
                self.was_stuck = true;
                return true;
            }
        }
        false
    }
}

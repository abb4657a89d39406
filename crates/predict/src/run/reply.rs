//! A reply: computed by the server, then over the link to its client.

use super::beyond::SIMULATED_BYTES;
use super::{NodeEvent, SimulatedRun, Wake};
use crate::plan::{After, Crossing, NodeIndex};
use crate::wake_up::Waking;
use model::Direction;

impl SimulatedRun<'_> {
    /// Starts the next reply on the moved connection of `id` if the server is idle and all
    /// dependencies are met.
    pub(super) fn serve_next(&mut self, id: u64) {
        let server = self.server(id);
        let Some(&next) = server.waiting.front().filter(|_| !server.busy) else {
            return;
        };
        if self.waits_for_others(next) {
            return;
        }
        let server = self.server(id);
        server.waiting.pop_front();
        server.busy = true;
        self.prepare_reply(next);
    }

    pub(super) fn prepare_reply(&mut self, id: u64) {
        let client = Self::parts(id).0 as u32;
        let key = self.node(id).locks;
        if key.is_none_or(|key| self.locks.acquire(key, client, id)) {
            self.compute_reply(id);
        }
    }

    /// Computes the reply; an unexplained wait is kept as measured.
    pub(super) fn compute_reply(&mut self, id: u64) {
        let what = self.node(id);
        let by_kernel = what.crossing == Crossing::Handshake || what.server_before == 0;
        let waking = if by_kernel {
            Waking::default()
        } else {
            self.server_waking(id)
        };
        self.times_of(id).waking[1] = waking;
        let work = what.server_before.saturating_add(waking.expected);
        let [_, whose] = what.whose();
        if by_kernel || self.computing[self.cores_of(whose)].is_none() {
            let wait = work.saturating_add(what.unknown);
            self.network.wake_at(
                self.network.now().saturating_add(wait),
                Wake::Node(id, NodeEvent::Reply),
            );
        } else {
            self.compute(whose, work, Wake::Node(id, NodeEvent::Reply));
        }
    }

    pub(super) fn reply(&mut self, id: u64) {
        let (what, connection) = (self.node(id), self.connection(id));
        let now = self.network.now();
        self.times_of(id).replied = Some(self.now());
        self.computed(id, 1);
        if self.needs_worker(id) {
            self.next_for_worker();
        }
        if what.ends_transaction {
            self.release_locks(Self::parts(id).0 as u32);
        }
        let [_, whose] = what.whose();
        let inside = self.inside_reply(whose, what.server_inside);
        match what.crossing {
            Crossing::Measured { reply, .. } => {
                let at = now.saturating_add(reply).saturating_add(inside);
                self.network.wake_at(at, Wake::Node(id, NodeEvent::ReplyArrived));
                return;
            }
            Crossing::Handshake => {
                self.network
                    .send_handshake(connection, Direction::ServerToClient, id);
            }
            Crossing::Moved if what.reply_bytes == 0 => {
                self.network.send_empty(connection, Direction::ServerToClient, id);
            }
            Crossing::Moved if inside == 0 && self.reply_follows(id) => {
                let bytes = what.reply_bytes.min(SIMULATED_BYTES);
                self.network
                    .append(connection, Direction::ServerToClient, bytes, id);
            }
            Crossing::Moved => {
                let bytes = what.reply_bytes.min(SIMULATED_BYTES);
                let over = inside.saturating_add(what.held_back[1]);
                self.network
                    .write(connection, Direction::ServerToClient, bytes, over, id);
            }
        }
        if inside == 0 {
            self.replied(id);
        } else {
            self.compute(whose, what.server_inside, Wake::Node(id, NodeEvent::Replied));
        }
    }

    pub(super) fn replied(&mut self, id: u64) {
        self.server(id).busy = false;
        self.serve_next(id);
    }

    pub(super) fn complete(&mut self, id: u64) {
        let now = self.now();
        let times = self.times_of(id);
        if times.completed.is_some() {
            return;
        }
        times.completed = Some(now);
        self.may_give_back(id);
        let what = self.node(id);
        if what.crossing == Crossing::Handshake {
            self.network.establish(self.connection(id));
        }
        self.release(id, After::Completion);
        let mut waiter = what.first_reply_waiter;
        while let Some(next) = waiter {
            self.let_reply(self.beside(id, next));
            waiter = self.node(self.beside(id, next)).next_reply_waiter;
        }
        let (client, node) = Self::parts(id);
        for waiter in self.clients[client]
            .plan
            .reply_joins
            .waiters(NodeIndex::new(node))
        {
            self.let_reply(self.beside(id, waiter));
        }
        self.clients[client].unfinished -= 1;
        if self.clients[client].unfinished == 0 {
            self.replied_all(client as u32);
        }
    }
}

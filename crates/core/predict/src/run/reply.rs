//! A reply: computed by the server, then over the link to its client.

use super::beyond::SIMULATED_BYTES;
use super::progress::NodeState;
use super::{Client, NodeEvent, ServerState, SimulatedRun, Wake};
use crate::client_node::ClientNode;
use crate::plan::{After, Crossing};
use crate::virtual_time::VirtualTime;
use crate::wake_up::Waking;
use model::{Direction, Nanos, Side};

impl SimulatedRun<'_> {
    /// Starts the next reply on the moved connection of `id` if the server is idle and all
    /// dependencies are met.
    pub(super) fn serve_next(&mut self, id: ClientNode) {
        let server = self.server(id);
        if server.state == ServerState::Answering {
            return;
        }
        let Some(&next) = server.waiting.front() else {
            return;
        };
        if self.waits_for_others(next) {
            return;
        }
        let server = self.server(id);
        server.waiting.pop_front();
        server.state = ServerState::Answering;
        self.prepare_reply(next);
    }

    /// Computes the reply unless it waits for a lock.
    pub(super) fn prepare_reply(&mut self, id: ClientNode) {
        let key = self.node(id).locks;
        if key.is_none_or(|key| self.locks.acquire(key, id)) {
            self.compute_reply(id);
        }
    }

    /// Computes the reply; an unexplained wait is kept as measured.
    pub(super) fn compute_reply(&mut self, id: ClientNode) {
        let what = self.node(id);
        let by_kernel = what.crossing == Crossing::Handshake || what.measured.server_before.is_zero();
        let waking = if by_kernel {
            Waking::default()
        } else {
            self.server_waking(id)
        };
        let progress = self.progress(id);
        progress.mark_computing(id.node());
        progress.wake_server(id.node(), waking);
        let work = what.measured.server_before.saturating_add(waking.expected);
        let [_, whose] = what.whose();
        let reply = Wake::Node(id, NodeEvent::Reply);
        if by_kernel || self.shared_cores(whose).is_none() {
            let at = self.now().after(work.saturating_add(what.measured.unknown));
            self.network
                .wake_at(self.timer_of(id).map_or(at, |timer| at.max(timer)), reply);
        } else {
            self.compute(whose, work, reply);
        }
    }

    /// The reply of `id` leaves no sooner.
    fn timer_of(&self, id: ClientNode) -> Option<VirtualTime> {
        let Client { plan, progress, .. } = self.client(id);
        let timer = plan.timer.filter(|_| plan.request == Some(id.node()))?;
        Some(progress.times()[id.node().index()].arrived?.after(timer))
    }

    pub(super) fn reply(&mut self, id: ClientNode) {
        let (what, now) = (self.node(id), self.now());
        self.progress(id).mark_answered(id.node(), now);
        self.mark_computed(id, Side::Server);
        self.free_worker(id);
        if what.ends_transaction {
            self.release_locks(id.client());
        }
        let [_, whose] = what.whose();
        let inside = self.inside_reply(whose, what.measured.server_inside);
        if let Crossing::Measured { reply, .. } = what.crossing {
            let at = now.after(reply).after(inside);
            self.network.wake_at(at, Wake::Node(id, NodeEvent::ReplyArrived));
            return;
        }
        self.send_reply(id, inside);
        if inside.is_zero() {
            self.replied(id);
        } else {
            self.compute(
                whose,
                what.measured.server_inside,
                Wake::Node(id, NodeEvent::Replied),
            );
        }
    }

    /// Sends the reply of a moved connection, spread over the time `inside`.
    fn send_reply(&mut self, id: ClientNode, inside: Nanos) {
        let (what, connection) = (self.node(id), self.connection(id));
        let (direction, waiter) = (Direction::ServerToClient, id.waiter());
        let bytes = what.bytes.reply.min(SIMULATED_BYTES);
        if what.crossing == Crossing::Handshake {
            self.network.send_handshake(connection, direction, waiter);
        } else if what.bytes.reply == 0 {
            self.network.send_empty(connection, direction, waiter);
        } else if inside.is_zero() && self.reply_follows(id) {
            self.network.append(connection, direction, bytes, waiter);
        } else {
            let span = inside.saturating_add(what.measured.held_back[1]);
            self.network.write(connection, direction, bytes, span, waiter);
        }
    }

    pub(super) fn replied(&mut self, id: ClientNode) {
        if self.node(id).on_stream {
            return;
        }
        self.server(id).state = ServerState::Idle;
        self.serve_next(id);
    }

    pub(super) fn complete(&mut self, id: ClientNode) {
        let now = self.now();
        let progress = self.progress(id);
        if progress.state(id.node()) == NodeState::Done {
            return;
        }
        progress.mark_done(id.node(), now);
        self.may_give_back(id);
        if self.node(id).crossing == Crossing::Handshake {
            self.network.establish(self.connection(id));
        }
        self.release_completed(id);
    }

    pub(super) fn skip(&mut self, id: ClientNode) {
        let now = self.now();
        let progress = self.progress(id);
        progress.mark_sent(id.node(), now);
        progress.mark_arrived(id.node(), now);
        progress.mark_done(id.node(), now);
        self.release(id, After::RequestSent);
        self.release(id, After::RequestArrived);
        self.release_completed(id);
    }

    fn release_completed(&mut self, id: ClientNode) {
        self.release(id, After::Completion);
        self.release_replies(id);
        if self.progress(id).is_done() {
            self.replied_all(id.client());
        }
    }
}

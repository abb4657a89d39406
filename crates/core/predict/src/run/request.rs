//! A request: from its client, over the link, to the server.

use super::beyond::{SIMULATED_BYTES, beyond_simulated};
use super::{NodeEvent, SimulatedRun, Wake};
use crate::client_node::{ClientNode, NOBODY};
use crate::plan::{After, Crossing};
use model::{Direction, Side};

impl SimulatedRun<'_> {
    pub(super) fn start(&mut self, id: ClientNode) {
        if !self.takes_connection(id) {
            return;
        }
        let now = self.now();
        self.progress(id).mark_sent(id.node(), now);
        self.mark_computed(id, Side::Client);
        self.send_request(id);
        self.release(id, After::RequestSent);
        let what = self.node(id);
        if !what.has_reply {
            self.network.wake_at(
                now.after(what.measured.client_inside),
                Wake::Node(id, NodeEvent::ReplyArrived),
            );
        }
    }

    fn send_request(&mut self, id: ClientNode) {
        let (what, connection) = (self.node(id), self.connection(id));
        let direction = Direction::ClientToServer;
        let waiter = if what.arrival_matters() {
            id.waiter()
        } else {
            NOBODY
        };
        let bytes = what.bytes.request.min(SIMULATED_BYTES);
        match what.crossing {
            Crossing::Handshake => {
                self.network.open(connection);
                self.network.send_handshake(connection, direction, waiter);
            }
            Crossing::Moved if what.bytes.request == 0 => {
                self.network.wait_for_establishment(connection, waiter);
            }
            Crossing::Moved if self.request_follows(id) => {
                self.network.append(connection, direction, bytes, waiter);
            }
            Crossing::Moved => {
                let span = what
                    .measured
                    .client_inside
                    .saturating_add(what.measured.held_back[0]);
                self.network.write(connection, direction, bytes, span, waiter);
            }
            Crossing::Measured { request, .. } if what.arrival_matters() => {
                let at = self.now().after(request).after(what.measured.client_inside);
                self.network
                    .wake_at(at, Wake::Node(id, NodeEvent::RequestArrived));
            }
            Crossing::Measured { .. } => {}
        }
    }

    /// Handles arrival of all simulated bytes: of the request, if it had not arrived yet, else of
    /// the reply.
    pub(super) fn arrived(&mut self, id: ClientNode) {
        let what = self.node(id);
        let (bytes, direction, event) = if self.has_happened(id, After::RequestArrived) {
            (
                what.bytes.reply,
                Direction::ServerToClient,
                NodeEvent::ReplyArrived,
            )
        } else {
            (
                what.bytes.request,
                Direction::ClientToServer,
                NodeEvent::RequestArrived,
            )
        };
        let rest = beyond_simulated(self.link_of(id), direction, bytes);
        if rest.is_zero() {
            self.go_on(id, event);
        } else {
            self.network
                .wake_at(self.now().after(rest), Wake::Node(id, event));
        }
    }

    pub(super) fn request_arrived(&mut self, id: ClientNode) {
        let (now, has_reply) = (self.now(), self.node(id).has_reply);
        let progress = self.progress(id);
        progress.mark_arrived(id.node(), now);
        if has_reply {
            progress.mark_queued(id.node());
        }
        if self.has_worker(id) {
            self.work_on(id);
        }
    }

    /// The server works on the request.
    pub(super) fn work_on(&mut self, id: ClientNode) {
        self.release(id, After::RequestArrived);
        let what = self.node(id);
        if !what.has_reply {
            return;
        }
        match what.crossing {
            Crossing::Measured { .. } if self.waits_for_others(id) => {}
            Crossing::Measured { .. } => self.prepare_reply(id),
            Crossing::Moved if what.on_stream && self.waits_for_others(id) => {}
            Crossing::Moved if what.on_stream => self.prepare_reply(id),
            Crossing::Handshake | Crossing::Moved => {
                self.server(id).waiting.push_back(id);
                self.serve_next(id);
            }
        }
    }
}

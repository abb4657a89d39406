//! A request: from its client, over the link, to a worker of the server.

use super::beyond::{SIMULATED_BYTES, beyond_simulated};
use super::{NOBODY, NodeEvent, SimulatedRun, Wake};
use crate::plan::{After, Crossing, NodeIndex};
use model::Direction;

impl SimulatedRun<'_> {
    pub(super) fn start(&mut self, id: u64) {
        if !self.takes_connection(id) {
            return;
        }
        let now = self.network.now();
        self.times_of(id).started = Some(self.now());
        self.computed(id, 0);
        let (what, connection) = (self.node(id), self.connection(id));
        let waiter = if what.arrival_matters() { id } else { NOBODY };
        match what.crossing {
            Crossing::Handshake => {
                self.network.open(connection);
                self.network
                    .send_handshake(connection, Direction::ClientToServer, waiter);
            }
            Crossing::Moved if what.request_bytes == 0 => {
                self.network.wait_for_establishment(connection, waiter);
            }
            Crossing::Moved if self.request_follows(id) => {
                let bytes = what.request_bytes.min(SIMULATED_BYTES);
                self.network
                    .append(connection, Direction::ClientToServer, bytes, waiter);
            }
            Crossing::Moved => {
                let bytes = what.request_bytes.min(SIMULATED_BYTES);
                self.network.write(
                    connection,
                    Direction::ClientToServer,
                    bytes,
                    what.client_inside.saturating_add(what.held_back[0]),
                    waiter,
                );
            }
            Crossing::Measured { request, .. } if what.arrival_matters() => {
                let at = now.saturating_add(request).saturating_add(what.client_inside);
                self.network
                    .wake_at(at, Wake::Node(id, NodeEvent::RequestArrived));
            }
            Crossing::Measured { .. } => {}
        }
        self.release(id, After::RequestSent);
        if !what.has_reply {
            let sent = now.saturating_add(what.client_inside);
            self.network
                .wake_at(sent, Wake::Node(id, NodeEvent::ReplyArrived));
        }
    }

    /// Handles arrival of all simulated bytes: of the request, if it had not arrived yet, else of
    /// the reply.
    pub(super) fn arrived(&mut self, id: u64) {
        let what = self.node(id);
        let request = self.times_of(id).arrived.is_none();
        let (bytes, direction, wake) = if request {
            (
                what.request_bytes,
                Direction::ClientToServer,
                Wake::Node(id, NodeEvent::RequestArrived),
            )
        } else {
            (
                what.reply_bytes,
                Direction::ServerToClient,
                Wake::Node(id, NodeEvent::ReplyArrived),
            )
        };
        match beyond_simulated(self.link_of(id), direction, bytes) {
            0 if request => self.request_arrived(id),
            0 => self.complete(id),
            rest => self
                .network
                .wake_at(self.network.now().saturating_add(rest), wake),
        }
    }

    pub(super) fn request_arrived(&mut self, id: u64) {
        self.times_of(id).arrived = Some(self.now());
        if self.needs_worker(id)
            && let Some((free, waiting)) = &mut self.workers
        {
            if *free == 0 {
                waiting.push_back(id);
                return;
            }
            *free -= 1;
        }
        self.work_on(id);
    }

    pub(super) fn needs_worker(&self, id: u64) -> bool {
        let (client, node) = Self::parts(id);
        self.workers.is_some() && self.clients[client].plan.request == Some(NodeIndex::new(node))
    }

    pub(super) fn next_for_worker(&mut self) {
        let Some((free, waiting)) = &mut self.workers else {
            return;
        };
        match waiting.pop_front() {
            Some(next) => self.work_on(next),
            None => *free += 1,
        }
    }

    pub(super) fn work_on(&mut self, id: u64) {
        self.release(id, After::RequestArrived);
        let what = self.node(id);
        if !what.has_reply {
            return;
        }
        match what.crossing {
            Crossing::Measured { .. } if self.waits_for_others(id) => {}
            Crossing::Measured { .. } => self.prepare_reply(id),
            Crossing::Handshake | Crossing::Moved => {
                self.server(id).waiting.push_back(id);
                self.serve_next(id);
            }
        }
    }
}

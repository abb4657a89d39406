//! A ring of kernel receives and sends for threads with many persistent connections.

use super::super::connection::Connection;
use super::super::machine::{Afterwards, Kind, Machine};
use super::super::slot::State;
use super::Driver;
use std::os::fd::AsFd;
use std::time::Duration;
use sys::completions::{Completion, Completions, MAX_BYTES};
use sys::poller::{Poller, ReadyList};
use sys::socket::Received;

/// A ring for a thread of `clients`, if it pays and the kernel supports it.
pub(super) fn completions(clients: usize, poller: &Poller) -> Option<Completions> {
    const { assert!(MAX_BYTES <= super::BUFFER) }
    (clients >= MANY).then(|| Completions::new(clients, poller))?
}

/// From this number of clients on, a ring takes less processor time than polling (see
/// `measurements/`).
const MANY: usize = 16;

impl<K: Kind> Driver<'_, '_, K> {
    /// Moves a client to the ring, if its connection is persistent and unobserved.
    pub(super) fn complete_by_ring(&mut self, index: usize) {
        let slot = &self.slots[index];
        let Some(completions) = self.completions.as_mut().filter(|all| !all.has(index)) else {
            return;
        };
        if slot.state != State::Connecting
            && slot.machine.afterwards() == Afterwards::Kept
            && let Some(socket) = slot.connection.as_ref().and_then(Connection::bare_socket)
        {
            self.poller.forget(socket.as_fd());
            completions.adopt(index, socket);
        }
    }

    pub(super) fn wait_for_completions(&mut self, longest: Duration, ready: &mut ReadyList) {
        if let Some(completions) = &mut self.completions {
            completions.wait(longest);
        }
        while let Some(completions) = &mut self.completions
            && let Some(completion) = completions.next_completion(&mut self.buffer)
        {
            match completion {
                Completion::Poller => self.poll(Duration::ZERO, ready),
                Completion::Socket(index, Received::Bytes { count, .. }) => self.came(index, count),
                Completion::Socket(index, Received::End) => self.ended(index),
                Completion::Socket(index, Received::Broken(reason)) => self.broke(index, reason),
                Completion::Socket(_, Received::Nothing) => {}
            }
        }
    }
}

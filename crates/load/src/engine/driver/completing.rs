//! Connections that last, of a thread with many clients: a ring of the kernel's receives and sends for all of
//! them at once.

use super::super::connection::Connection;
use super::super::machine::{Afterwards, Kind, Machine};
use super::super::slot::State;
use super::Driver;
use std::os::fd::AsFd;
use std::time::Duration;
use sys::completions::{Completion, Completions, MAX_BYTES};
use sys::poller::{Poller, ReadyList};
use sys::socket::Received;

/// A ring for a thread of `clients`, where it pays and the kernel has one.
pub(super) fn completions(clients: usize, poller: &Poller) -> Option<Completions> {
    const { assert!(MAX_BYTES <= super::BUFFER) }
    (clients >= MANY).then(|| Completions::new(clients, poller))?
}

/// Clients of a thread from which on a ring takes less of the processor than polling does: see
/// `measurements/`.
const MANY: usize = 16;

impl<K: Kind> Driver<'_, '_, K> {
    /// From now on the ring receives and sends for the client, if its connection lasts and nobody looks at
    /// its bytes.
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

    /// Waits for the ring, which waits for the poller too, and deals with what has come.
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

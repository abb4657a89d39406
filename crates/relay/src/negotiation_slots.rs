//! How many clients agree on TLS at once: each takes a thread and a connection to the server until it is
//! done.
//!
//! A client that comes when there is no room pushes out the one that has taken longest of the place with the
//! most, so that clients that say nothing do not keep others out.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Shutdown, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use sys::eviction;
use sys::socket::Socket;

/// Those in progress.
#[derive(Debug, Default)]
pub(super) struct NegotiationSlots {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// By number, in the order in which they began; those that were pushed out are no longer in it.
    clients: BTreeMap<u64, (TcpStream, IpAddr)>,
    next: u64,
    /// Threads, of those pushed out too.
    threads: usize,
}

/// One of them, for as long as it is kept.
#[derive(Debug)]
pub(super) struct NegotiationSlot {
    talks: Arc<NegotiationSlots>,
    number: u64,
}

impl NegotiationSlots {
    /// Room for another one; `None` if not even those that were pushed out have gone.
    pub(super) fn begin(self: &Arc<Self>, client: &Socket) -> Option<NegotiationSlot> {
        let own = client.stream().try_clone().ok()?;
        let address = client
            .peer()
            .map_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED), |peer| peer.ip());
        let mut state = self.lock();
        if state.threads >= 2 * MAX_NEGOTIATIONS {
            return None;
        }
        if state.clients.len() >= MAX_NEGOTIATIONS {
            let clients = state.clients.iter();
            let oldest = eviction::oldest_of_most(clients.map(|(number, (_, address))| (*number, *address)));
            if let Some((client, _)) = oldest.and_then(|number| state.clients.remove(&number)) {
                // Its thread reads the end, and goes.
                let _ = client.shutdown(Shutdown::Both);
            }
        }
        let number = state.next;
        state.next += 1;
        state.threads += 1;
        state.clients.insert(number, (own, address));
        Some(NegotiationSlot {
            talks: Arc::clone(self),
            number,
        })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for NegotiationSlot {
    fn drop(&mut self) {
        let mut state = self.talks.lock();
        state.threads -= 1;
        state.clients.remove(&self.number);
    }
}

/// Clients that agree on TLS at once.
const MAX_NEGOTIATIONS: usize = 64;

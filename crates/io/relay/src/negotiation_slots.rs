//! Limits concurrent TLS negotiations, since each takes a thread and a connection to the server. If
//! full, a new client evicts the oldest negotiation of the address with the most, so that silent
//! clients do not block others.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Shutdown, TcpStream};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use sys::eviction;
use sys::socket::Socket;

#[derive(Debug, Default)]
pub(super) struct NegotiationSlots {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// In order of their start, without those evicted.
    clients: BTreeMap<u64, (TcpStream, IpAddr)>,
    next: u64,
    /// Includes threads of evicted clients.
    threads: usize,
}

#[derive(Debug)]
pub(super) struct NegotiationSlot {
    talks: Arc<NegotiationSlots>,
    number: u64,
}

impl NegotiationSlots {
    /// `None` if even evicted threads have not ended.
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
                // Its thread reads the end and exits.
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

const MAX_NEGOTIATIONS: usize = 64;

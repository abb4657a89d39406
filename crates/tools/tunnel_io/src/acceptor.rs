//! The far end's acceptor: listens, admits authenticated peers and refuses others.
//!
//! One thread serves all connections in the handshake. Each has a deadline that slow senders cannot
//! extend. Their number is bounded: a new connection evicts the oldest one of the place (an
//! address, or an IPv6 /64) with the most, so that one place cannot keep others out.

mod journal;

use super::handshake::{PendingHandshake, ServerHandshake};
use super::keys::TunnelSecurity;
use super::peer_fault::PeerFault;
use sys::error::{LiveError, OsError};
use sys::eviction;
use sys::listening::{ClientSide, ListeningService};
use sys::poller::{Poller, ReadyList, Waker};
use sys::{listening, threads};

use journal::Journal;
use std::collections::BTreeMap;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use sys::signals::block_all_signals;
use sys::socket::Socket;
use sys::transport::Transport;

#[derive(Debug)]
pub(crate) enum AdmissionEvent {
    Admitted(Admitted),
    Refused {
        peer: SocketAddr,
        fault: PeerFault,
    },
    /// Further peers were refused, too many for single reports.
    RefusedMore {
        count: u64,
        within: Duration,
    },
}

#[derive(Debug)]
pub(crate) struct Admitted {
    pub(crate) transport: Transport,
    pub(crate) peer: SocketAddr,
    /// Keep it as long as the lane is up.
    pub(crate) permit: LanePermit,
}

/// A permit for one lane, released on drop.
#[derive(Debug)]
pub(crate) struct LanePermit(Arc<AtomicUsize>);

#[derive(Debug, Clone, Copy)]
pub(crate) struct AdmissionLimits {
    /// Maximum connections in the handshake.
    pub(crate) pending_handshakes: usize,
    pub(crate) lanes: usize,
    /// Limit from accept to the end of the handshake.
    pub(crate) handshake: Duration,
}

impl Default for AdmissionLimits {
    fn default() -> Self {
        Self {
            pending_handshakes: 64,
            lanes: 64,
            handshake: Duration::from_secs(5),
        }
    }
}

#[derive(Debug)]
pub(crate) struct Acceptor {
    addresses: Vec<SocketAddr>,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    waker: Waker,
    over: AtomicBool,
    refused: AtomicU64,
    lanes: Arc<AtomicUsize>,
}

type Tell = Box<dyn FnMut(AdmissionEvent) + Send>;

impl Acceptor {
    /// Listens at all of `listen`; `tell` runs in the acceptor's thread.
    ///
    /// # Errors
    /// Fails if an address cannot be bound, or the system refuses a thread.
    pub(crate) fn open(
        listen: &[SocketAddr],
        security: &TunnelSecurity,
        limits: AdmissionLimits,
        tell: Tell,
    ) -> Result<Self, LiveError> {
        let server_handshake = ServerHandshake::new(security).map_err(|_| LiveError::System {
            operation: "set up TLS with this key",
            reason: OsError(libc::EINVAL),
        })?;
        let service = ListeningService {
            name: "the far end of the tunnel",
            exposes: "connect to the database behind it",
            clients: match security {
                TunnelSecurity::None => ClientSide::AsClientsLike,
                TunnelSecurity::Keys { .. } | TunnelSecurity::Shared(_) => ClientSide::Keys,
            },
        };
        let (listeners, addresses): (Vec<_>, Vec<_>) = listen
            .iter()
            .map(|address| listening::listen(*address, &service))
            .collect::<Result<Vec<_>, _>>()?
            .into_iter()
            .unzip();
        let shared = Arc::new(Shared {
            waker: Waker::new()?,
            over: AtomicBool::new(false),
            refused: AtomicU64::new(0),
            lanes: Arc::default(),
        });
        let mut door = GreetingPoll {
            poller: Poller::new()?,
            listeners,
            server_handshake,
            limits,
            shared: Arc::clone(&shared),
            pending_handshakes: BTreeMap::new(),
            next: 0,
            journal: Journal::new(tell),
        };
        door.watch_listeners()?;
        let thread = threads::spawn("tunnel-gate".to_owned(), move || {
            block_all_signals();
            door.serve();
        })?;
        Ok(Self {
            addresses,
            shared,
            thread: Some(thread),
        })
    }

    pub(crate) fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    pub(crate) fn refused(&self) -> u64 {
        self.shared.refused.load(Ordering::Relaxed)
    }
}

impl Drop for Acceptor {
    fn drop(&mut self) {
        self.shared.over.store(true, Ordering::Relaxed);
        self.shared.waker.wake();
        if let Some(thread) = self.thread.take() {
            thread.join().ok();
        }
    }
}

impl Drop for LanePermit {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

struct GreetingPoll {
    poller: Poller,
    listeners: Vec<TcpListener>,
    server_handshake: ServerHandshake,
    limits: AdmissionLimits,
    shared: Arc<Shared>,
    /// By number, in order of arrival.
    pending_handshakes: BTreeMap<u64, PendingPeer>,
    next: u64,
    journal: Journal,
}

enum Accepted {
    /// No connection is waiting.
    All,
    /// The maximum per round.
    Some,
    /// The system accepts no more for now.
    Refused,
}

struct PendingPeer {
    pending: PendingHandshake,
    peer: SocketAddr,
    until: Instant,
}

impl GreetingPoll {
    fn watch_listeners(&self) -> Result<(), LiveError> {
        self.poller.register_waker(&self.shared.waker, BELL)?;
        for (number, listener) in self.listeners.iter().enumerate() {
            self.poller.watch(listener.as_fd(), LISTENERS + number as u64)?;
        }
        Ok(())
    }

    fn serve(&mut self) {
        let mut ready = ReadyList::default();
        let mut again = None;
        while !self.shared.over.load(Ordering::Relaxed) {
            let now = Instant::now();
            self.send_the_slow_away(now);
            self.journal.catch_up(now);
            let longest = again.into_iter().chain(self.next_wake(now)).min();
            self.poller.wait(&mut ready, longest);
            if again.is_some() || ready.iter().any(|one| one.token >= LISTENERS) {
                again = self.accept();
            }
            for one in ready.iter().filter(|one| one.token < BELL) {
                self.attend(one.token);
            }
        }
        self.journal.close(Instant::now());
    }

    /// Time until the next deadline or journal report.
    fn next_wake(&self, now: Instant) -> Option<Duration> {
        let slowest = self
            .pending_handshakes
            .values()
            .next()
            .map(|pending_peer| pending_peer.until);
        let next = slowest.into_iter().chain(self.journal.next_wake()).min()?;
        Some(next.saturating_duration_since(now))
    }

    /// Accepts waiting connections, at most as many as fit before serving them. Returns when to
    /// continue if some may be left.
    fn accept(&mut self) -> Option<Duration> {
        let mut again = None;
        for index in 0..self.listeners.len() {
            match self.accept_at(index) {
                Accepted::All => {}
                Accepted::Some => again = Some(Duration::ZERO),
                Accepted::Refused => return Some(PAUSE),
            }
        }
        again
    }

    fn accept_at(&mut self, index: usize) -> Accepted {
        for _ in 0..self.limits.pending_handshakes {
            let Some(listener) = self.listeners.get(index) else {
                return Accepted::All;
            };
            match listener.accept() {
                Ok((stream, peer)) => self.receive(stream, peer),
                Err(error) => match OsError::from_io_error(&error) {
                    OsError(libc::EAGAIN) => return Accepted::All,
                    OsError(libc::EINTR | libc::ECONNABORTED | libc::EPROTO) => {}
                    // No descriptors: connections wait in the kernel's queue.
                    _ => return Accepted::Refused,
                },
            }
        }
        Accepted::Some
    }

    fn receive(&mut self, stream: TcpStream, peer: SocketAddr) {
        let now = Instant::now();
        if self.pending_handshakes.len() >= self.limits.pending_handshakes {
            self.make_room(now);
        }
        let answered = Socket::adopt(stream)
            .map_err(|_| PeerFault::Left)
            .and_then(|socket| self.server_handshake.answer(socket));
        let pending = match answered {
            Ok(pending) => pending,
            Err(fault) => return self.refuse(peer, fault, now),
        };
        let number = self.next;
        self.next += 1;
        if self.poller.watch(pending.socket().as_fd(), number).is_err() {
            return self.refuse(peer, PeerFault::Left, now);
        }
        let until = now + self.limits.handshake;
        self.pending_handshakes
            .insert(number, PendingPeer { pending, peer, until });
    }

    /// Closes the oldest connection of the place with the most.
    fn make_room(&mut self, now: Instant) {
        let pending_handshakes = self.pending_handshakes.iter();
        let oldest = eviction::oldest_of_most(
            pending_handshakes.map(|(number, pending_peer)| (*number, pending_peer.peer.ip())),
        );
        if let Some(pending_peer) = oldest.and_then(|number| self.pending_handshakes.remove(&number)) {
            let most = self.limits.pending_handshakes;
            self.refuse(pending_peer.peer, PeerFault::Crowded { most }, now);
        }
    }

    fn send_the_slow_away(&mut self, now: Instant) {
        // Numbers ascend with time, and all have the same limit.
        while let Some(entry) = self
            .pending_handshakes
            .first_entry()
            .filter(|entry| entry.get().until <= now)
        {
            let peer = entry.remove().peer;
            let after = self.limits.handshake;
            self.refuse(peer, PeerFault::TooSlow { after }, now);
        }
    }

    /// Continues the handshake of a connection with new bytes.
    fn attend(&mut self, number: u64) {
        let Some(pending_peer) = self.pending_handshakes.get_mut(&number) else {
            return;
        };
        let done = self.server_handshake.go_on(&mut pending_peer.pending);
        if done == Ok(false) {
            return;
        }
        let Some(pending_peer) = self.pending_handshakes.remove(&number) else {
            return;
        };
        let PendingPeer { pending, peer, .. } = pending_peer;
        let admitted = done.and_then(|_| self.admit(pending, peer));
        if let Err(fault) = admitted {
            self.refuse(peer, fault, Instant::now());
        }
    }

    fn admit(&mut self, pending: PendingHandshake, peer: SocketAddr) -> Result<(), PeerFault> {
        let most = self.limits.lanes;
        let lanes = &self.shared.lanes;
        // Only this thread adds.
        if lanes.load(Ordering::Relaxed) >= most {
            pending.turn_away();
            return Err(PeerFault::NoMoreLanes { most });
        }
        lanes.fetch_add(1, Ordering::Relaxed);
        let permit = LanePermit(Arc::clone(lanes));
        // Further bytes belong to the lane.
        self.poller.forget(pending.socket().as_fd());
        let transport = pending.welcome()?;
        self.journal.record_event(AdmissionEvent::Admitted(Admitted {
            transport,
            peer,
            permit,
        }));
        Ok(())
    }

    fn refuse(&mut self, peer: SocketAddr, fault: PeerFault, now: Instant) {
        self.shared.refused.fetch_add(1, Ordering::Relaxed);
        self.journal.refused(peer, fault, now);
    }
}

const BELL: u64 = 1 << 62;
const LISTENERS: u64 = BELL + 1;
const PAUSE: Duration = Duration::from_millis(20);

#[cfg(test)]
mod tests;

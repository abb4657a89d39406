//! The listener's own thread handles all connections that have not greeted yet.
//!
//! Each has a deadline, and their number is bounded. A new connection may evict the oldest one of
//! the address with the most.

use super::greeting::{Answer, Hello, LENGTH, NoGreeting, Verdict};
use super::{EchoError, GREETING};
use std::collections::BTreeMap;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};
use sys::StopToken;
use sys::eviction;
use sys::poller::{Poller, ReadyList};

pub(super) struct GreetingPoll<'a> {
    listener: &'a TcpListener,
    poller: Poller,
    ready: ReadyList,
    /// By number, in order of arrival.
    pending_peers: BTreeMap<u64, PendingPeer>,
    next: u64,
    /// More connections may wait, or descriptors were exhausted.
    accept_at: Option<Instant>,
}

struct PendingPeer {
    socket: TcpStream,
    peer: SocketAddr,
    said: [u8; LENGTH],
    count: usize,
    until: Instant,
}

enum Came {
    Part,
    Whole,
    Broken,
}

impl<'a> GreetingPoll<'a> {
    pub(super) fn open(listener: &'a TcpListener, stops: [&StopToken; 2]) -> Result<Self, EchoError> {
        let poller = Poller::new()?;
        poller.watch(listener.as_fd(), LISTENER)?;
        for stop in stops {
            stop.wake_poller(&poller, STOP)?;
        }
        Ok(Self {
            listener,
            poller,
            ready: ReadyList::default(),
            pending_peers: BTreeMap::new(),
            next: 0,
            accept_at: None,
        })
    }

    /// Waits for a connection, its greeting, or a stop, until `deadline`. Connections accepted by
    /// `judge` go to `welcome`, still in non-blocking mode.
    pub(super) fn attend(
        &mut self,
        deadline: Instant,
        judge: &mut dyn FnMut(&Hello) -> Answer,
        welcome: &mut dyn FnMut(TcpStream, Hello),
    ) {
        let greeting = self
            .pending_peers
            .first_key_value()
            .map(|(_, oldest)| oldest.until);
        let due = greeting
            .into_iter()
            .chain(self.accept_at)
            .fold(deadline, Instant::min);
        let longest = due.saturating_duration_since(Instant::now());
        self.poller.wait(&mut self.ready, Some(longest));
        let came: Vec<u64> = self.ready.iter().map(|event| event.token).collect();
        for number in came.into_iter().filter(|number| *number != LISTENER) {
            self.hear(number, judge, welcome);
        }
        self.accept();
        let now = Instant::now();
        // All have the same limit, so the oldest reach it first.
        while self
            .pending_peers
            .first_entry()
            .is_some_and(|first| first.get().until <= now)
        {
            self.pending_peers.pop_first();
        }
    }

    fn accept(&mut self) {
        for _ in 0..MAX_PENDING_PEERS {
            match self.listener.accept() {
                Ok((socket, peer)) => self.receive(socket, peer),
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    self.accept_at = None;
                    return;
                }
                // A connection broke while it waited.
                Err(error)
                    if matches!(
                        error.kind(),
                        ErrorKind::Interrupted | ErrorKind::ConnectionAborted
                    ) => {}
                Err(_) => {
                    self.accept_at = Some(Instant::now() + DESCRIPTOR_PAUSE);
                    return;
                }
            }
        }
        self.accept_at = Some(Instant::now());
    }

    fn receive(&mut self, socket: TcpStream, peer: SocketAddr) {
        if socket.set_nonblocking(true).is_err() || socket.set_nodelay(true).is_err() {
            return;
        }
        if self.pending_peers.len() >= MAX_PENDING_PEERS {
            let pending_peers = self.pending_peers.iter();
            let oldest =
                eviction::oldest_of_most(pending_peers.map(|(number, one)| (*number, one.peer.ip())));
            oldest.and_then(|number| self.pending_peers.remove(&number));
        }
        let number = self.next;
        self.next += 1;
        if self.poller.watch(socket.as_fd(), number).is_ok() {
            let pending_peer = PendingPeer {
                socket,
                peer,
                said: [0; LENGTH],
                count: 0,
                until: Instant::now() + GREETING,
            };
            self.pending_peers.insert(number, pending_peer);
        }
    }

    fn hear(
        &mut self,
        number: u64,
        judge: &mut dyn FnMut(&Hello) -> Answer,
        welcome: &mut dyn FnMut(TcpStream, Hello),
    ) {
        let Some(pending_peer) = self.pending_peers.get_mut(&number) else {
            return;
        };
        let came = pending_peer.hear();
        if matches!(came, Came::Part) {
            return;
        }
        let Some(pending_peer) = self.pending_peers.remove(&number) else {
            return;
        };
        if matches!(came, Came::Broken) {
            return;
        }
        let hello = Hello::decode(&pending_peer.said);
        let answer = match &hello {
            Err(NoGreeting::Foreign) => return,
            Err(NoGreeting::Version(_)) => Answer::new(Verdict::OtherVersion),
            Err(NoGreeting::Unknown) => Answer::new(Verdict::Purpose),
            Ok(hello) => judge(hello),
        };
        self.poller.forget(pending_peer.socket.as_fd());
        // 32 bytes on a connection that has carried none: the kernel accepts them, or it is broken.
        let told = (&pending_peer.socket).write_all(&answer.encode()).is_ok();
        if let Ok(hello) = hello
            && told
            && answer.verdict == Verdict::Accepted
        {
            welcome(pending_peer.socket, hello);
        }
    }
}

impl PendingPeer {
    /// Reads no bytes after the greeting.
    fn hear(&mut self) -> Came {
        loop {
            let room = self.said.get_mut(self.count..).unwrap_or_default();
            if room.is_empty() {
                return Came::Whole;
            }
            match (&self.socket).read(room) {
                Ok(0) => return Came::Broken,
                Ok(count) => self.count += count,
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Came::Part,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(_) => return Came::Broken,
            }
        }
    }
}

const MAX_PENDING_PEERS: usize = 256;
/// Until descriptors may be free again.
const DESCRIPTOR_PAUSE: Duration = Duration::from_millis(100);
const LISTENER: u64 = u64::MAX;
const STOP: u64 = u64::MAX - 1;

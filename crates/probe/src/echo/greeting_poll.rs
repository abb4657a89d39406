//! Those who have connected to the listener and not greeted: one thread, the listener's own, has them all.
//!
//! No connection has more than the deadline in all. There is room for a bounded number; one that finds no
//! room pushes out the one that has waited longest of the place with the most there.

use super::greeting::{Answer, Hello, LENGTH, NoGreeting, Verdict};
use super::listener::answer;
use super::{EchoError, GREETING};
use std::collections::BTreeMap;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};
use sys::eviction;
use sys::poller::{Poller, ReadyList};

/// The door of a listener.
pub(super) struct GreetingPoll<'a> {
    listener: &'a TcpListener,
    poller: Poller,
    ready: ReadyList,
    /// By number, in the order in which they came.
    pending_peers: BTreeMap<u64, PendingPeer>,
    next: u64,
}

struct PendingPeer {
    socket: TcpStream,
    peer: SocketAddr,
    said: [u8; LENGTH],
    count: usize,
    until: Instant,
}

/// What a newcomer's bytes amount to.
enum Came {
    Part,
    Whole,
    Broken,
}

impl<'a> GreetingPoll<'a> {
    pub(super) fn open(listener: &'a TcpListener) -> Result<Self, EchoError> {
        let poller = Poller::new()?;
        poller.watch(listener.as_fd(), LISTENER)?;
        Ok(Self {
            listener,
            poller,
            ready: ReadyList::default(),
            pending_peers: BTreeMap::new(),
            next: 0,
        })
    }

    /// Waits for connections and bytes, at most `longest`; those that `judge` accepts are passed to `welcome`
    /// as they are: not blocking.
    pub(super) fn attend(
        &mut self,
        longest: Duration,
        judge: &mut dyn FnMut(&Hello) -> Answer,
        welcome: &mut dyn FnMut(TcpStream, Hello),
    ) {
        self.poller.wait(&mut self.ready, Some(longest));
        let came: Vec<u64> = self.ready.iter().map(|event| event.token).collect();
        for number in came.into_iter().filter(|number| *number != LISTENER) {
            self.hear(number, judge, welcome);
        }
        self.accept();
        let now = Instant::now();
        // All have the same time, so that those who came first are the first to have used it up.
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
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                // None left; or one that broke while it waited, or no descriptors: the next round tries
                // again.
                Err(_) => return,
            }
        }
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
            Err(NoGreeting::Version(_)) => answer(Verdict::OtherVersion),
            Err(NoGreeting::Unknown) => answer(Verdict::Purpose),
            Ok(hello) => judge(hello),
        };
        self.poller.forget(pending_peer.socket.as_fd());
        // 32 bytes on a connection that has carried none: the kernel takes them, or it is broken.
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
    /// Reads what is there of the greeting, and nothing behind it.
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

/// Connections that have not greeted, at once.
const MAX_PENDING_PEERS: usize = 256;
const LISTENER: u64 = u64::MAX;

//! The thread that serves all connections.

use super::connection::{Answering, Connection, Fate};
use super::{HttpLimits, HttpRequest, HttpResponse};
use crate::error::LiveError;
use crate::eviction::oldest_of_most;
use crate::listening::{self, ListeningService};
use crate::poller::{Poller, ReadyList, Waker};
use crate::signals::block_all_signals;
use crate::threads;
use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

#[derive(Debug)]
pub struct HttpServer {
    address: SocketAddr,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    waker: Waker,
    over: AtomicBool,
}

impl HttpServer {
    /// Calls `answer` on one thread, so it must be fast.
    ///
    /// # Errors
    /// Those of [`listening::listen`], and [`LiveError::System`] if there is no descriptor or thread.
    pub fn start(
        address: SocketAddr,
        service: &ListeningService<'_>,
        limits: HttpLimits,
        answer: impl FnMut(&HttpRequest) -> HttpResponse + Send + 'static,
    ) -> Result<Self, LiveError> {
        let (listener, address) = listening::listen(address, service)?;
        let shared = Arc::new(Shared {
            waker: Waker::new()?,
            over: AtomicBool::new(false),
        });
        let poller = Poller::new()?;
        poller.register_waker(&shared.waker, BELL)?;
        poller.watch(listener.as_fd(), CLIENTS)?;
        let mut guests = ConnectionLoop {
            listener,
            poller,
            limits,
            connections: BTreeMap::new(),
            next: 0,
            go_on: BTreeSet::new(),
            accepts_again: None,
        };
        let over = Arc::clone(&shared);
        let thread = threads::spawn("longwire http".to_owned(), move || {
            block_all_signals();
            let mut answer = answer;
            guests.serve(&over.over, &mut answer);
        })?;
        Ok(Self {
            address,
            shared,
            thread: Some(thread),
        })
    }

    pub const fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for HttpServer {
    fn drop(&mut self) {
        self.shared.over.store(true, Ordering::Release);
        self.shared.waker.wake();
        if let Some(thread) = self.thread.take() {
            thread.join().ok();
        }
    }
}

struct ConnectionLoop {
    listener: TcpListener,
    poller: Poller,
    limits: HttpLimits,
    connections: BTreeMap<u64, Connection>,
    next: u64,
    go_on: BTreeSet<u64>,
    /// When to retry accepting, since no event will report it.
    accepts_again: Option<Instant>,
}

impl ConnectionLoop {
    fn serve(&mut self, over: &AtomicBool, answering: &mut Answering) {
        let mut ready = ReadyList::default();
        while !over.load(Ordering::Acquire) {
            self.poller.wait(&mut ready, self.longest_wait());
            let mut concerned = std::mem::take(&mut self.go_on);
            let mut clients = self.accepts_again.take_if(|at| *at <= Instant::now()).is_some();
            for event in ready.iter() {
                match event.token {
                    CLIENTS => clients = true,
                    BELL => {}
                    number => drop(concerned.insert(number)),
                }
            }
            for number in concerned {
                self.advance(number, answering);
            }
            if clients {
                self.accept(answering);
            }
            self.expire(answering);
        }
    }

    fn longest_wait(&self) -> Option<Duration> {
        if !self.go_on.is_empty() {
            return Some(Duration::ZERO);
        }
        let deadlines = self.connections.values().map(|connection| connection.deadline);
        let next = deadlines.chain(self.accepts_again).min()?;
        Some(next.saturating_duration_since(Instant::now()))
    }

    fn accept(&mut self, answering: &mut Answering) {
        for _ in 0..ACCEPTED_AT_ONCE {
            match self.listener.accept() {
                Ok((stream, peer)) => self.welcome(stream, peer.ip(), answering),
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => return,
                Err(_) => {
                    // Descriptors are exhausted, or the client has left.
                    self.accepts_again = Some(Instant::now() + PAUSE);
                    return;
                }
            }
        }
        self.accepts_again = Some(Instant::now());
    }

    fn welcome(&mut self, stream: TcpStream, peer: IpAddr, answering: &mut Answering) {
        while self.connections.len() >= self.limits.connections {
            self.evict(|_| true);
        }
        let number = self.next;
        if stream.set_nonblocking(true).is_err() || self.poller.watch(stream.as_fd(), number).is_err() {
            return;
        }
        self.next += 1;
        let connection = Connection::new(stream, peer, self.limits, Instant::now());
        self.connections.insert(number, connection);
        // A request that has arrived is answered before the next takes its place.
        self.advance(number, answering);
    }

    fn advance(&mut self, number: u64, answering: &mut Answering) {
        let Some(connection) = self.connections.get_mut(&number) else {
            return;
        };
        match connection.advance(answering, Instant::now()) {
            Fate::Waits => {}
            Fate::GoesOn => drop(self.go_on.insert(number)),
            Fate::Over => drop(self.connections.remove(&number)),
        }
        while self.held_bytes() > self.limits.held_bytes && self.holders() > 1 {
            self.evict(|connection| connection.held_bytes() > 0);
        }
    }

    fn held_bytes(&self) -> usize {
        self.connections.values().map(Connection::held_bytes).sum()
    }

    fn holders(&self) -> usize {
        let holds = |connection: &&Connection| connection.held_bytes() > 0;
        self.connections.values().filter(holds).count()
    }

    /// Closes the oldest connection of the host with the most.
    fn evict(&mut self, among: impl Fn(&Connection) -> bool) {
        let guests = self
            .connections
            .iter()
            .filter(|(_, connection)| among(connection));
        if let Some(number) = oldest_of_most(guests.map(|(number, connection)| (*number, connection.peer))) {
            self.connections.remove(&number);
            self.go_on.remove(&number);
        }
    }

    fn expire(&mut self, answering: &mut Answering) {
        let now = Instant::now();
        let due = self
            .connections
            .iter()
            .filter(|(_, connection)| connection.deadline <= now);
        let due: Vec<u64> = due.map(|(number, _)| *number).collect();
        for number in due {
            // Bytes that arrived while others were answered are in time.
            self.advance(number, answering);
            let Some(connection) = self.connections.get_mut(&number) else {
                continue;
            };
            if connection.deadline <= now && connection.expire(now) != Fate::Waits {
                self.connections.remove(&number);
                self.go_on.remove(&number);
            }
        }
    }
}

const CLIENTS: u64 = u64::MAX;
const BELL: u64 = u64::MAX - 1;
const ACCEPTED_AT_ONCE: usize = 256;
const PAUSE: Duration = Duration::from_millis(50);

#[cfg(test)]
mod tests;

//! State shared by the threads of a listener.

use super::greeting::{Answer, Hello, Purpose, Verdict};
use super::{MAX_BYTES, MAX_STREAMS};
use std::collections::HashMap;
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use sys::StopToken;

#[derive(Debug)]
pub(super) struct Site {
    guests: Mutex<HashMap<u64, Arc<PeerConnection>>>,
    next: AtomicU64,
    /// Clients with an open account connection, and all clients ever.
    clients: AtomicU32,
    served: AtomicU64,
    threads: AtomicUsize,
    pub(super) spin: bool,
    /// Stopped when the last client leaves, if that ends the listener.
    pub(super) over: StopToken,
}

#[derive(Debug)]
pub(super) struct PeerConnection {
    pub(super) socket: Arc<TcpStream>,
    /// Grows with activity, so that idle connections are found.
    pub(super) progress: AtomicU64,
}

impl PeerConnection {
    pub(super) fn note_progress(&self) {
        // There is one writer: a plain addition, without a locked instruction.
        let next = self.progress.load(Ordering::Relaxed).wrapping_add(1);
        self.progress.store(next, Ordering::Relaxed);
    }
}

#[derive(Debug)]
pub(super) struct Gone {
    pub(super) site: Arc<Site>,
    number: u64,
}

impl Drop for Gone {
    fn drop(&mut self) {
        self.site.guests().remove(&self.number);
    }
}

impl Site {
    pub(super) fn new(spin: bool, over: StopToken) -> Self {
        Self {
            guests: Mutex::default(),
            next: AtomicU64::new(0),
            clients: AtomicU32::new(0),
            served: AtomicU64::new(0),
            threads: AtomicUsize::new(0),
            spin,
            over,
        }
    }

    fn guests(&self) -> MutexGuard<'_, HashMap<u64, Arc<PeerConnection>>> {
        self.guests.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn clients(&self) -> u32 {
        self.clients.load(Ordering::Relaxed)
    }

    pub(super) fn client(&self) -> impl Drop + '_ {
        struct Leaving<'a>(&'a Site);
        impl Drop for Leaving<'_> {
            fn drop(&mut self) {
                if self.0.clients.fetch_sub(1, Ordering::Relaxed) == 1 {
                    self.0.over.stop();
                }
            }
        }
        self.clients.fetch_add(1, Ordering::Relaxed);
        self.served.fetch_add(1, Ordering::Relaxed);
        Leaving(self)
    }

    pub(super) fn judge(&self, hello: &Hello) -> Answer {
        let verdict = match judge(hello) {
            Verdict::Accepted if !self.has_room(hello) => Verdict::Busy,
            verdict => verdict,
        };
        Answer {
            spins: self.spin,
            ..Answer::new(verdict)
        }
    }

    fn has_room(&self, hello: &Hello) -> bool {
        let threads = self.threads.load(Ordering::Relaxed);
        let needs_thread = hello.purpose != Purpose::Echo;
        self.guests().len() < MAX_CONNECTIONS && (threads < MAX_THREADS || !needs_thread)
    }

    pub(super) fn served(&self) -> u64 {
        self.served.load(Ordering::Relaxed)
    }

    pub(super) fn has_thread(&self) -> bool {
        self.threads.load(Ordering::Relaxed) < MAX_THREADS
    }

    /// Counts a thread until the result is dropped.
    pub(super) fn thread(self: &Arc<Self>) -> Busy {
        self.threads.fetch_add(1, Ordering::Relaxed);
        Busy(Arc::clone(self))
    }

    /// Counts a connection until the result is dropped.
    pub(super) fn add(self: &Arc<Self>, peer_connection: Arc<PeerConnection>) -> Gone {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        self.guests().insert(number, peer_connection);
        Gone {
            site: Arc::clone(self),
            number,
        }
    }

    pub(super) fn close_all(&self) {
        for peer_connection in self.guests().values() {
            let _ = peer_connection.socket.shutdown(Shutdown::Both);
        }
    }

    /// `known` holds the last seen progress of each connection, and its time.
    pub(super) fn close_idle(&self, known: &mut HashMap<u64, (u64, Instant)>, idle: Duration) {
        let guests = self.guests();
        known.retain(|number, _| guests.contains_key(number));
        for (number, peer_connection) in guests.iter() {
            let progress = peer_connection.progress.load(Ordering::Relaxed);
            let seen = known.entry(*number).or_insert((progress, Instant::now()));
            if seen.0 != progress {
                *seen = (progress, Instant::now());
            } else if seen.1.elapsed() >= idle {
                let _ = peer_connection.socket.shutdown(Shutdown::Both);
            }
        }
    }
}

/// Freed when a serving thread ends.
pub(super) struct Busy(Arc<Site>);

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.threads.fetch_sub(1, Ordering::Relaxed);
    }
}

fn judge(hello: &Hello) -> Verdict {
    let sizes = 1..=MAX_BYTES;
    match hello.purpose {
        Purpose::Account | Purpose::Sink | Purpose::Source => Verdict::Accepted,
        Purpose::Echo if !sizes.contains(&hello.request) || !sizes.contains(&hello.reply) => Verdict::Sizes,
        Purpose::Echo if !(1..=MAX_STREAMS).contains(&hello.streams) => Verdict::Streams,
        Purpose::Echo => Verdict::Accepted,
    }
}

pub(super) const MAX_CONNECTIONS: usize = 2048;
const MAX_THREADS: usize = 128;

//! What the listener does on a connection once it is greeted, each on a thread of its own.

use super::greeting::Hello;
use super::listener::Site;
use super::stream::{Filler, Stream, passing};
use super::usage::{Account, QUESTION};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use sys::processor::{Of, processor_time};

/// A connection of the listener.
#[derive(Debug)]
pub(super) struct PeerConnection {
    pub(super) socket: Arc<TcpStream>,
    /// Grows while something happens on it: those on which nothing does are closed.
    pub(super) progress: AtomicU64,
}

impl PeerConnection {
    pub(super) fn note_progress(&self) {
        // One writer at a time: a plain addition, without a locked instruction.
        let next = self.progress.load(Ordering::Relaxed).wrapping_add(1);
        self.progress.store(next, Ordering::Relaxed);
    }
}

/// Answers requests until the client ends.
pub(super) fn echo(peer_connection: &PeerConnection, hello: &Hello) {
    let mut filler = Filler::new(hello.request.max(hello.reply));
    let stream = Stream::new(Arc::clone(&peer_connection.socket), hello.reply, hello.request);
    let Ok(mut stream) = stream.waiting(hello.spin) else {
        return;
    };
    while stream.receive_whole(&mut filler).is_ok() && stream.send_whole(&filler).is_ok() {
        peer_connection.note_progress();
    }
}

/// Tells what processor time was used, as often as it is asked.
pub(super) fn account(peer_connection: &PeerConnection, site: &Site) {
    let _client = site.client();
    let mut question = [0];
    while matches!((&*peer_connection.socket).read(&mut question), Ok(1)) && question[0] == QUESTION {
        let account = Account {
            processor: processor_time(Of::Process),
            other_clients: site.clients().saturating_sub(1),
        };
        if (&*peer_connection.socket).write_all(&account.encode()).is_err() {
            break;
        }
        peer_connection.note_progress();
    }
}

/// Takes bytes until their end, then reports how many came, and in how many nanoseconds (8 bytes each),
/// without those at the beginning that do not count.
pub(super) fn sink(peer_connection: &PeerConnection, hello: &Hello) {
    let mut room = vec![0; BULK_PART];
    let mut counted = Counted::new(hello.skip);
    loop {
        match (&*peer_connection.socket).read(&mut room) {
            Ok(0) => break,
            Ok(count) => counted.arrived(count),
            Err(error) if passing(&error) => {}
            Err(_) => return,
        }
        peer_connection.note_progress();
    }
    let (bytes, elapsed) = counted.result();
    let nanos = u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX);
    // A client that is gone does not want to know.
    let _ = (&*peer_connection.socket).write_all(&[bytes.to_be_bytes(), nanos.to_be_bytes()].concat());
}

/// Sends bytes until the client has enough.
pub(super) fn source(peer_connection: &PeerConnection) {
    let filler = Filler::new(BULK_PART as u32);
    loop {
        match (&*peer_connection.socket).write(filler.out()) {
            Ok(0) => return,
            Ok(_) => peer_connection.note_progress(),
            Err(error) if passing(&error) => {}
            Err(_) => return,
        }
    }
}

/// Bytes that arrived, counted from a while after the first on: by then TCP has found its rate.
#[derive(Debug)]
pub(super) struct Counted {
    skip: Duration,
    first: Option<Instant>,
    /// When counting began.
    since: Option<Instant>,
    last: Option<Instant>,
    bytes: u64,
}

impl Counted {
    pub(super) fn new(skip: Duration) -> Self {
        Self {
            skip,
            first: None,
            since: None,
            last: None,
            bytes: 0,
        }
    }

    pub(super) fn arrived(&mut self, count: usize) {
        let now = Instant::now();
        let first = *self.first.get_or_insert(now);
        if self.since.is_some() {
            self.bytes += u64::try_from(count).unwrap_or(0);
            self.last = Some(now);
        } else if now.saturating_duration_since(first) >= self.skip {
            // What this read brought arrived before: the count begins behind it.
            self.since = Some(now);
        }
    }

    /// Bytes counted, and from when to when they came.
    pub(super) fn result(&self) -> (u64, Duration) {
        let elapsed = match (self.since, self.last) {
            (Some(since), Some(last)) => last.saturating_duration_since(since),
            _ => Duration::ZERO,
        };
        (self.bytes, elapsed)
    }
}

/// Read and written at once in bulk.
pub(super) const BULK_PART: usize = 256 * 1024;

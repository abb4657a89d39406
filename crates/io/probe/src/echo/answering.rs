//! The listener's threads for greeted connections.

use super::greeting::Hello;
use super::site::{PeerConnection, Site};
use super::stream::{Filler, Stream, passing};
use super::usage::{Account, QUESTION};
use std::io::{Read, Write};
use std::sync::Arc;
use std::time::{Duration, Instant};
use sys::processor::{Of, processor_time};

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

/// Receives bytes until their end, then reports their number and nanoseconds (8 bytes each),
/// without the skipped beginning.
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
    // The client may be gone.
    let _ = (&*peer_connection.socket).write_all(&[bytes.to_be_bytes(), nanos.to_be_bytes()].concat());
}

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

/// Bytes counted from some time after the first, when TCP has found its rate.
#[derive(Debug)]
pub(super) struct Counted {
    skip: Duration,
    first: Option<Instant>,
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
            // The bytes of this read arrived before: the count begins after it.
            self.since = Some(now);
        }
    }

    /// The time is that from the first to the last counted byte.
    pub(super) fn result(&self) -> (u64, Duration) {
        let elapsed = match (self.since, self.last) {
            (Some(since), Some(last)) => last.saturating_duration_since(since),
            _ => Duration::ZERO,
        };
        (self.bytes, elapsed)
    }
}

pub(super) const BULK_PART: usize = 256 * 1024;

//! Counters of a relay.

use model::{Direction, LinkOutcome, PerDirection};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use sys::error::LiveError;

#[derive(Debug, Clone, PartialEq, Default)]
pub struct Counters {
    pub accepted: u64,
    pub open: u64,
    /// Closed because the server was unreachable or TLS with it failed.
    pub failed: u64,
    /// Cause of the last failure or refused client.
    pub last_error: Option<LiveError>,
    pub payload_bytes: PerDirection<u64>,
    pub segments: u64,
    /// Mean time from the kernel's receipt of a segment's last packet to the kernel's acceptance
    /// for sending, without segments that waited for the receiver. A result near this figure
    /// measures the relay, not the database. `None` before the first segment.
    pub own_time: Option<Duration>,
    /// Connections that lost the offer of channel binding, because TLS ends at the relay.
    pub unbound: u64,
    pub link: Option<LinkOutcome>,
}

/// Workers add to them once a batch, not once a segment.
#[derive(Debug, Default)]
pub(crate) struct AtomicCounters {
    accepted: AtomicU64,
    open: AtomicU64,
    failed: AtomicU64,
    last_error: Mutex<Option<LiveError>>,
    payload_bytes: PerDirection<AtomicU64>,
    segments: AtomicU64,
    unbound: AtomicU64,
    held: AtomicU64,
    held_nanoseconds: AtomicU64,
}

#[derive(Debug, Default)]
pub(crate) struct Batch {
    payload_bytes: PerDirection<u64>,
    segments: u64,
    held: u64,
    held_nanoseconds: u64,
}

impl Batch {
    /// `own` is the time that the relay itself held the segment.
    pub(crate) fn segment(&mut self, direction: Direction, bytes: usize, own: Option<Duration>) {
        self.payload_bytes[direction] += bytes as u64;
        self.segments += 1;
        if let Some(own) = own {
            self.held += 1;
            self.held_nanoseconds += u64::try_from(own.as_nanos()).unwrap_or(u64::MAX);
        }
    }
}

impl AtomicCounters {
    pub(crate) fn accepted(&self) {
        self.accepted.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn opened(&self) {
        self.open.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn closed(&self) {
        self.open.fetch_sub(1, Ordering::Relaxed);
    }

    pub(crate) fn failed(&self, error: LiveError) {
        self.failed.fetch_add(1, Ordering::Relaxed);
        self.fault(error);
    }

    pub(crate) fn unbound(&self) {
        self.unbound.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn fault(&self, error: LiveError) {
        *self.last_error.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
    }

    pub(crate) fn add(&self, batch: &mut Batch) {
        if batch.segments == 0 {
            return;
        }
        for (sum, bytes) in self.payload_bytes.iter().zip(batch.payload_bytes) {
            sum.fetch_add(bytes, Ordering::Relaxed);
        }
        self.segments.fetch_add(batch.segments, Ordering::Relaxed);
        self.held.fetch_add(batch.held, Ordering::Relaxed);
        self.held_nanoseconds
            .fetch_add(batch.held_nanoseconds, Ordering::Relaxed);
        *batch = Batch::default();
    }

    pub(crate) fn counters(&self) -> Counters {
        let held = self.held.load(Ordering::Relaxed);
        let nanoseconds = self.held_nanoseconds.load(Ordering::Relaxed);
        Counters {
            accepted: self.accepted.load(Ordering::Relaxed),
            open: self.open.load(Ordering::Relaxed),
            failed: self.failed.load(Ordering::Relaxed),
            last_error: self
                .last_error
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .clone(),
            payload_bytes: PerDirection::from_fn(|direction| {
                self.payload_bytes[direction].load(Ordering::Relaxed)
            }),
            segments: self.segments.load(Ordering::Relaxed),
            unbound: self.unbound.load(Ordering::Relaxed),
            link: None,
            own_time: nanoseconds.checked_div(held).map(Duration::from_nanos),
        }
    }
}

//! Messages to the thread of a lane.

use model::Timestamp;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use sys::error::LiveError;
use sys::poller::Waker;
use sys::socket::Socket;

#[derive(Debug)]
pub(super) struct Arrival {
    pub socket: Socket,
    pub client: SocketAddr,
    pub at: Timestamp,
}

/// Delivers clients, and the request to stop.
#[derive(Debug)]
pub(super) struct Mailbox {
    waker: Waker,
    arrivals: Mutex<Vec<Arrival>>,
    /// Streams of the lane, including clients in the mailbox.
    load: AtomicUsize,
    up: AtomicBool,
    over: AtomicBool,
}

impl Mailbox {
    pub fn new() -> Result<Self, LiveError> {
        Ok(Self {
            waker: Waker::new()?,
            arrivals: Mutex::default(),
            load: AtomicUsize::new(0),
            up: AtomicBool::new(false),
            over: AtomicBool::new(false),
        })
    }

    pub fn waker(&self) -> &Waker {
        &self.waker
    }

    pub fn stop(&self) {
        self.over.store(true, Ordering::Release);
        self.waker.wake();
    }

    pub fn is_over(&self) -> bool {
        self.over.load(Ordering::Acquire)
    }

    /// Number of streams, `None` while the lane is not up.
    pub fn load(&self) -> Option<usize> {
        self.up
            .load(Ordering::Acquire)
            .then(|| self.load.load(Ordering::Relaxed))
    }

    pub fn set_up(&self, up: bool) {
        self.up.store(up, Ordering::Release);
    }

    pub fn deliver(&self, arrival: Arrival) {
        self.load.fetch_add(1, Ordering::Relaxed);
        self.arrivals().push(arrival);
        self.waker.wake();
    }

    pub fn release(&self, count: usize) {
        self.load.fetch_sub(count, Ordering::Relaxed);
    }

    pub fn take_arrivals(&self) -> Vec<Arrival> {
        std::mem::take(&mut *self.arrivals())
    }

    fn arrivals(&self) -> std::sync::MutexGuard<'_, Vec<Arrival>> {
        self.arrivals.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

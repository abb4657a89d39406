//! Waiting for sockets: epoll, edge-triggered, and a waker by which another thread ends the wait.

use crate::error::{LiveError, OsError};
use crate::timer::timespec;
use rustix::event::epoll::{self, Event, EventData, EventFlags};
use rustix::event::{EventfdFlags, eventfd};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

/// What is ready, with the number under which it was registered.
#[derive(Debug, Clone, Copy)]
pub struct ReadyEvent {
    /// The number under which the descriptor was added.
    pub token: u64,
    flags: EventFlags,
}

impl ReadyEvent {
    /// Bytes, an end or an error may be read.
    pub fn readable(self) -> bool {
        self.flags.intersects(READABLE | ENDING)
    }

    /// Code that waited for room to send should try again (an error also shows in trying).
    pub fn writable(self) -> bool {
        self.flags.intersects(WRITABLE | GONE)
    }

    /// An end, an error or an urgent mark is among what may be read: a read that returns less than asked for
    /// does not mean that nothing is left.
    pub fn ending(self) -> bool {
        self.flags.intersects(ENDING)
    }
}

const READABLE: EventFlags = EventFlags::IN;
const WRITABLE: EventFlags = EventFlags::OUT;
const GONE: EventFlags = EventFlags::HUP.union(EventFlags::ERR);
const ENDING: EventFlags = GONE.union(EventFlags::RDHUP).union(EventFlags::PRI);

/// An epoll instance.
#[derive(Debug)]
pub struct Poller {
    epoll: OwnedFd,
}

/// Room for one answer of [`Poller::wait`].
pub struct ReadyList {
    events: Vec<Event>,
    count: usize,
}

impl Default for ReadyList {
    /// Room for a fixed number of sockets; more wait for the next call.
    fn default() -> Self {
        let nothing = Event {
            flags: EventFlags::empty(),
            data: EventData::new_u64(0),
        };
        Self {
            events: vec![nothing; MAX_EVENTS],
            count: 0,
        }
    }
}

impl ReadyList {
    /// How many the last call found ready.
    pub(crate) const fn len(&self) -> usize {
        self.count
    }

    /// What the last call found ready.
    pub fn iter(&self) -> impl Iterator<Item = ReadyEvent> + '_ {
        self.events.iter().take(self.count).map(|event| ReadyEvent {
            token: event.data.u64(),
            flags: event.flags,
        })
    }
}

/// More ready sockets than this wait for the next round: bounds how long one round takes.
const MAX_EVENTS: usize = 256;

impl Poller {
    /// An epoll instance of its own.
    ///
    /// # Errors
    /// When the system has no descriptor left.
    pub fn new() -> Result<Self, LiveError> {
        epoll::create(epoll::CreateFlags::CLOEXEC)
            .map(|epoll| Self { epoll })
            .map_err(|error| LiveError::System {
                operation: "create an epoll instance",
                reason: error.into(),
            })
    }

    /// Reports `fd` under `token` whenever it becomes readable, writable, or ends. Edge-triggered: the owner
    /// must use it until nothing is left, and is then notified again.
    pub fn watch(&self, fd: BorrowedFd<'_>, token: u64) -> Result<(), LiveError> {
        let flags = READABLE | WRITABLE | EventFlags::RDHUP | EventFlags::PRI | EventFlags::ET;
        self.register(fd, token, flags)
    }

    /// Reports `waker` under `token` when it wakes.
    pub fn register_waker(&self, waker: &Waker, token: u64) -> Result<(), LiveError> {
        self.register(waker.0.as_fd(), token, READABLE | EventFlags::ET)
    }

    fn register(&self, fd: BorrowedFd<'_>, token: u64, flags: EventFlags) -> Result<(), LiveError> {
        epoll::add(&self.epoll, fd, EventData::new_u64(token), flags).map_err(|error| LiveError::System {
            operation: "watch a socket",
            reason: OsError::from(error),
        })
    }

    /// Stops reporting `fd`: it stays open, and another poller is to watch it.
    pub fn forget(&self, fd: BorrowedFd<'_>) {
        // It fails only for a descriptor that is not watched.
        epoll::delete(&self.epoll, fd).ok();
    }

    /// Waits until something is ready, at most `longest` (for ever when absent).
    pub fn wait(&self, list: &mut ReadyList, longest: Option<Duration>) {
        // In whole milliseconds, rounded up: older kernels know no others.
        let timeout = longest.map(|span| {
            let milliseconds = i32::try_from(span.as_micros().div_ceil(1000)).unwrap_or(i32::MAX);
            timespec(Duration::from_millis(u64::from(milliseconds.unsigned_abs())))
        });
        let count = epoll::wait(&self.epoll, list.events.as_mut_slice(), timeout.as_ref());
        // The only failure left once the descriptor is valid is an interruption by a signal: nothing is
        // ready.
        list.count = count.unwrap_or(0);
    }
}

/// The epoll instance itself, readable while something is ready.
impl AsFd for Poller {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.epoll.as_fd()
    }
}

/// Wakes a thread that waits in [`Poller::wait`].
#[derive(Debug)]
pub struct Waker(OwnedFd);

impl Waker {
    /// An event counter of its own.
    ///
    /// # Errors
    /// When the system has no descriptor left.
    pub fn new() -> Result<Self, LiveError> {
        eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)
            .map(Self)
            .map_err(|error| LiveError::System {
                operation: "create an eventfd",
                reason: error.into(),
            })
    }

    /// Wakes. Each call is an edge of its own, so a waker need not be reset for [`Poller::wait`].
    pub fn wake(&self) {
        // It fails only when 2^64 - 2 calls are pending, and then it wakes already.
        rustix::io::write(&self.0, &1_u64.to_ne_bytes()).ok();
    }

    /// Takes all calls of [`Waker::wake`] until now, for code that waits in another way: it is not readable
    /// before the next.
    pub fn reset(&self) {
        rustix::io::read(&self.0, &mut [0; 8]).ok();
    }
}

/// Its event counter, readable once it was called.
impl AsFd for Waker {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

//! Waits for sockets with edge-triggered epoll, and a waker for other threads.

use crate::error::{LiveError, OsError};
use crate::timer::timespec;
use rustix::event::epoll::{self, Event, EventData, EventFlags};
use rustix::event::{EventfdFlags, eventfd};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

#[derive(Debug, Clone, Copy)]
pub struct ReadyEvent {
    pub token: u64,
    flags: EventFlags,
}

impl ReadyEvent {
    /// An end or an error can be read too.
    pub fn readable(self) -> bool {
        self.flags.intersects(READABLE | ENDING)
    }

    /// Sending may have room again, or shows an error.
    pub fn writable(self) -> bool {
        self.flags.intersects(WRITABLE | GONE)
    }

    /// An end, an error or an urgent mark may be read, so a short read does not mean that the
    /// socket is empty.
    pub fn ending(self) -> bool {
        self.flags.intersects(ENDING)
    }
}

const READABLE: EventFlags = EventFlags::IN;
const WRITABLE: EventFlags = EventFlags::OUT;
const GONE: EventFlags = EventFlags::HUP.union(EventFlags::ERR);
const ALL: EventFlags = READABLE
    .union(WRITABLE)
    .union(EventFlags::RDHUP)
    .union(EventFlags::PRI)
    .union(EventFlags::ET);
const ENDING: EventFlags = GONE.union(EventFlags::RDHUP).union(EventFlags::PRI);

#[derive(Debug)]
pub struct Poller {
    epoll: OwnedFd,
}

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
    pub(crate) const fn len(&self) -> usize {
        self.count
    }

    pub fn iter(&self) -> impl Iterator<Item = ReadyEvent> + '_ {
        self.events.iter().take(self.count).map(|event| ReadyEvent {
            token: event.data.u64(),
            flags: event.flags,
        })
    }
}

/// Bounds the length of a round; more ready sockets wait for the next.
const MAX_EVENTS: usize = 256;

impl Poller {
    pub fn new() -> Result<Self, LiveError> {
        epoll::create(epoll::CreateFlags::CLOEXEC)
            .map(|epoll| Self { epoll })
            .map_err(|error| LiveError::System {
                operation: "create an epoll instance",
                reason: error.into(),
            })
    }

    /// Watches for readable, writable, and the end, edge-triggered: `fd` must be used until it
    /// would block.
    pub fn watch(&self, fd: BorrowedFd<'_>, token: u64) -> Result<(), LiveError> {
        self.register(fd, token, ALL)
    }

    /// Reports a watched `fd` again once it is ready, although it was not used until it blocked.
    pub fn rewatch(&self, fd: BorrowedFd<'_>, token: u64) -> Result<(), OsError> {
        epoll::modify(&self.epoll, fd, EventData::new_u64(token), ALL).map_err(OsError::from)
    }

    pub fn register_waker(&self, waker: &Waker, token: u64) -> Result<(), LiveError> {
        self.register(waker.0.as_fd(), token, READABLE | EventFlags::ET)
    }

    fn register(&self, fd: BorrowedFd<'_>, token: u64, flags: EventFlags) -> Result<(), LiveError> {
        epoll::add(&self.epoll, fd, EventData::new_u64(token), flags).map_err(|error| LiveError::System {
            operation: "watch a socket",
            reason: OsError::from(error),
        })
    }

    /// Keeps `fd` open for another poller.
    pub fn forget(&self, fd: BorrowedFd<'_>) {
        // Fails only for a descriptor that is not watched.
        epoll::delete(&self.epoll, fd).ok();
    }

    /// Waits at most `longest`, or forever.
    pub fn wait(&self, list: &mut ReadyList, longest: Option<Duration>) {
        // In whole milliseconds, rounded up, for older kernels.
        let timeout = longest.map(|span| {
            let milliseconds = i32::try_from(span.as_micros().div_ceil(1000)).unwrap_or(i32::MAX);
            timespec(Duration::from_millis(u64::from(milliseconds.unsigned_abs())))
        });
        let count = epoll::wait(&self.epoll, list.events.as_mut_slice(), timeout.as_ref());
        // With a valid descriptor only a signal can interrupt it: no descriptor is ready.
        list.count = count.unwrap_or(0);
    }
}

impl AsFd for Poller {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.epoll.as_fd()
    }
}

#[derive(Debug)]
pub struct Waker(OwnedFd);

impl Waker {
    pub fn new() -> Result<Self, LiveError> {
        eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)
            .map(Self)
            .map_err(|error| LiveError::System {
                operation: "create an eventfd",
                reason: error.into(),
            })
    }

    /// Each call is a new edge, so [`Poller::wait`] needs no reset.
    pub fn wake(&self) {
        // Fails only with 2^64 - 2 calls pending, and then it wakes already.
        rustix::io::write(&self.0, &1_u64.to_ne_bytes()).ok();
    }

    /// For code that waits in another way than [`Poller::wait`].
    pub fn reset(&self) {
        rustix::io::read(&self.0, &mut [0; 8]).ok();
    }
}

impl AsFd for Waker {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

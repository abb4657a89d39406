//! Waiting for sockets: epoll, edge-triggered, and a waker by which another thread ends the wait.

use crate::error::{LiveError, OsError};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::time::Duration;

/// What is ready, with the number under which it was registered.
#[derive(Debug, Clone, Copy)]
pub struct ReadyEvent {
    /// The number under which the descriptor was added.
    pub token: u64,
    flags: u32,
}

impl ReadyEvent {
    /// Bytes, an end or an error may be read.
    pub fn readable(self) -> bool {
        self.flags & (READABLE | ENDING) != 0
    }

    /// Whoever waited for room to send should try again (an error shows in trying, too).
    pub fn writable(self) -> bool {
        self.flags & (WRITABLE | GONE) != 0
    }

    /// An end, an error or an urgent mark is among what may be read: a read that returns less than asked for does
    /// not mean that nothing is left.
    pub fn ending(self) -> bool {
        self.flags & ENDING != 0
    }
}

const READABLE: u32 = libc::EPOLLIN as u32;
const WRITABLE: u32 = libc::EPOLLOUT as u32;
const GONE: u32 = (libc::EPOLLHUP | libc::EPOLLERR) as u32;
const ENDING: u32 = GONE | (libc::EPOLLRDHUP | libc::EPOLLPRI) as u32;

/// An epoll instance.
#[derive(Debug)]
pub struct Poller {
    epoll: OwnedFd,
}

/// Room for one answer of [`Poller::wait`].
pub struct ReadyList {
    events: Vec<libc::epoll_event>,
    count: usize,
}

impl Default for ReadyList {
    /// Room for a fixed number of sockets; more wait for the next call.
    fn default() -> Self {
        Self {
            events: vec![libc::epoll_event { events: 0, u64: 0 }; MOST_AT_ONCE],
            count: 0,
        }
    }
}

impl ReadyList {
    /// What the last call found ready.
    pub fn iter(&self) -> impl Iterator<Item = ReadyEvent> + '_ {
        self.events.iter().take(self.count).map(|event| ReadyEvent {
            token: event.u64,
            flags: event.events,
        })
    }
}

/// More ready sockets than this wait for the next round: bounds how long one round takes.
const MOST_AT_ONCE: usize = 256;

impl Poller {
    /// An epoll instance of its own.
    ///
    /// # Errors
    /// When the system has no descriptor left.
    pub fn new() -> Result<Self, LiveError> {
        // SAFETY: no pointers; the result is checked before it is owned.
        let fd = unsafe { libc::epoll_create1(libc::EPOLL_CLOEXEC) };
        if fd < 0 {
            return Err(LiveError::System {
                operation: "create an epoll instance",
                reason: OsError::last(),
            });
        }
        // SAFETY: a new descriptor that nobody else owns.
        Ok(Self {
            epoll: unsafe { OwnedFd::from_raw_fd(fd) },
        })
    }

    /// Reports `fd` under `token` whenever it becomes readable, writable, or ends. Edge-triggered: the owner must
    /// use it until nothing is left, and is then told again.
    pub fn watch(&self, fd: BorrowedFd<'_>, token: u64) -> Result<(), LiveError> {
        let flags = libc::EPOLLIN | libc::EPOLLOUT | libc::EPOLLRDHUP | libc::EPOLLPRI | libc::EPOLLET;
        self.register(fd, token, flags as u32)
    }

    /// Reports `waker` under `token` when it wakes.
    pub fn watch_bell(&self, waker: &Waker, token: u64) -> Result<(), LiveError> {
        self.register(waker.0.as_fd(), token, (libc::EPOLLIN | libc::EPOLLET) as u32)
    }

    fn register(&self, fd: BorrowedFd<'_>, token: u64, flags: u32) -> Result<(), LiveError> {
        let mut event = libc::epoll_event {
            events: flags,
            u64: token,
        };
        // SAFETY: `event` is valid for the call; both descriptors are open.
        let result = unsafe {
            libc::epoll_ctl(
                self.epoll.as_raw_fd(),
                libc::EPOLL_CTL_ADD,
                fd.as_raw_fd(),
                &raw mut event,
            )
        };
        if result < 0 {
            return Err(LiveError::System {
                operation: "watch a socket",
                reason: OsError::last(),
            });
        }
        Ok(())
    }

    /// Reports `fd` no more: it stays open, and another poller is to watch it.
    pub fn forget(&self, fd: BorrowedFd<'_>) {
        // SAFETY: no event is read. It fails only for a descriptor that is not watched.
        unsafe {
            libc::epoll_ctl(
                self.epoll.as_raw_fd(),
                libc::EPOLL_CTL_DEL,
                fd.as_raw_fd(),
                std::ptr::null_mut(),
            )
        };
    }

    /// Waits until something is ready, at most `longest` (for ever when absent).
    pub fn wait(&self, list: &mut ReadyList, longest: Option<Duration>) {
        let timeout = match longest {
            None => -1,
            Some(span) => i32::try_from(span.as_micros().div_ceil(1000)).unwrap_or(i32::MAX),
        };
        let room = i32::try_from(list.events.len()).unwrap_or(i32::MAX);
        // SAFETY: the kernel writes at most `room` events into the vector, which holds that many.
        let count =
            unsafe { libc::epoll_wait(self.epoll.as_raw_fd(), list.events.as_mut_ptr(), room, timeout) };
        // The only failure left once the descriptor is valid is an interruption by a signal: nothing is ready.
        list.count = usize::try_from(count).unwrap_or(0);
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
        // SAFETY: no pointers; the result is checked before it is owned.
        let fd = unsafe { libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK) };
        if fd < 0 {
            return Err(LiveError::System {
                operation: "create an eventfd",
                reason: OsError::last(),
            });
        }
        // SAFETY: a new descriptor that nobody else owns.
        Ok(Self(unsafe { OwnedFd::from_raw_fd(fd) }))
    }

    /// Wakes. Each call is an edge of its own, so a waker need not be reset.
    pub fn wake(&self) {
        let one = 1_u64.to_ne_bytes();
        // SAFETY: eight valid bytes. It fails only when 2^64 - 2 rings are pending, and then it rings already.
        unsafe { libc::write(self.0.as_raw_fd(), one.as_ptr().cast(), one.len()) };
    }
}

//! A plain TCP connection with the kernel's receive timestamps: what probes without a login ask over.

use super::PingError;
use model::Timestamp;
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use sys::clock::{Clock, WallOffset};
use sys::resolve;
use sys::socket::{Received, Sent, Socket};
use sys::target::Target;
use sys::wait::{PollFlags, until_ready};

/// What every probe works with.
#[derive(Debug, Clone, Copy)]
pub(super) struct Means<'a> {
    pub(super) target: &'a Target,
    pub(super) clock: Clock,
    pub(super) timeout: Duration,
    pub(super) stop: &'a AtomicBool,
}

/// One exchange, or as much of one as a probe is about.
#[derive(Debug, Clone)]
pub(super) struct Answer {
    /// When its first byte was handed to the kernel, or its connection begun.
    pub(super) at: Timestamp,
    /// Until the last byte of the reply arrived.
    pub(super) duration: Duration,
    /// Server time, where the server told it.
    pub(super) server: Option<Duration>,
    /// Absent where somebody else's code asked, who does not tell.
    pub(super) turns: Option<u64>,
    pub(super) kernel_rtt: Option<Duration>,
    pub(super) request_bytes: u64,
    pub(super) reply_bytes: u64,
    /// The server's code and text where the answer was an error: it answered all the same.
    pub(super) error: Option<String>,
}

/// A connected TCP socket.
#[derive(Debug)]
pub(super) struct Plain<'a> {
    socket: Socket,
    means: Means<'a>,
    /// When connecting began, and how long the handshake took.
    began: Timestamp,
    handshake: Duration,
}

/// What came: the bytes, and when the last of them arrived.
#[derive(Debug)]
pub(super) struct Arrived {
    pub(super) bytes: Vec<u8>,
    pub(super) at: Timestamp,
}

impl<'a> Plain<'a> {
    /// Connects to `address`.
    pub(super) fn connect(means: Means<'a>, address: SocketAddr) -> Result<Self, PingError> {
        let failed = |reason| resolve::failed(means.target, address, reason);
        let socket = Socket::unconnected(&address).map_err(failed)?;
        // In its own namespace and without waiting: the wait below can be ended.
        let began = means.clock.now();
        let deadline = Deadline::after(means);
        socket.begin_to_connect(&address).map_err(failed)?;
        while !deadline.ready(socket.as_fd(), PollFlags::OUT)? {}
        let handshake = means.clock.now().since(began);
        if !socket.connected().map_err(failed)? {
            return Err(resolve::timed_out(means.target, address, means.timeout).into());
        }
        Ok(Self {
            socket,
            means,
            began,
            handshake,
        })
    }

    /// When connecting began.
    pub(super) const fn began(&self) -> Timestamp {
        self.began
    }

    /// How long the TCP handshake took, as this program saw it.
    pub(super) const fn handshake(&self) -> Duration {
        self.handshake
    }

    /// The kernel's own smoothed round trip now.
    pub(super) fn kernel_rtt(&self) -> Option<Duration> {
        self.socket.info()?.rtt
    }

    /// Whether the server has closed it meanwhile, or said something unasked.
    pub(super) fn is_stale(&self) -> bool {
        self.ready(PollFlags::IN, Duration::ZERO)
    }

    /// Sends `request` and returns when its first byte was handed over.
    pub(super) fn send(&self, request: &[u8]) -> Result<Timestamp, PingError> {
        let at = self.means.clock.now();
        let deadline = Deadline::after(self.means);
        let mut left = request;
        while !left.is_empty() {
            match self.socket.send(left) {
                Sent::Bytes(0) => while !deadline.ready(self.socket.as_fd(), PollFlags::OUT)? {},
                Sent::Bytes(count) => left = left.get(count..).unwrap_or_default(),
                Sent::Broken(reason) => return Err(PingError::Broken { reason }),
            }
        }
        Ok(at)
    }

    /// Waits until what has come is `complete`.
    pub(super) fn receive(&self, complete: impl Fn(&[u8]) -> Complete) -> Result<Arrived, PingError> {
        let deadline = Deadline::after(self.means);
        let mut bytes = Vec::new();
        let mut part = [0; 4096];
        loop {
            match self.socket.receive(&mut part) {
                Received::Bytes { count, stamp, .. } => {
                    let read = self.means.clock.now();
                    let offset = WallOffset::now();
                    bytes.extend_from_slice(part.get(..count).unwrap_or_default());
                    // A wall clock that was set meanwhile would put the stamp after the read.
                    let at = stamp.map_or(read, |stamp| self.means.clock.place(stamp, offset).min(read));
                    match complete(&bytes) {
                        Complete::Yes => return Ok(Arrived { bytes, at }),
                        Complete::Never(expected) => return Err(PingError::Unexpected { expected }),
                        Complete::NotYet if bytes.len() > LONGEST_REPLY => {
                            return Err(PingError::Unexpected {
                                expected: "a short reply",
                            });
                        }
                        Complete::NotYet => {}
                    }
                }
                Received::Nothing => while !deadline.ready(self.socket.as_fd(), PollFlags::IN)? {},
                Received::End => return Err(PingError::Closed),
                Received::Broken(reason) => return Err(PingError::Broken { reason }),
            }
        }
    }

    fn ready(&self, events: PollFlags, longest: Duration) -> bool {
        until_ready(self.socket.as_fd(), events, longest)
    }
}

/// Whether a reply is whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Complete {
    Yes,
    NotYet,
    /// It is not what should have come, which is named.
    Never(&'static str),
}

struct Deadline<'a> {
    at: Instant,
    means: Means<'a>,
}

impl<'a> Deadline<'a> {
    fn after(means: Means<'a>) -> Self {
        Self {
            at: Instant::now() + means.timeout,
            means,
        }
    }

    /// Waits a while for `events`: false when there are none yet.
    fn ready(&self, fd: BorrowedFd<'_>, events: PollFlags) -> Result<bool, PingError> {
        let left = self.at.saturating_duration_since(Instant::now());
        if until_ready(fd, events, left.min(LOOK)) {
            Ok(true)
        } else if self.means.stop.load(Ordering::Relaxed) {
            Err(PingError::Stopped)
        } else if left.is_zero() {
            Err(PingError::TimedOut {
                after: self.means.timeout,
            })
        } else {
            Ok(false)
        }
    }
}

/// Of a probe: more is not what was asked for.
const LONGEST_REPLY: usize = 256 * 1024;
/// How often the end is looked for while waiting.
const LOOK: Duration = Duration::from_millis(100);

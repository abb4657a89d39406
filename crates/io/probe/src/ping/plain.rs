//! TCP connections with the kernel's receive timestamps, for probes without a login.

use super::PingError;
use client::session::{ClientConnection, Deadline, KernelFigures, Reply, SessionOptions};
use model::Timestamp;
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::time::Duration;
use sys::StopToken;
use sys::clock::Clock;
use sys::resolve;
use sys::socket::Socket;
use sys::target::Target;
use sys::wait::{PollFlags, until_ready};

#[derive(Debug, Clone, Copy)]
pub(super) struct ProbeContext<'a> {
    pub(super) target: &'a Target,
    pub(super) clock: Clock,
    pub(super) timeout: Duration,
    pub(super) stop: &'a StopToken,
}

#[derive(Debug, Clone)]
pub(super) struct Answer {
    /// When the first byte was handed to the kernel, or connecting began.
    pub(super) at: Timestamp,
    /// Until the last byte of the reply arrived.
    pub(super) duration: Duration,
    /// `None` if the server did not report it.
    pub(super) server: Option<Duration>,
    /// `None` if other code than longwire's sent the request and does not report them.
    pub(super) turns: Option<u64>,
    pub(super) kernel_rtt: Option<Duration>,
    pub(super) request_bytes: u64,
    pub(super) reply_bytes: u64,
    /// Code and text of an error, which is an answer all the same.
    pub(super) error: Option<String>,
}

impl<'a> ProbeContext<'a> {
    pub(super) fn session_options(self) -> SessionOptions<'a> {
        SessionOptions {
            timeout: self.timeout,
            clock: self.clock,
            ..SessionOptions::new(self.stop)
        }
    }
}

impl Answer {
    pub(super) fn from_reply(reply: Reply, kernel: Option<KernelFigures>) -> Self {
        Self {
            at: reply.sent_at,
            duration: reply.duration(),
            server: None,
            turns: Some(reply.turns),
            kernel_rtt: kernel.and_then(|figures| figures.rtt),
            request_bytes: reply.request_bytes,
            reply_bytes: reply.reply_bytes,
            error: reply.error.map(|error| format!("server: {error}")),
        }
    }
}

pub(super) struct Plain<'a> {
    connection: ClientConnection<'a>,
    timeout: Duration,
    began: Timestamp,
    handshake: Duration,
}

#[derive(Debug)]
pub(super) struct Arrived {
    pub(super) bytes: Vec<u8>,
    pub(super) at: Timestamp,
}

impl<'a> Plain<'a> {
    pub(super) fn connect(context: ProbeContext<'a>, address: SocketAddr) -> Result<Self, PingError> {
        let failed = |reason| resolve::failed(context.target, address, reason);
        let socket = Socket::unconnected(&address).map_err(failed)?;
        // Non-blocking, so that the wait below can be ended.
        let began = context.clock.now();
        let deadline = Deadline::after(context.timeout);
        socket.begin_to_connect(&address).map_err(failed)?;
        while !context
            .stop
            .until_ready(socket.as_fd(), PollFlags::OUT, deadline.left()?)
        {
            if context.stop.is_stopped() {
                return Err(PingError::Stopped);
            }
        }
        let connected = context.clock.now();
        if !socket.connected().map_err(failed)? {
            return Err(resolve::timed_out(context.target, address, context.timeout).into());
        }
        let handshake = handshake(&socket, connected.since(began));
        let connection = ClientConnection::new(socket, (began, connected), 1, context.session_options());
        Ok(Self {
            connection: connection
                .naming_resets()
                .expecting(context.target.scheme.protocol()),
            timeout: context.timeout,
            began,
            handshake,
        })
    }

    pub(super) const fn began(&self) -> Timestamp {
        self.began
    }

    pub(super) const fn handshake(&self) -> Duration {
        self.handshake
    }

    pub(super) fn kernel_rtt(&self) -> Option<Duration> {
        self.socket().info()?.rtt
    }

    /// One round trip, for a request of `request_bytes` bytes sent at `at`.
    pub(super) fn answer(&self, at: Timestamp, request_bytes: usize, arrived: &Arrived) -> Answer {
        Answer {
            at,
            duration: arrived.at.since(at),
            server: None,
            turns: Some(1),
            kernel_rtt: self.kernel_rtt(),
            request_bytes: request_bytes as u64,
            reply_bytes: arrived.bytes.len() as u64,
            error: None,
        }
    }

    /// The server closed the connection, or sent bytes without a request.
    pub(super) fn is_stale(&self) -> bool {
        until_ready(self.socket().as_fd(), PollFlags::IN, Duration::ZERO)
    }

    fn socket(&self) -> &Socket {
        self.connection.transport().socket()
    }

    pub(super) fn send(&mut self, request: &[u8]) -> Result<Timestamp, PingError> {
        Ok(self.connection.send(request, &Deadline::after(self.timeout))?)
    }

    pub(super) fn receive(&mut self, complete: impl Fn(&[u8]) -> Complete) -> Result<Arrived, PingError> {
        let deadline = Deadline::after(self.timeout);
        let mut bytes = Vec::new();
        loop {
            let came = self.connection.receive(&deadline)?;
            if came.is_empty() {
                return Err(PingError::Closed);
            }
            bytes.extend_from_slice(came);
            match complete(&bytes) {
                Complete::Yes => {
                    return Ok(Arrived {
                        bytes,
                        at: self.connection.arrived(),
                    });
                }
                Complete::Never(expected) => return Err(PingError::Unexpected { expected }),
                Complete::NotYet if bytes.len() > MAX_REPLY_LEN => {
                    return Err(PingError::Unexpected {
                        expected: "a short reply",
                    });
                }
                Complete::NotYet => {}
            }
        }
    }
}

/// The kernel's figure, without the wake-up of this process. Its figure leaves out lost packets.
fn handshake(socket: &Socket, waited: Duration) -> Duration {
    let figures = socket.info().unwrap_or_default();
    match (figures.rtt, figures.retransmitted) {
        (Some(rtt), Some(0)) => rtt.min(waited),
        _ => waited,
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Complete {
    Yes,
    NotYet,
    /// The bytes are wrong; names the expected ones.
    Never(&'static str),
}

/// Longer replies are not a probe's.
const MAX_REPLY_LEN: usize = 256 * 1024;

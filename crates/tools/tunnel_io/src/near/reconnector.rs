//! The thread that keeps one lane up.

use super::super::Error;
use super::super::error::split_address;
use super::super::lane::{LaneLoop, Role};
use super::super::mailbox::Mailbox;
use super::super::notice::Notice;
use super::Shared;
use sys::error::{LiveError, OsError};
use sys::poller::{Poller, ReadyList};
use sys::threads;

use std::net::{SocketAddr, TcpStream, ToSocketAddrs};
use std::sync::{Arc, mpsc};
use std::time::Duration;
use sys::signals::block_all_signals;
use sys::socket::Socket;
use sys::transport::Transport;
use tunnel::End;

pub(super) struct Reconnector {
    shared: Arc<Shared>,
    mailbox: Arc<Mailbox>,
    poller: Poller,
}

impl Reconnector {
    /// `done` is notified at the end.
    pub fn start(
        shared: Arc<Shared>,
        mailbox: Arc<Mailbox>,
        done: mpsc::SyncSender<()>,
    ) -> Result<(), LiveError> {
        let poller = Poller::new()?;
        poller.register_waker(mailbox.waker(), 0)?;
        let reconnector = Self {
            shared,
            mailbox,
            poller,
        };
        threads::spawn("tunnel-lane".to_owned(), move || {
            block_all_signals();
            reconnector.keep();
            // The receiver is gone if the near end was dropped.
            done.send(()).ok();
        })?;
        Ok(())
    }

    fn keep(&self) {
        let mut pause = FIRST_PAUSE;
        while !self.mailbox.is_over() {
            match self.attempt() {
                // The lane was up: retry at once.
                Ok(true) => pause = FIRST_PAUSE,
                Ok(false) => self.rest(&mut pause),
                Err(reason) => {
                    let lasting = reason.is_lasting();
                    self.shared.counters.record_notice(&Notice::NoLane { reason });
                    if lasting {
                        pause = LASTING_PAUSE;
                    }
                    self.rest(&mut pause);
                }
            }
        }
    }

    /// Opens and runs the lane until it ends; returns true if it was up.
    fn attempt(&self) -> Result<bool, Error> {
        let (transport, peer) = self.open()?;
        let shared = Arc::clone(&self.shared);
        let role = Role::Near(Box::new(move || shared.waker.wake()));
        let counters = Arc::clone(&self.shared.counters);
        let lane_loop = LaneLoop::new(
            role,
            self.shared.preferences,
            transport,
            peer,
            counters,
            Arc::clone(&self.mailbox),
        )?;
        let (stood, reason) = lane_loop.run();
        // Untaken clients may use another lane.
        self.shared.waker.wake();
        match reason {
            Some(reason) if !stood => Err(reason),
            Some(_) | None => Ok(stood),
        }
    }

    fn open(&self) -> Result<(Transport, SocketAddr), Error> {
        let far = &self.shared.far;
        let (host, port) = split_address(far)?;
        let no_such_host = || Error::NoSuchHost {
            host: host.to_owned(),
        };
        let addresses = (host, port).to_socket_addrs().map_err(|_| no_such_host())?;
        let mut fault = no_such_host();
        for address in addresses {
            let unreachable = |reason| Error::FarUnreachable {
                far: far.clone(),
                address,
                reason,
            };
            self.shared.client_handshake.suits(address)?;
            let made = TcpStream::connect_timeout(&address, self.shared.connect_timeout)
                .map_err(|error| match error.kind() {
                    std::io::ErrorKind::TimedOut => OsError(libc::ETIMEDOUT),
                    _ => OsError::from_io_error(&error),
                })
                .and_then(Socket::adopt);
            match made {
                Ok(socket) => return Ok((self.complete(socket, address)?, address)),
                Err(reason) => fault = unreachable(reason),
            }
        }
        Err(fault)
    }

    fn complete(&self, socket: Socket, peer: SocketAddr) -> Result<Transport, Error> {
        let end = End::Far;
        self.shared
            .client_handshake
            .complete(socket, self.shared.connect_timeout)
            .map_err(|fault| Error::Peer { end, peer, fault })
    }

    fn rest(&self, pause: &mut Duration) {
        if !self.mailbox.is_over() {
            self.poller.wait(&mut ReadyList::default(), Some(*pause));
        }
        *pause = (*pause * 2).min(MAX_PAUSE);
    }
}

const FIRST_PAUSE: Duration = Duration::from_millis(20);
const MAX_PAUSE: Duration = Duration::from_millis(250);
/// If a user must act first, at either end.
const LASTING_PAUSE: Duration = Duration::from_secs(1);

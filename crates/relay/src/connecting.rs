//! A client that was accepted and whose connection to the server is still being made.

use super::Shared;
use super::connection::ReadyPair;
use model::Timestamp;
use std::net::SocketAddr;
use std::time::Duration;
use sys::error::LiveError;
use sys::resolve;
use sys::socket::Socket;
use sys::transport::Transport;

/// How long one of the server's addresses may take to answer.
pub(super) const CONNECT_LIMIT: Duration = Duration::from_secs(10);

/// An accepted client waiting for its server.
#[derive(Debug)]
pub(super) struct Connecting {
    pub(super) client: Socket,
    pub(super) server: Socket,
    /// The server's address that is being tried.
    pub(super) address: SocketAddr,
    /// When this try began.
    pub(super) tried_at: Timestamp,
    /// Tries so far, this one included.
    tries: usize,
}

/// The outcome of a try.
pub(super) enum Try {
    /// Another address is being tried.
    Next(Connecting),
    /// No address is left.
    GivenUp(Socket, LiveError),
}

impl Connecting {
    /// Begins with the server's first address.
    pub(super) fn begin(client: Socket, shared: &Shared) -> Try {
        let error = LiveError::NoSuchHost {
            host: shared.target.host.clone(),
        };
        Self::from_address(client, 0, shared, error)
    }

    /// Goes on to the next address after `reason`.
    pub(super) fn next(self, shared: &Shared, reason: LiveError) -> Try {
        Self::from_address(self.client, self.tries, shared, reason)
    }

    /// The error when the address did not answer in time.
    pub(super) fn timed_out(&self, shared: &Shared) -> LiveError {
        resolve::timed_out(&shared.target, self.address, CONNECT_LIMIT)
    }

    /// What a connection is opened with, now that the server has accepted.
    pub(super) fn ready(self, shared: &Shared) -> ReadyPair {
        let at = shared.clock.now();
        ReadyPair {
            client: self.client,
            server: Transport::Plain(self.server),
            address: self.address,
            connect_time: at.since(self.tried_at),
            at,
            early: Vec::new(),
            login_shifted: false,
        }
    }

    fn from_address(client: Socket, first: usize, shared: &Shared, mut error: LiveError) -> Try {
        for (index, address) in shared.addresses.iter().enumerate().skip(first) {
            let tried_at = shared.clock.now();
            match Socket::connect(address) {
                Ok(server) => {
                    return Try::Next(Self {
                        client,
                        server,
                        address: *address,
                        tried_at,
                        tries: index + 1,
                    });
                }
                Err(reason) => error = resolve::failed(&shared.target, *address, reason),
            }
        }
        Try::GivenUp(client, error)
    }
}

//! Accepted clients that still wait for their connection to the server.

use super::Shared;
use super::connection::ReadyPair;
use model::Timestamp;
use std::net::SocketAddr;
use std::time::Duration;
use sys::error::LiveError;
use sys::resolve;
use sys::socket::Socket;
use sys::transport::Transport;

/// Per address of the server.
pub(super) const CONNECT_LIMIT: Duration = Duration::from_secs(10);

#[derive(Debug)]
pub(super) struct Connecting {
    pub(super) client: Socket,
    pub(super) server: Socket,
    pub(super) address: SocketAddr,
    pub(super) tried_at: Timestamp,
    tries: usize,
}

pub(super) enum Try {
    Next(Connecting),
    GivenUp(Socket, LiveError),
}

impl Connecting {
    pub(super) fn begin(client: Socket, shared: &Shared) -> Try {
        let error = LiveError::NoSuchHost {
            host: shared.target.host.clone(),
        };
        Self::from_address(client, 0, shared, error)
    }

    pub(super) fn next(self, shared: &Shared, reason: LiveError) -> Try {
        Self::from_address(self.client, self.tries, shared, reason)
    }

    pub(super) fn timed_out(&self, shared: &Shared) -> LiveError {
        resolve::timed_out(&shared.target, self.address, CONNECT_LIMIT)
    }

    /// Pairs the client with its connected server.
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

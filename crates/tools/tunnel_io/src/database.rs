//! The address of the database behind a far end.

use super::Error;
use super::error::split_address;
use std::net::{SocketAddr, ToSocketAddrs};
use sys::error::OsError;

#[derive(Debug)]
pub(super) struct Database {
    text: String,
    pub addresses: Vec<SocketAddr>,
}

impl Database {
    pub fn resolve(text: String) -> Result<Self, Error> {
        let (host, port) = split_address(&text)?;
        let no_such_host = || Error::NoSuchHost {
            host: host.to_owned(),
        };
        let addresses: Vec<_> = (host, port)
            .to_socket_addrs()
            .map_err(|_| no_such_host())?
            .collect();
        if addresses.is_empty() {
            return Err(no_such_host());
        }
        Ok(Self { text, addresses })
    }

    pub fn unreachable(&self, address: SocketAddr, reason: OsError) -> Error {
        Error::DatabaseUnreachable {
            database: self.text.clone(),
            address,
            reason,
        }
    }
}

//! Redis's own PING, on a connection that is kept.

use super::{Probe, reachable};
use crate::ping::plain::{Answer, Complete, Means, Plain};
use crate::ping::{Opening, PingError};
use std::net::SocketAddr;

/// `PING`: answered by `+PONG`, or by `-NOAUTH` where a password is wanted first. Either is one turn. Nobody logs in.
pub(super) struct RedisPing<'a> {
    means: Means<'a>,
    address: Option<SocketAddr>,
    connection: Option<Plain<'a>>,
}

impl<'a> RedisPing<'a> {
    pub(super) fn new(means: Means<'a>) -> Self {
        Self {
            means,
            address: None,
            connection: None,
        }
    }

    /// A connection that stands, as far as can be known here.
    fn connection(&mut self) -> Result<Plain<'a>, PingError> {
        match self.connection.take().filter(|connection| !connection.is_stale()) {
            Some(connection) => Ok(connection),
            None => Plain::connect(self.means, self.address.ok_or(PingError::Closed)?),
        }
    }
}

impl Probe for RedisPing<'_> {
    fn open(&mut self) -> Result<Opening, PingError> {
        let address = reachable(self.means)?;
        self.address = Some(address);
        let connection = Plain::connect(self.means, address)?;
        let handshake = connection.handshake();
        self.connection = Some(connection);
        Ok(Opening {
            server: Some(address),
            question: "PING, without a login".to_owned(),
            legs: vec![super::tcp_leg(handshake)],
            ..Opening::default()
        })
    }

    fn ask(&mut self) -> Result<Answer, PingError> {
        let connection = self.connection()?;
        let at = connection.send(wire::redis::PING)?;
        let arrived = connection.receive(whole)?;
        let refused = arrived.bytes.first() == Some(&b'-') && !arrived.bytes.starts_with(b"-NOAUTH");
        let answer = Answer {
            at,
            duration: arrived.at.since(at),
            server: None,
            turns: 1,
            kernel_rtt: connection.kernel_rtt(),
            request_bytes: wire::redis::PING.len() as u64,
            reply_bytes: arrived.bytes.len() as u64,
            error: refused.then_some("server: an error instead of an answer to PING"),
        };
        self.connection = Some(connection);
        Ok(answer)
    }

    fn close(&mut self) {
        self.connection = None;
    }
}

/// One line: `+PONG`, or an error.
fn whole(bytes: &[u8]) -> Complete {
    match bytes.first() {
        None => Complete::NotYet,
        Some(b'-') if bytes.ends_with(b"\r\n") => Complete::Yes,
        Some(b'-') => Complete::NotYet,
        Some(_) if bytes == PONG => Complete::Yes,
        Some(_) if PONG.starts_with(bytes) => Complete::NotYet,
        Some(_) => Complete::Never("Redis's answer to PING"),
    }
}

const PONG: &[u8] = b"+PONG\r\n";

//! Redis's own PING, on a connection that is kept.

use super::{Probe, reachable};
use crate::ping::plain::{Answer, Complete, Means, Plain};
use crate::ping::{Opening, PingError};
use model::{Leg, Phase};
use std::net::SocketAddr;
use std::time::Duration;

/// `PING`: answered by `+PONG`, or by `-NOAUTH` where a password is wanted first. Either is one turn. Where a login is wanted and
/// the target has a password, `AUTH` comes before it.
pub(super) struct RedisPing<'a> {
    means: Means<'a>,
    address: Option<SocketAddr>,
    connection: Option<Plain<'a>>,
    logs_in: bool,
}

impl<'a> RedisPing<'a> {
    pub(super) fn new(means: Means<'a>, logs_in: bool) -> Self {
        Self {
            means,
            address: None,
            connection: None,
            logs_in,
        }
    }

    /// A new connection, logged in where that is wanted, with its legs.
    fn connect(&self) -> Result<(Plain<'a>, Vec<Leg>), PingError> {
        let connection = Plain::connect(self.means, self.address.ok_or(PingError::Closed)?)?;
        let mut legs = vec![super::tcp_leg(connection.handshake())];
        if let Some(request) = self.login() {
            let at = connection.send(&request)?;
            let arrived = connection.receive(line)?;
            if !arrived.bytes.starts_with(b"+") {
                return Err(PingError::Login {
                    text: match arrived.bytes.starts_with(b"-WRONGPASS") {
                        true => "WRONGPASS invalid user name or password",
                        false => "an error instead of an answer to AUTH",
                    },
                });
            }
            legs.push(Leg {
                name: "auth".into(),
                phase: Phase::Login,
                duration: arrived.at.since(at),
                payload_bytes: [request.len() as u64, arrived.bytes.len() as u64],
                ..super::tcp_leg(Duration::ZERO)
            });
        }
        Ok((connection, legs))
    }

    /// What logs in, where there is something to log in with.
    fn login(&self) -> Option<Vec<u8>> {
        let password = self.means.target.password.as_ref().filter(|_| self.logs_in)?;
        let user = self.means.target.user.as_deref().filter(|user| !user.is_empty());
        let words = [Some("AUTH"), user, Some(password.reveal())];
        let words: Vec<&[u8]> = words.into_iter().flatten().map(str::as_bytes).collect();
        let mut request = Vec::new();
        wire::redis::write_command(&words, &mut request);
        Some(request)
    }

    /// A connection that stands, as far as can be known here.
    fn connection(&mut self) -> Result<Plain<'a>, PingError> {
        match self.connection.take().filter(|connection| !connection.is_stale()) {
            Some(connection) => Ok(connection),
            None => self.connect().map(|(connection, _)| connection),
        }
    }
}

impl Probe for RedisPing<'_> {
    fn open(&mut self) -> Result<Opening, PingError> {
        let address = reachable(self.means)?;
        self.address = Some(address);
        let (connection, legs) = self.connect()?;
        self.connection = Some(connection);
        Ok(Opening {
            server: Some(address),
            question: "PING".to_owned(),
            legs,
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
            error: refused.then(|| "server: an error instead of an answer to PING".to_owned()),
        };
        self.connection = Some(connection);
        Ok(answer)
    }

    fn close(&mut self) {
        self.connection = None;
    }
}

/// One line of any kind.
fn line(bytes: &[u8]) -> Complete {
    match bytes {
        [] => Complete::NotYet,
        [b'+' | b'-', ..] if bytes.ends_with(b"\r\n") => Complete::Yes,
        [b'+' | b'-', ..] => Complete::NotYet,
        _ => Complete::Never("Redis's answer to AUTH"),
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

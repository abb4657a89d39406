//! The greeting of MySQL and MariaDB: the server speaks first.

use super::{Probe, reachable};
use crate::ping::plain::{Answer, Complete, Plain, ProbeContext};
use crate::ping::{Opened, PingError};
use std::net::SocketAddr;
use wire::mysql::messages::PROTOCOL_VERSION;
use wire::mysql::messages::reply::ERR;

/// From SYN to the last byte of the greeting: two round trips, for the TCP handshake and the
/// greeting. The server counts each as an aborted connection.
pub(super) struct MysqlGreeting<'a> {
    context: ProbeContext<'a>,
    address: Option<SocketAddr>,
}

impl<'a> MysqlGreeting<'a> {
    pub(super) fn new(context: ProbeContext<'a>) -> Self {
        Self {
            context,
            address: None,
        }
    }
}

impl Probe for MysqlGreeting<'_> {
    fn open(&mut self) -> Result<Opened, PingError> {
        let address = reachable(self.context)?;
        self.address = Some(address);
        Ok(Opened {
            server: Some(address),
            question: "from SYN to the server's greeting: two round trips".to_owned(),
            caution: Some(
                "the server counts each as an aborted connection. After max_connect_errors (100) of them without a login, it may refuse \
                 this host until FLUSH HOSTS",
            ),
            ..Opened::default()
        })
    }

    fn send_request(&mut self) -> Result<Answer, PingError> {
        let mut connection = Plain::connect(self.context, self.address.ok_or(PingError::Closed)?)?;
        let arrived = connection.receive(whole)?;
        // After length and sequence number. An error: too many connections, or blocked host.
        let refused = arrived.bytes.get(4) == Some(&ERR);
        Ok(Answer {
            turns: Some(2),
            error: refused
                .then(|| "server: it refuses connections from this host, or has no room for more".to_owned()),
            ..connection.answer(connection.began(), 0, &arrived)
        })
    }

    fn kind(&self) -> Option<super::Kind> {
        None
    }
}

/// Whether the first packet is complete: three bytes of length, a zero sequence number, and the
/// payload.
fn whole(bytes: &[u8]) -> Complete {
    match bytes {
        [low, middle, high, 0, body @ ..] => {
            let length = u32::from_le_bytes([*low, *middle, *high, 0]) as usize;
            match body.first() {
                Some(&(PROTOCOL_VERSION | ERR)) if length > MAX_GREETING_LEN => {
                    Complete::Never("MySQL's greeting")
                }
                Some(&(PROTOCOL_VERSION | ERR)) if body.len() >= length => Complete::Yes,
                Some(&(PROTOCOL_VERSION | ERR)) | None => Complete::NotYet,
                Some(_) => Complete::Never("MySQL's greeting"),
            }
        }
        [_, _, _, _, ..] => Complete::Never("MySQL's greeting"),
        _ => Complete::NotYet,
    }
}

const MAX_GREETING_LEN: usize = 4096;

//! A TCP handshake, for protocols without a reply before login.

use super::{Kind, Probe, reachable};
use crate::ping::plain::{Answer, Plain, ProbeContext};
use crate::ping::{Opened, PingError};
use std::net::SocketAddr;

/// One round trip, answered by the server's kernel. Closes the connection at once.
pub(super) struct Connecting<'a> {
    context: ProbeContext<'a>,
    address: Option<SocketAddr>,
}

impl<'a> Connecting<'a> {
    pub(super) fn new(context: ProbeContext<'a>) -> Self {
        Self {
            context,
            address: None,
        }
    }
}

impl Probe for Connecting<'_> {
    fn open(&mut self) -> Result<Opened, PingError> {
        let address = reachable(self.context)?;
        self.address = Some(address);
        Ok(Opened {
            server: Some(address),
            question: "a TCP handshake, answered by the server's kernel".to_owned(),
            ..Opened::default()
        })
    }

    fn send_request(&mut self) -> Result<Answer, PingError> {
        let connection = Plain::connect(self.context, self.address.ok_or(PingError::Closed)?)?;
        Ok(Answer {
            at: connection.began(),
            duration: connection.handshake(),
            server: None,
            turns: Some(1),
            kernel_rtt: connection.kernel_rtt(),
            request_bytes: 0,
            reply_bytes: 0,
            error: None,
        })
    }

    fn kind(&self) -> Option<Kind> {
        Some(Kind::Connecting)
    }
}

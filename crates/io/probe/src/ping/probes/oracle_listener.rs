//! Oracle's listener, asked as by `tnsping`.

use super::{Probe, reachable};
use crate::ping::plain::{Answer, Complete, Plain, ProbeContext};
use crate::ping::{Opened, PingError};
use std::net::SocketAddr;
use wire::tns;

/// CONNECT with COMMAND=ping on a new connection each time, since the listener closes it. The
/// handshake is not included. Takes one round trip, and a second if the listener requests the
/// packet again (RESEND).
pub(super) struct OracleListener<'a> {
    context: ProbeContext<'a>,
    address: Option<SocketAddr>,
    request: Vec<u8>,
    login_was_meant: bool,
}

impl<'a> OracleListener<'a> {
    pub(super) fn new(context: ProbeContext<'a>, login_was_meant: bool) -> Self {
        let target = context.target;
        Self {
            context,
            address: None,
            // A host name too long for a packet cannot have been resolved.
            request: tns::ping_request(&target.host, target.port).unwrap_or_default(),
            login_was_meant,
        }
    }

    fn converse(&self) -> Result<(Answer, tns::ListenerAnswer), PingError> {
        let mut connection = Plain::connect(self.context, self.address.ok_or(PingError::Closed)?)?;
        let at = connection.send(&self.request)?;
        let mut turns = 1;
        let mut reply_bytes = 0;
        loop {
            let arrived = connection.receive(whole)?;
            reply_bytes += arrived.bytes.len() as u64;
            match tns::answer(&arrived.bytes) {
                Ok(Some(tns::ListenerAnswer::Resend)) if turns < MAX_RESENDS => {
                    connection.send(&self.request)?;
                    turns += 1;
                }
                Ok(None | Some(tns::ListenerAnswer::Resend)) | Err(_) => {
                    return Err(PingError::Unexpected { expected: EXPECTED });
                }
                Ok(Some(told)) => {
                    let answer = Answer {
                        turns: Some(turns),
                        request_bytes: turns * self.request.len() as u64,
                        reply_bytes,
                        ..connection.answer(at, 0, &arrived)
                    };
                    return Ok((answer, told));
                }
            }
        }
    }
}

impl Probe for OracleListener<'_> {
    fn open(&mut self) -> Result<Opened, PingError> {
        let address = reachable(self.context)?;
        self.address = Some(address);
        let (_, told) = self.converse()?;
        let version = match told {
            tns::ListenerAnswer::Refuse(refusal) => refusal.version,
            tns::ListenerAnswer::Resend
            | tns::ListenerAnswer::Redirect { .. }
            | tns::ListenerAnswer::Accept { .. } => None,
        };
        Ok(Opened {
            server: Some(address),
            version: version.map(|version| format!("Oracle Net listener {version}")),
            question:
                "the listener, as tnsping asks it, on a new connection each time, connecting apart from it"
                    .to_owned(),
            caution: Some(if self.login_was_meant {
                "there is no login: longwire was built without the feature oracle (cargo build --release --features oracle). \
                 The listener answers, not a database, and each leaves a line in its log"
            } else {
                "each leaves a line in the listener's log; the listener answers, not a database"
            }),
            ..Opened::default()
        })
    }

    fn send_request(&mut self) -> Result<Answer, PingError> {
        self.converse().map(|(answer, _)| answer)
    }
}

fn whole(bytes: &[u8]) -> Complete {
    match tns::answer(bytes) {
        Ok(Some(_)) => Complete::Yes,
        Ok(None) => Complete::NotYet,
        Err(_) => Complete::Never(EXPECTED),
    }
}

const EXPECTED: &str = "a listener's answer to CONNECT";
/// A listener that keeps requesting the packet is faulty.
const MAX_RESENDS: u64 = 4;

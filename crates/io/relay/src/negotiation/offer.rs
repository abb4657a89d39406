//! Removes channel binding from the start of a PostgreSQL login, because TLS ends at longwire.
//!
//! A plain client that is offered SCRAM-SHA-256-PLUS takes that for an attack and leaves (libpq:
//! "server offered SCRAM-SHA-256-PLUS authentication over a non-SSL connection"). Without the offer
//! it says that it cannot bind, which the server accepts.

use super::{CONNECT_LIMIT, LiveError, Negotiation, SILENCE};
use model::Direction;
use sys::resolve;
use sys::socket::{Received, Sent, Socket};
use sys::transport::Transport;
use wire::postgres::messages::backend::{AUTHENTICATION, ERROR_RESPONSE};

impl Negotiation<'_> {
    /// Forwards the start-up message, which begins with `first`, and the server's answer without
    /// channel binding. If the server accepts no login with TLS and the target does not insist,
    /// retries without TLS, as libpq does. Returns the server's side.
    pub(super) fn start_up(&mut self, first: [u8; 8], mut server: Transport) -> Result<Transport, LiveError> {
        let at = self.now();
        let mut message = first.to_vec();
        let is_encrypted = matches!(server, Transport::Tls(_));
        let [a, b, c, d, version @ ..] = first;
        let length = u32::from_be_bytes([a, b, c, d]) as usize;
        // A cancel request is no login and has no answer.
        let is_login = is_encrypted && version[..2] == [0, 3] && (8..=MAX_STARTUP_LEN).contains(&length);
        if is_login {
            message.resize(length, 0);
            self.read_client(message.get_mut(8..).unwrap_or_default())?;
        }
        self.send_server(&mut server, &message)?;
        self.keep(Direction::ClientToServer, at, message.clone());
        if !is_login {
            return Ok(server);
        }
        let answer = self.answer(&mut server)?;
        if is_kept_out(&answer) && !self.shared.security.mode.insists() {
            return self.without_tls(&message);
        }
        self.offer(answer)?;
        Ok(server)
    }

    fn answer(&mut self, server: &mut Transport) -> Result<Vec<u8>, LiveError> {
        self.set_patience(server.socket(), SILENCE)?;
        let mut answer = self.read_server(server, HEAD)?;
        let length = answer.get(1..HEAD).map_or(0, |digits| {
            digits.iter().fold(0, |sum, digit| sum << 8 | usize::from(*digit))
        });
        if (4..=MAX_ANSWER_LEN).contains(&length) {
            answer.extend(self.read_server(server, length - 4)?);
        }
        Ok(answer)
    }

    fn without_tls(&mut self, message: &[u8]) -> Result<Transport, LiveError> {
        let shared = self.shared;
        let stream = resolve::connect(&shared.target, &shared.addresses, CONNECT_LIMIT)?;
        let socket = Socket::adopt(stream).map_err(|reason| LiveError::System {
            operation: "set up a socket",
            reason,
        })?;
        let mut server = Transport::Plain(socket);
        self.send_server(&mut server, message)?;
        Ok(server)
    }

    fn offer(&mut self, mut answer: Vec<u8>) -> Result<(), LiveError> {
        let less = without_binding(&answer);
        let taken_out = less.is_some();
        if let Some(less) = less {
            answer = less;
        }
        self.send_client(&answer)?;
        let at = self.now();
        self.keep(Direction::ServerToClient, at, answer);
        if taken_out {
            self.shared.counters.unbound();
            self.look_whether_the_client_stays()?;
        }
        Ok(())
    }

    /// Clients that insist on channel binding leave without the offer.
    fn look_whether_the_client_stays(&self) -> Result<(), LiveError> {
        self.set_patience(self.client, SILENCE)?;
        match self.client.stream().peek(&mut [0]) {
            Ok(0) => Err(LiveError::ClientWantsBinding {
                server: self.shared.target.server(),
            }),
            // The error shows again when the bytes are read.
            Ok(_) | Err(_) => Ok(()),
        }
    }

    fn send_server(&self, server: &mut Transport, bytes: &[u8]) -> Result<(), LiveError> {
        match server.send(bytes) {
            Sent::Bytes(count) if count == bytes.len() => Ok(()),
            Sent::Bytes(_) | Sent::Broken(_) => Err(self.server_left()),
        }
    }

    fn read_server(&self, server: &mut Transport, count: usize) -> Result<Vec<u8>, LiveError> {
        let mut bytes = vec![0; count];
        let mut filled = 0;
        while let Some(rest) = bytes.get_mut(filled..).filter(|rest| !rest.is_empty()) {
            match server.receive(rest) {
                Received::Bytes { count, .. } => filled += count,
                Received::Nothing | Received::End | Received::Broken(_) => return Err(self.server_left()),
            }
        }
        Ok(bytes)
    }

    fn server_left(&self) -> LiveError {
        super::server_left(&self.shared.target)
    }
}

/// Whether the SQLSTATE says that no login is accepted this way.
fn is_kept_out(message: &[u8]) -> bool {
    let fields = message
        .strip_prefix(&[ERROR_RESPONSE])
        .and_then(|rest| rest.get(4..));
    fields.is_some_and(|fields| fields.split(|byte| *byte == 0).any(|field| field == b"C28000"))
}

/// `AuthenticationSASL` without mechanisms that bind; `None` for other messages or without one of
/// these.
fn without_binding(message: &[u8]) -> Option<Vec<u8>> {
    let (head, names) = message.split_at_checked(HEAD + 4)?;
    if head.get(HEAD..) != Some(&SASL) {
        return None;
    }
    let all = names.split_inclusive(|byte| *byte == 0);
    let left: Vec<u8> = all
        .filter(|name| !name.ends_with(b"-PLUS\0"))
        .flatten()
        .copied()
        .collect();
    if left.len() == names.len() {
        return None;
    }
    let length = (left.len() + 8) as u32;
    Some([&[AUTHENTICATION][..], &length.to_be_bytes(), &SASL, &left].concat())
}

const HEAD: usize = 5;
const SASL: [u8; 4] = [0, 0, 0, 10];
/// PostgreSQL accepts no longer ones.
const MAX_STARTUP_LEN: usize = 10_000;
/// A list of mechanisms has tens of bytes, an error a few hundred.
const MAX_ANSWER_LEN: usize = 16 * 1024;

#[cfg(test)]
mod tests {
    use super::{is_kept_out, without_binding};

    fn message(kind: u8, names: &[u8]) -> Vec<u8> {
        [
            &b"R"[..],
            &(names.len() as u32 + 8).to_be_bytes(),
            &[0, 0, 0, kind],
            names,
        ]
        .concat()
    }

    #[test]
    fn mechanisms_that_bind_are_taken_out_of_an_offer_and_nothing_else() {
        let both = message(10, b"SCRAM-SHA-256-PLUS\0SCRAM-SHA-256\0\0");
        let less = message(10, b"SCRAM-SHA-256\0\0");
        assert_eq!(without_binding(&both), Some(less.clone()));
        assert_eq!(without_binding(&less), None);
        assert_eq!(without_binding(&message(5, b"SCRAM-SHA-256-PLUS\0\0")), None);
        assert_eq!(without_binding(b"R\0\0\0"), None);
    }

    #[test]
    fn a_server_that_lets_nobody_in_this_way_is_known_by_its_code() {
        assert!(is_kept_out(b"E\0\0\0\x13SFATAL\0C28000\0\0"));
        for other in [
            &b"E\0\0\0\x13SFATAL\0C28P01\0\0"[..],
            b"R\0\0\0\x08\0\0\0\0",
            b"E",
        ] {
            assert!(!is_kept_out(other));
        }
    }
}

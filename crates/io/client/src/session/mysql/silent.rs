//! Handles a server without the expected MySQL greeting: it may wait for the first message of
//! another protocol.

use crate::session::SessionError;
use crate::session::deadline::Deadline;
use crate::session::opening::LoginContext;
use model::Protocol;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;
use wire::postgres::messages::backend::ERROR_RESPONSE;
use wire::postgres::messages::encryption;
use wire::protocols::other_protocol;
use wire::tls_request::SSL_REQUEST;

/// Waits for the server's first bytes. If they do not come, probes for other protocols, then
/// continues waiting. A shorter deadline is respected.
pub(super) fn expect_greeting(opening: &mut LoginContext<'_, '_>) -> Result<(), SessionError> {
    if opening.deadline.left()? <= GREETING_TIMEOUT + 2 * ANSWER_TIMEOUT {
        return Ok(());
    }
    match opening.line.await_bytes(&Deadline::after(GREETING_TIMEOUT)) {
        Err(SessionError::TimedOut { .. }) => {}
        other => return other,
    }
    let peer = opening.line.transport().socket().peer();
    match peer.ok().and_then(other_protocol_at) {
        Some(found) => Err(SessionError::OtherProtocol {
            expected: Protocol::Mysql,
            found,
        }),
        None => Ok(()),
    }
}

/// Detects a protocol in which clients speak first. A MySQL server counts each probe as an aborted
/// connection.
fn other_protocol_at(server: SocketAddr) -> Option<Protocol> {
    // PostgreSQL answers with one byte, which no recogniser takes for certain; the others answer
    // recognisably.
    let answer = send_request(server, &SSL_REQUEST)?;
    if matches!(
        answer[..],
        [encryption::TLS | encryption::NONE] | [ERROR_RESPONSE, 0, ..]
    ) {
        return Some(Protocol::Postgres);
    }
    let answer = match answer.is_empty() {
        true => send_request(server, PING)?,
        false => answer,
    };
    let is_redis = [&b"+PONG"[..], b"-NOAUTH", b"-DENIED", b"-ERR"]
        .iter()
        .any(|reply| answer.starts_with(reply));
    match is_redis {
        true => Some(Protocol::Redis),
        false => other_protocol(Protocol::Mysql, &answer),
    }
}

/// First bytes of the answer to `question`, empty without an answer; `None` if it cannot be asked.
fn send_request(server: SocketAddr, question: &[u8]) -> Option<Vec<u8>> {
    let mut stream = TcpStream::connect_timeout(&server, ANSWER_TIMEOUT).ok()?;
    stream.set_read_timeout(Some(ANSWER_TIMEOUT)).ok()?;
    stream.set_write_timeout(Some(ANSWER_TIMEOUT)).ok()?;
    stream.write_all(question).ok()?;
    let mut answer = vec![0; MAX_ANSWER_BYTES];
    let count = stream.read(&mut answer).unwrap_or_default();
    answer.truncate(count);
    Some(answer)
}

/// An inline command of Redis, which servers of HTTP reject as malformed.
const PING: &[u8] = b"PING\r\n\r\n";
/// Limit for MySQL's greeting before other protocols are tried.
const GREETING_TIMEOUT: Duration = Duration::from_secs(1);
const ANSWER_TIMEOUT: Duration = Duration::from_secs(1);
const MAX_ANSWER_BYTES: usize = 256;

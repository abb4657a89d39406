//! A server that says nothing where MySQL's speaks first: it may wait for the first message of another
//! protocol.

use crate::session::SessionError;
use crate::session::deadline::Deadline;
use crate::session::opening::LoginContext;
use model::Protocol;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;
use wire::protocols::other_protocol;
use wire::tls_request::SSL_REQUEST;

/// Waits for the first bytes of the server. Where they do not come, it is asked what else it speaks; where it
/// does not say, waiting goes on. Who waits for less than that takes is not kept waiting.
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

/// The protocol of a server that waits for its clients to speak first. A server of MySQL counts each question
/// as an aborted connection.
fn other_protocol_at(server: SocketAddr) -> Option<Protocol> {
    // PostgreSQL answers with one byte, which no recogniser takes for certain; the others with what says it.
    let answer = send_request(server, &SSL_REQUEST)?;
    if matches!(answer.as_slice(), b"S" | b"N") || answer.starts_with(b"E\0") {
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

/// The first bytes that a server answers to `question`, none where it says nothing; `None` where it cannot be
/// asked.
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

/// Redis answers it, as one of its inline commands, and servers of HTTP say that it is none of theirs.
const PING: &[u8] = b"PING\r\n\r\n";
/// How long MySQL's greeting may take before its server is asked otherwise.
const GREETING_TIMEOUT: Duration = Duration::from_secs(1);
/// How long each answer may take.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(1);
const MAX_ANSWER_BYTES: usize = 256;

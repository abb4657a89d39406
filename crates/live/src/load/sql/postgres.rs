//! PostgreSQL: login and simple queries.
//!
//! Source: PostgreSQL manual, chapter "Frontend/Backend Protocol".

use super::super::conversation::Conversation;
use super::super::error::without_values;
use super::super::{Birth, Deadline, LoadError};
use crate::target::Target;
use postgres_protocol::authentication::md5_hash;
use postgres_protocol::authentication::sasl::{ChannelBinding, SCRAM_SHA_256, ScramSha256};
use std::net::SocketAddr;
use wire::postgres::PostgresDecoder;

/// `Terminate`.
pub const GOODBYE: &[u8] = b"X\0\0\0\x04";
/// `CopyFail`: a load has no data to copy.
pub const REFUSAL: &[u8] = b"f\0\0\0\x05\0";

/// A connection that is logged in.
pub fn connect<'a>(
    target: &Target,
    address: SocketAddr,
    birth: &Birth<'a>,
    deadline: &Deadline,
) -> Result<Conversation<'a>, LoadError> {
    let decoder = Box::new(PostgresDecoder::new());
    let mut connection = Conversation::open(&target.server(), address, decoder, birth)?;
    connection.send(&start_up(target), deadline)?;
    let mut scram = None;
    loop {
        let (tag, body) = message(&mut connection, deadline)?;
        match tag {
            b'R' => authenticate(&mut connection, target, &body, &mut scram, deadline)?,
            b'E' => return Err(refused(&body)),
            b'Z' => return Ok(connection),
            // Parameters, the key for cancelling, notices.
            _ => {}
        }
    }
}

/// A `Query` message with the statement that `text` writes.
pub fn query(request: &mut Vec<u8>, text: impl FnOnce(&mut Vec<u8>)) {
    framed(request, b'Q', |body| {
        text(body);
        body.push(0);
    });
}

fn start_up(target: &Target) -> Vec<u8> {
    let user = target.user.as_deref().unwrap_or("postgres");
    let mut body = 196_608_u32.to_be_bytes().to_vec();
    let database = target
        .database
        .as_deref()
        .filter(|name| !name.is_empty())
        .unwrap_or(user);
    let parameters = [
        ("user", user),
        ("database", database),
        ("application_name", "longwire"),
    ];
    for (name, value) in parameters {
        for text in [name, value] {
            body.extend_from_slice(text.as_bytes());
            body.push(0);
        }
    }
    body.push(0);
    let mut message = (body.len() as u32 + 4).to_be_bytes().to_vec();
    message.append(&mut body);
    message
}

fn authenticate(
    connection: &mut Conversation<'_>,
    target: &Target,
    body: &[u8],
    scram: &mut Option<ScramSha256>,
    deadline: &Deadline,
) -> Result<(), LoadError> {
    let (kind, rest) = body.split_at_checked(4).ok_or_else(unknown)?;
    let kind = u32::from_be_bytes(kind.try_into().unwrap_or_default());
    if kind == 0 {
        return Ok(());
    }
    let password = target
        .password
        .as_ref()
        .ok_or(LoadError::NoPassword)?
        .reveal()
        .as_bytes();
    let answer = match (kind, scram) {
        (3, _) => [password, b"\0"].concat(),
        (5, _) => {
            let salt = rest.try_into().map_err(|_| unknown())?;
            let user = target.user.as_deref().unwrap_or("postgres").as_bytes();
            [md5_hash(user, password, salt).as_bytes(), b"\0"].concat()
        }
        (10, scram)
            if rest
                .split(|byte| *byte == 0)
                .any(|name| name == SCRAM_SHA_256.as_bytes()) =>
        {
            let begun = scram.insert(ScramSha256::new(password, ChannelBinding::unsupported()));
            let first = begun.message();
            let length = (first.len() as u32).to_be_bytes();
            [SCRAM_SHA_256.as_bytes(), b"\0", &length, first].concat()
        }
        (11, Some(begun)) => {
            begun.update(rest).map_err(|_| unknown())?;
            begun.message().to_vec()
        }
        // The server's proof, which it sends when it has accepted ours.
        (12, Some(begun)) => return begun.finish(rest).map_err(|_| unknown()),
        (other, _) => {
            let method = format!("PostgreSQL's method {other}");
            return Err(LoadError::Authentication { method });
        }
    };
    let mut message = Vec::new();
    framed(&mut message, b'p', |body| body.extend_from_slice(&answer));
    connection.send(&message, deadline)
}

fn framed(message: &mut Vec<u8>, tag: u8, body: impl FnOnce(&mut Vec<u8>)) {
    let start = message.len();
    message.extend_from_slice(&[tag, 0, 0, 0, 0]);
    body(message);
    let length = (message.len() - start - 1) as u32;
    if let Some(field) = message.get_mut(start + 1..start + 5) {
        field.copy_from_slice(&length.to_be_bytes());
    }
}

/// The server's next message of the login: its tag and its body.
fn message(connection: &mut Conversation<'_>, deadline: &Deadline) -> Result<(u8, Vec<u8>), LoadError> {
    let head = connection.bytes(5, deadline)?;
    let [tag, length @ ..] = head.as_slice() else {
        return Err(LoadError::Closed);
    };
    let length = u32::from_be_bytes(length.try_into().unwrap_or_default());
    if !(4..=LONGEST_MESSAGE).contains(&length) {
        return Err(unknown());
    }
    Ok((*tag, connection.bytes(length as usize - 4, deadline)?))
}

fn refused(body: &[u8]) -> LoadError {
    let field = |wanted: u8| {
        body.split(|byte| *byte == 0)
            .find_map(|field| field.strip_prefix(&[wanted]))
            .unwrap_or_default()
    };
    LoadError::Login {
        code: String::from_utf8_lossy(field(b'C')).into_owned(),
        text: without_values(field(b'M')),
    }
}

fn unknown() -> LoadError {
    LoadError::Authentication {
        method: "an exchange that is not PostgreSQL's".to_owned(),
    }
}

/// Of a message during login.
const LONGEST_MESSAGE: u32 = 64 * 1024;

//! Login to a PostgreSQL server.
//!
//! Source: PostgreSQL manual, chapter "Frontend/Backend Protocol".

mod binding;

use super::SessionError;
use super::opening::LoginContext;
use crate::postgres::{error, header, password, startup};
use model::Phase;
use postgres_protocol::authentication::md5_hash;
use postgres_protocol::authentication::sasl::ScramSha256;
use sys::error::LiveError;
use sys::target::ChannelBinding;
use wire::postgres::messages::backend::{AUTHENTICATION, BACKEND_KEY_DATA, ERROR_RESPONSE, READY_FOR_QUERY};
use wire::postgres::messages::encryption;
use wire::tls_request::SSL_REQUEST;

pub(super) fn log_in<'o, 'a>(
    mut opening: LoginContext<'o, 'a>,
) -> Result<LoginContext<'o, 'a>, SessionError> {
    if let Some(config) = opening.tls.take()
        && (opening.security.direct || request_tls(&mut opening)?)
    {
        opening = opening.encrypted(config)?;
    }
    let start_up = start_up(&opening);
    opening.send(&start_up)?;
    let mut leg = START_UP;
    let mut scram = None;
    loop {
        let (tag, body) = message(&mut opening)?;
        match tag {
            AUTHENTICATION => {
                if let Some(next) = authenticate(&mut opening, &body, &mut scram, leg)? {
                    leg = next;
                }
            }
            ERROR_RESPONSE => return Err(error(&body).into()),
            READY_FOR_QUERY => {
                opening.leg(leg, Phase::Login);
                emit_remedy(&mut opening, leg);
                return Ok(opening);
            }
            BACKEND_KEY_DATA => {
                opening.process = body.first_chunk().map(|process| u32::from_be_bytes(*process))
            }
            // Parameters, notices.
            _ => {}
        }
    }
}

/// Requests TLS, and the server answers with one byte. Returns false if it has none, and the target
/// does not insist.
fn request_tls(opening: &mut LoginContext<'_, '_>) -> Result<bool, SessionError> {
    opening.send_unshown(&SSL_REQUEST)?;
    let answer = opening.bytes_unshown(1)?;
    opening.leg("tls request", Phase::Tls);
    match answer.as_slice() {
        [encryption::TLS] => {
            opening.remedy(
                1,
                "sslnegotiation=direct: TLS begins without asking (client and server 17 or later)",
            );
            Ok(true)
        }
        [encryption::NONE] if !opening.security.mode.insists() => {
            opening.remedy(
                1,
                "sslmode=disable: this server has no TLS, yet each connection asks for it",
            );
            Ok(false)
        }
        _ => Err(SessionError::Connect(LiveError::ServerWithoutTls {
            server: opening.target.server(),
        })),
    }
}

fn start_up(opening: &LoginContext<'_, '_>) -> Vec<u8> {
    let user = opening.user.as_str();
    let database = opening.target.database.as_deref();
    startup(&[
        ("user", user),
        (
            "database",
            database.filter(|name| !name.is_empty()).unwrap_or(user),
        ),
        ("application_name", "longwire"),
    ])
}

/// Answers an authentication message. Returns the name of the leg that the answer begins, if there
/// is one: the leg `under_way` ends with the server's message then.
fn authenticate(
    opening: &mut LoginContext<'_, '_>,
    body: &[u8],
    scram: &mut Option<ScramSha256>,
    under_way: &str,
) -> Result<Option<&'static str>, SessionError> {
    let (kind, rest) = body.split_at_checked(4).ok_or_else(unknown)?;
    let kind = u32::from_be_bytes(kind.try_into().unwrap_or_default());
    let is_scram = matches!(kind, 10..=12) || kind == 0 && scram.is_some();
    if opening.security.channel_binding == ChannelBinding::Require && !is_scram {
        return Err(SessionError::NotBound);
    }
    if kind == 0 {
        return Ok(None);
    }
    if kind != 12 {
        opening.leg(under_way, Phase::Login);
        emit_remedy(opening, under_way);
    }
    let secret = opening.password.clone().ok_or_else(|| opening.no_password())?;
    let secret = secret.reveal().as_bytes();
    let (leg, answer) = match (kind, scram) {
        (3, _) if opening.may_send_password() => ("password", [secret, b"\0"].concat()),
        (3, _) => return Err(SessionError::PasswordUnprotected { method: "password" }),
        (5, _) => {
            let salt = rest.try_into().map_err(|_| unknown())?;
            let hash = md5_hash(opening.user.as_bytes(), secret, salt);
            ("md5", [hash.as_bytes(), b"\0"].concat())
        }
        (10, scram) => {
            let (mechanism, binding) = binding::choose(opening, rest)?;
            let begun = scram.insert(ScramSha256::new(secret, binding));
            let first = begun.message();
            let length = (first.len() as u32).to_be_bytes();
            let answer = [mechanism.as_bytes(), b"\0", &length, first].concat();
            ("scram-sha-256 first", answer)
        }
        (11, Some(begun)) => {
            if !is_affordable(rest) {
                return Err(unknown());
            }
            begun.update(rest).map_err(|_| unknown())?;
            let answer = begun.message().to_vec();
            opening.own_work("scram-sha-256 computing", Phase::Login);
            ("scram-sha-256 final", answer)
        }
        // The server's proof, sent after it has accepted ours.
        (12, Some(begun)) => {
            begun.finish(rest).map_err(|_| unknown())?;
            return Ok(None);
        }
        (other, _) => {
            let method = format!("PostgreSQL's method {other}");
            return Err(SessionError::Authentication { method });
        }
    };
    opening.send(&password(&answer))?;
    Ok(Some(leg))
}

/// Every leg of a password can be avoided: a client certificate is proved in the TLS handshake, and
/// a Unix-domain socket identifies its peer.
fn emit_remedy(opening: &mut LoginContext<'_, '_>, leg: &str) {
    if leg != START_UP {
        opening.remedy(
            1,
            "a client certificate (cert in pg_hba.conf), or peer over a Unix socket",
        );
    }
}

/// Rejects more hashing rounds than any real configuration has (PostgreSQL's `scram_iterations`
/// defaults to 4096), since the client does the work.
fn is_affordable(challenge: &[u8]) -> bool {
    let text = std::str::from_utf8(challenge).unwrap_or_default();
    let rounds = text.split(',').find_map(|field| field.strip_prefix("i="));
    rounds
        .and_then(|digits| digits.parse::<u32>().ok())
        .is_some_and(|rounds| rounds <= MAX_ROUNDS)
}

fn message(opening: &mut LoginContext<'_, '_>) -> Result<(u8, Vec<u8>), SessionError> {
    let head = opening.bytes(5)?;
    let head = head.first_chunk().and_then(|head| header(*head));
    let (tag, length) = head
        .filter(|(_, length)| *length <= MAX_MESSAGE_LEN)
        .ok_or_else(unknown)?;
    Ok((tag, opening.bytes(length)?))
}

fn unknown() -> SessionError {
    SessionError::NotTheProtocol {
        protocol: "PostgreSQL",
        found: "a message of another length or content",
    }
}

const START_UP: &str = "startup";
/// About half a second of hashing.
const MAX_ROUNDS: u32 = 1_000_000;
const MAX_MESSAGE_LEN: usize = 64 * 1024;

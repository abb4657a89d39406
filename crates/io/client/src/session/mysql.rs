//! Login of MySQL and MariaDB.
//!
//! Source: MySQL 8.4 source documentation, "Client/Server Protocol".

mod method;
mod proving;
mod rsa;
mod silent;

use super::SessionError;
use super::opening::LoginContext;
use crate::mysql::{Greeting, LoginRequest, error, header, packet};
use method::Method;
use model::Phase;
use proving::Proving;
use sys::error::LiveError;
use wire::mysql::messages::reply::{AUTH_MORE_DATA, ERR};
use wire::tls_request::tls_request;

pub(super) fn log_in<'o, 'a>(
    mut opening: LoginContext<'o, 'a>,
) -> Result<LoginContext<'o, 'a>, SessionError> {
    if opening.asks_otherwise {
        silent::expect_greeting(&mut opening)?;
    }
    let (_, first) = next_packet(&mut opening)?;
    opening.leg("greeting", Phase::Connect);
    if first.first() == Some(&ERR) {
        return Err(error(&first).into());
    }
    let greeting = Greeting::parse(&first).ok_or_else(unknown)?;
    let challenge = greeting.challenge;
    opening.process = Some(greeting.connection);
    opening.takes_bulk = opening.loading && greeting.offers_bulk;
    if opening.compression && !greeting.offers_compression {
        return Err(SessionError::NoCompression);
    }
    // The server's own method is tried first, so that an account that uses it needs no other
    // exchange.
    let method = Method::named(&challenge.method)
        .filter(|method| *method != Method::Clear)
        .unwrap_or(Method::Native);
    let proof = method.answer(proving::password(&opening), &challenge.nonce);
    let mut response = response(&opening, method, &proof);
    let offered = greeting.offers_tls;
    if let Some(config) = opening
        .tls
        .take()
        .filter(|_| offered || opening.security.mode.insists())
    {
        let request = tls_request(&mut response).filter(|_| offered);
        let request = request.ok_or_else(|| LiveError::ServerWithoutTls {
            server: opening.target.server(),
        })?;
        // Sent without waiting: the handshake follows it at once.
        opening.send_unshown(&request)?;
        opening = opening.encrypted(config)?;
    }
    opening.send(&response)?;
    authenticate(&mut opening, method, challenge.nonce)?;
    Ok(opening)
}

fn authenticate(
    opening: &mut LoginContext<'_, '_>,
    method: Method,
    nonce: Vec<u8>,
) -> Result<(), SessionError> {
    let mut proving = Proving::begin(method, nonce);
    loop {
        let (number, body) = next_packet(opening)?;
        match body.as_slice() {
            // OK follows without being requested.
            FAST_SUCCESS => continue,
            [ERR, ..] => return Err(refusal(opening, &body)),
            _ => {}
        }
        proving.end_leg(opening);
        match proving.answer(opening, &body)? {
            None => return Ok(()),
            Some(answer) => {
                let mut out = Vec::new();
                packet(&mut out, number.wrapping_add(1), |body| {
                    body.extend_from_slice(&answer);
                });
                opening.send(&out)?;
            }
        }
    }
}

fn response(opening: &LoginContext<'_, '_>, method: Method, proof: &[u8]) -> Vec<u8> {
    let request = LoginRequest {
        user: &opening.user,
        database: opening.target.database.as_deref().filter(|name| !name.is_empty()),
        method: method.name(),
        proof,
        compression: opening.compression,
        loading: opening.loading,
        bulk: opening.takes_bulk,
    };
    request.packet()
}

fn next_packet(opening: &mut LoginContext<'_, '_>) -> Result<(u8, Vec<u8>), SessionError> {
    let head = opening.bytes(4)?;
    let (length, number) = header(*head.first_chunk().ok_or(SessionError::Closed)?);
    if length > MAX_LOGIN_LEN {
        return Err(unknown());
    }
    Ok((number, opening.bytes(length)?))
}

/// The error of a refused login: a missing password, if there was none.
fn refusal(opening: &LoginContext<'_, '_>, body: &[u8]) -> SessionError {
    match error(body).into() {
        SessionError::Login { code, .. } if code == ACCESS_DENIED && opening.password.is_none() => {
            opening.no_password()
        }
        refused => refused,
    }
}

fn unknown() -> SessionError {
    SessionError::NotTheProtocol {
        protocol: "MySQL",
        found: "a packet of another length or content",
    }
}

/// `caching_sha2_password` knew the password, and OK follows.
const FAST_SUCCESS: &[u8] = &[AUTH_MORE_DATA, 3];
const ACCESS_DENIED: &str = "1045";
const MAX_LOGIN_LEN: usize = 64 * 1024;

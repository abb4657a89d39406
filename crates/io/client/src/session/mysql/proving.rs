//! Exchange of proofs, one leg after another.

use super::method::{Method, xor};
use super::{rsa, unknown};
use crate::mysql::Challenge;
use crate::session::SessionError;
use crate::session::opening::LoginContext;
use model::Phase;
use ring::rand::{SecureRandom, SystemRandom};
use sys::error::LiveError;
use wire::mysql::messages::reply::{AUTH_MORE_DATA, AUTH_SWITCH, OK};

pub(super) struct Proving {
    method: Method,
    nonce: Vec<u8>,
    leg: String,
    remedy: Option<&'static str>,
}

impl Proving {
    pub fn begin(method: Method, nonce: Vec<u8>) -> Self {
        Self {
            method,
            nonce,
            leg: format!("login by {}", method.name()),
            remedy: None,
        }
    }

    pub fn end_leg(&mut self, opening: &mut LoginContext<'_, '_>) {
        opening.leg(&self.leg, Phase::Login);
        if let Some(remedy) = self.remedy.take() {
            opening.remedy(1, remedy);
        }
    }

    pub fn answer(
        &mut self,
        opening: &mut LoginContext<'_, '_>,
        body: &[u8],
    ) -> Result<Option<Vec<u8>>, SessionError> {
        let answer = match body {
            [OK, ..] => return Ok(None),
            [AUTH_SWITCH, ..] => self.switched(opening, body)?,
            FULL if opening.is_private() => {
                self.goes_on(
                    "full",
                    Some("the server asks for it only the first time since it was started"),
                );
                Method::Clear.answer(password(opening), &[])
            }
            FULL if opening.target.public_key_retrieval => {
                self.goes_on(
                    "public key",
                    Some("TLS, or the server's public key kept at the client"),
                );
                vec![PUBLIC_KEY]
            }
            FULL => {
                return Err(SessionError::PasswordUnprotected {
                    method: self.method.name(),
                });
            }
            [AUTH_MORE_DATA, key @ ..] if self.method == Method::CachingSha2 => {
                self.goes_on("full", None);
                let secret = xor(&Method::Clear.answer(password(opening), &[]), &self.nonce);
                rsa::encrypted(&secret, key, seed()?).ok_or_else(unknown)?
            }
            _ => {
                return Err(SessionError::Authentication {
                    method: format!("{} in further exchanges", self.method.name()),
                });
            }
        };
        Ok(Some(answer))
    }

    fn switched(&mut self, opening: &mut LoginContext<'_, '_>, body: &[u8]) -> Result<Vec<u8>, SessionError> {
        let challenge = Challenge::switched(body).ok_or_else(unknown)?;
        self.method = Method::named(&challenge.method).ok_or(SessionError::Authentication {
            method: challenge.method,
        })?;
        if self.method == Method::Clear && !opening.may_send_password() {
            return Err(SessionError::PasswordUnprotected {
                method: self.method.name(),
            });
        }
        self.nonce = challenge.nonce;
        let proof = self.method.answer(password(opening), &self.nonce);
        if self.method == Method::Ed25519 {
            opening.own_work("client_ed25519 computing", Phase::Login);
        }
        self.leg = format!("switch to {}", self.method.name());
        self.remedy =
            Some("a client that begins with the account's method (default-auth), or a server that offers it");
        Ok(proof)
    }

    fn goes_on(&mut self, what: &str, remedy: Option<&'static str>) {
        self.leg = format!("{} {what}", self.method.name());
        self.remedy = remedy;
    }
}

/// Empty if there is no password.
pub(super) fn password<'x>(opening: &'x LoginContext<'_, '_>) -> &'x [u8] {
    opening
        .password
        .as_ref()
        .map_or(b"", |password| password.reveal().as_bytes())
}

fn seed() -> Result<[u8; rsa::HASH], SessionError> {
    let mut seed = [0; rsa::HASH];
    SystemRandom::new().fill(&mut seed).map_err(|_| {
        SessionError::Connect(LiveError::System {
            operation: "draw random bytes",
            reason: sys::OsError(libc::EIO),
        })
    })?;
    Ok(seed)
}

/// In `caching_sha2_password` the server requests the password itself.
const FULL: &[u8] = &[AUTH_MORE_DATA, 4];
const PUBLIC_KEY: u8 = 2;

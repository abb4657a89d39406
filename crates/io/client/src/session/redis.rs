//! Login of Redis, and choice of the database.
//!
//! Source: Redis documentation, commands AUTH and SELECT.

use super::SessionError;
use super::opening::LoginContext;
use crate::ErrorReply;
use model::Phase;
use wire::redis::resp;
use wire::redis::write_command;

/// Sends a password and selects a database if the target has them. Neither costs a round trip
/// otherwise.
pub(super) fn log_in<'o, 'a>(
    mut opening: LoginContext<'o, 'a>,
) -> Result<LoginContext<'o, 'a>, SessionError> {
    if let Some(password) = opening.password.clone() {
        if !opening.may_send_password() {
            return Err(SessionError::PasswordUnprotected { method: "AUTH" });
        }
        let user = opening.user.clone();
        let mut words = vec![b"AUTH".as_slice()];
        // Servers before version 6 have one user without a name.
        if user != DEFAULT_USER {
            words.push(user.as_bytes());
        }
        words.push(password.reveal().as_bytes());
        command(&mut opening, &words, "auth")?;
    }
    let database = opening.target.database.clone();
    if let Some(database) = database.filter(|database| !matches!(database.as_str(), "" | "0")) {
        command(&mut opening, &[b"SELECT", database.as_bytes()], "select")?;
        if opening.password.is_some() {
            opening.remedy(1, "AUTH and SELECT sent together");
        }
    }
    Ok(opening)
}

fn command(opening: &mut LoginContext<'_, '_>, words: &[&[u8]], leg: &str) -> Result<(), SessionError> {
    let mut request = Vec::new();
    write_command(words, &mut request);
    opening.send(&request)?;
    let mut line = Vec::new();
    while !line.ends_with(b"\r\n") {
        if line.len() > MAX_LINE_LEN {
            return Err(unknown());
        }
        line.extend(opening.bytes(1)?);
    }
    opening.leg(leg, Phase::Login);
    match line.trim_ascii_end().split_first() {
        Some((&resp::SIMPLE_STRING, _)) => Ok(()),
        Some((&resp::SIMPLE_ERROR, text)) => {
            let code = text.split(|byte| *byte == b' ').next().unwrap_or_default();
            let text = text.get(code.len()..).unwrap_or_default().trim_ascii_start();
            Err(ErrorReply::new(code, text).into())
        }
        _ => Err(unknown()),
    }
}

fn unknown() -> SessionError {
    SessionError::NotTheProtocol {
        protocol: "Redis",
        found: "a reply of another kind",
    }
}

const DEFAULT_USER: &str = "default";
const MAX_LINE_LEN: usize = 4096;

//! Why an operation, or a whole load, failed.

use crate::error::{Blame, LiveError};
use std::time::Duration;

/// Why an operation failed, or a client could not be made. Texts hold no literal and no value: what a server quotes is
/// replaced by `?`.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum LoadError {
    /// No connection.
    #[error(transparent)]
    Connect(#[from] LiveError),
    /// The operation took too long.
    #[error("server: no complete reply within {} s", after.as_secs_f64())]
    TimedOut {
        /// How long was waited.
        after: Duration,
    },
    /// The connection ended before the reply did.
    #[error("server: the connection was closed before the reply was complete")]
    Closed,
    /// The connection broke.
    #[error("server: the connection broke: {reason}")]
    Broken {
        /// What the operating system says.
        reason: crate::OsError,
    },
    /// An HTTP status other than success. Redirects are not followed.
    #[error("server: HTTP status {status}")]
    Status {
        /// The status.
        status: u16,
    },
    /// The server refused the login.
    #[error("server: login refused: {code} {text}")]
    Login {
        /// Its code: an SQLSTATE, or MySQL's number.
        code: String,
        /// What it says, without what it quotes.
        text: String,
    },
    /// A statement failed.
    #[error("server: statement {number} failed: {code} {text}")]
    Statement {
        /// Which of the script's statements, from 1.
        number: usize,
        /// The server's code: an SQLSTATE, or MySQL's number.
        code: String,
        /// What it says, without what it quotes.
        text: String,
    },
    /// The server said something that its protocol does not have there.
    #[error("server: {0}")]
    Unexpected(#[from] wire::DecodeError),
    /// The server wants to know who asks in a way longwire does not have.
    #[error("longwire cannot log in by {method}")]
    Authentication {
        /// The server's word or number for it.
        method: String,
    },
    /// The server asks for a password and the target has none.
    #[error("the server asks for a password and the target has none")]
    NoPassword,
    /// The target asks for TLS.
    #[error("load over TLS is not supported: the target asks for it")]
    Tls,
    /// The target is of a kind for which there is no load.
    #[error("there is no load for {scheme}:// targets")]
    Scheme {
        /// The target's scheme.
        scheme: &'static str,
    },
    /// A URL for HTTP load is not one.
    #[error("the URL is none of HTTP: write http://HOST:PORT/PATH, with %20 for spaces")]
    NotHttp,
    /// A script is wrong.
    #[error("{0}")]
    Script(#[from] crate::load::script::ScriptError),
    /// A command did not succeed.
    #[error("the command ended with {status}")]
    Command {
        /// Its exit status or signal, in words.
        status: String,
    },
    /// A command could not be started.
    #[error("the command could not be started: {reason}")]
    CommandNotStarted {
        /// What the operating system says.
        reason: crate::OsError,
    },
    /// The run was ended from outside.
    #[error("stopped")]
    Stopped,
}

impl LoadError {
    /// Who is to blame.
    pub const fn blame(&self) -> Blame {
        match self {
            Self::Connect(error) => error.blame(),
            Self::TimedOut { .. }
            | Self::Closed
            | Self::Broken { .. }
            | Self::Status { .. }
            | Self::Login { .. }
            | Self::Statement { .. }
            | Self::Unexpected(_) => Blame::Server,
            Self::Command { .. } => Blame::Client,
            Self::Authentication { .. }
            | Self::NoPassword
            | Self::Tls
            | Self::Scheme { .. }
            | Self::NotHttp
            | Self::Script(_)
            | Self::CommandNotStarted { .. }
            | Self::Stopped => Blame::Longwire,
        }
    }
}

/// A server's message without what it quotes: `relation "?" does not exist`. Numbers go too. At most 200 letters.
///
/// A quote begins behind anything but a letter (`doesn't`) and ends with the last one of its kind that has no letter
/// behind it, since a value may hold quotes itself: better too much is hidden than a part of a value is told.
pub(super) fn without_values(text: &[u8]) -> String {
    let text: String = String::from_utf8_lossy(text)
        .chars()
        .filter(|letter| !letter.is_control())
        .collect();
    let mut plain = String::new();
    let mut rest = text.as_str();
    while let Some(letter) = rest.chars().next() {
        let behind = rest.get(letter.len_utf8()..).unwrap_or_default();
        let begins = !plain.ends_with(char::is_alphanumeric);
        rest = match letter {
            '\'' | '"' | '`' if begins => {
                plain.extend([letter, '?', letter]);
                behind_quote(behind, letter)
            }
            '0'..='9' => {
                plain.push('?');
                behind.trim_start_matches(|next: char| next.is_ascii_digit() || next == '.')
            }
            other => {
                plain.push(other);
                behind
            }
        };
    }
    plain.chars().take(200).collect()
}

/// What follows the end of a quote; nothing where it has none.
fn behind_quote(text: &str, quote: char) -> &str {
    let ends = text.rmatch_indices(quote).find_map(|(at, _)| {
        let behind = text.get(at + quote.len_utf8()..)?;
        (!behind.starts_with(char::is_alphanumeric)).then_some(behind)
    });
    ends.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::without_values;

    #[test]
    fn what_a_server_quotes_is_not_repeated() {
        for (said, told) in [
            (
                "relation \"shop\" does not exist",
                "relation \"?\" does not exist",
            ),
            ("Table 'test.shop' doesn't exist", "Table '?' doesn't exist"),
            ("Duplicate entry 'it's' for key 'k'", "Duplicate entry '?'"),
            ("Duplicate entry 'a' b' for key", "Duplicate entry '?' for key"),
            ("value 12.50 out of range at 7", "value ? out of range at ?"),
            ("unterminated 'secret", "unterminated '?'"),
        ] {
            assert_eq!(without_values(said.as_bytes()), told);
        }
    }
}

//! Errors of opening and using a session.

use crate::ErrorReply;
use model::Protocol;
use std::time::Duration;
use sys::error::{Blame, LiveError, OsError};

/// Texts hold no secret, no literal and no value: quoted text of a server is replaced by `?`.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum SessionError {
    #[error(transparent)]
    Connect(#[from] LiveError),
    #[error("server: no complete reply within {} s", after.as_secs_f64())]
    TimedOut {
        /// Duration of the wait.
        after: Duration,
    },
    #[error("server: the connection was closed before the reply was complete")]
    Closed,
    #[error("server: the connection broke: {reason}")]
    Broken {
        /// Error of the operating system.
        reason: OsError,
    },
    #[error("server: login refused: {code} {text}")]
    Login {
        /// An SQLSTATE, or MySQL's number.
        code: String,
        text: String,
    },
    #[error("server: {0}")]
    Unexpected(#[from] wire::DecodeError),
    #[error("server: it does not speak {protocol} as far as the login goes: {found}")]
    NotTheProtocol {
        protocol: &'static str,
        found: &'static str,
    },
    #[error("server: it speaks {}, not {}", found.name(), expected.name())]
    OtherProtocol {
        /// Protocol of the target.
        expected: Protocol,
        found: Protocol,
    },
    #[error("longwire cannot log in by {method}")]
    Authentication {
        /// The server's name or number for it.
        method: String,
    },
    #[error("the server asks for a password and the target has none")]
    NoPassword,
    #[error("server: the listener sends clients elsewhere{}", to.as_deref().map(|to| format!(": to {to}")).unwrap_or_default())]
    Redirected {
        /// The new address, if the server reports it.
        to: Option<String>,
    },
    #[error("longwire: Oracle's driver: {text}")]
    Driver {
        /// The message without quoted values.
        text: String,
    },
    #[error("longwire was built without the feature {feature}")]
    NotBuiltIn {
        /// Name of the feature.
        feature: &'static str,
    },
    #[error("the server asks for a password, and {path} is ignored: others may read it")]
    PasswordFileOpen {
        /// Path of the file.
        path: String,
    },
    #[error("the server asks for the password by {method}, and the connection is not encrypted")]
    PasswordUnprotected {
        /// Name of the method.
        method: &'static str,
    },
    #[error(
        "the target asks for channel_binding=require, and the server offers no login that is bound to TLS"
    )]
    NotBound,
    #[error("server: the result has more than {limit} bytes")]
    TooLong {
        /// Maximum size in bytes.
        limit: usize,
    },
    #[error("there is no SQL on connections to this target")]
    NoSql,
    #[error("server: it does not offer to compress, as the target asks")]
    NoCompression,
    #[error("stopped")]
    Stopped,
}

/// Keeps only the number of MySQL's code.
impl From<ErrorReply> for SessionError {
    fn from(refused: ErrorReply) -> Self {
        Self::Login {
            code: refused.number().to_owned(),
            text: refused.text,
        }
    }
}

impl SessionError {
    pub const fn blame(&self) -> Blame {
        match self {
            Self::Connect(error) => error.blame(),
            Self::TimedOut { .. }
            | Self::Closed
            | Self::Broken { .. }
            | Self::Login { .. }
            | Self::Unexpected(_)
            | Self::NotTheProtocol { .. }
            | Self::OtherProtocol { .. }
            | Self::NoCompression
            | Self::Redirected { .. } => Blame::Server,
            Self::Authentication { .. }
            | Self::NoPassword
            | Self::Driver { .. }
            | Self::NotBuiltIn { .. }
            | Self::PasswordFileOpen { .. }
            | Self::PasswordUnprotected { .. }
            | Self::NotBound
            | Self::TooLong { .. }
            | Self::NoSql
            | Self::Stopped => Blame::Longwire,
        }
    }

    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::Connect(error) => return error.hint(),
            Self::Login { code, text } => login_hint(code, text)?,
            Self::NoPassword => {
                "give it in the target, in PGPASSWORD or MYSQL_PWD, or in ~/.pgpass or ~/.my.cnf"
            }
            Self::PasswordFileOpen { path } => return Some(format!("chmod 600 {path}")),
            Self::PasswordUnprotected {
                method: "caching_sha2_password",
            } => {
                "say sslmode=require in the target, or allowPublicKeyRetrieval=true if you trust the way there"
            }
            Self::PasswordUnprotected { .. } => {
                "say sslmode=require in the target where the server offers TLS, connect over its Unix socket, or let it be sent as it is with \
                 --allow-cleartext-password"
            }
            Self::NotBound => {
                "a server with TLS and passwords kept as SCRAM-SHA-256 offers it; or say channel_binding=prefer"
            }
            Self::OtherProtocol { found, .. } if scheme_of(*found).is_some() => {
                return scheme_of(*found)
                    .map(|scheme| format!("use {scheme}:// for it, or name another port"));
            }
            Self::NotTheProtocol { .. } | Self::OtherProtocol { .. } | Self::Unexpected(_) => {
                "does the target's scheme fit the server on that port?"
            }
            Self::TimedOut { .. } => "allow more time, or see whether the server is overloaded or locked",
            Self::Closed => {
                "the server's log says why: it may be restarting, or refuse this client's address"
            }
            Self::Authentication { .. } => {
                "use an account with a password the server checks itself (SCRAM-SHA-256, md5, mysql_native_password)"
            }
            Self::NotBuiltIn { feature } => {
                return Some(format!(
                    "build it with `cargo build --release --features {feature}`; --no-login works without"
                ));
            }
            Self::NoCompression => "leave compress=true out of the target",
            Self::Redirected { .. } => "name the address it sends clients to in the target",
            Self::Broken { .. }
            | Self::Driver { .. }
            | Self::TooLong { .. }
            | Self::NoSql
            | Self::Stopped => return None,
        };
        Some(hint.to_owned())
    }
}

const fn scheme_of(protocol: Protocol) -> Option<&'static str> {
    match protocol {
        Protocol::Postgres | Protocol::Mysql | Protocol::Redis | Protocol::Mongodb | Protocol::Http => {
            Some(protocol.name())
        }
        _ => None,
    }
}

/// By SQLSTATE (PostgreSQL manual, appendix A) or MySQL's number. PostgreSQL has one SQLSTATE for
/// an unknown role and for a rejected address: only its message distinguishes them, in the language
/// of the server.
fn login_hint(code: &str, text: &str) -> Option<&'static str> {
    Some(match code {
        "28000" if text.ends_with("does not exist") => "there is no such user: check its name in the target",
        "28000" if text.ends_with("is not permitted to log in") => {
            "the user is a group of users (NOLOGIN): name a user that may log in"
        }
        "28P01" | "1045" | "1698" | "ORA-01017" | "WRONGPASS" => "check the user's name and password",
        "28000" => "the server lets this user in from another address, by another method, or with TLS only",
        "1130" | "1129" => "the server does not let this machine's address in",
        "3D000" | "1049" => "check the name of the database: the target's path",
        "ORA-12514" | "ORA-12505" => {
            "check the name of the service, which is the target's path: `lsnrctl services` on the server lists them"
        }
        "ORA-28000" => "the account is locked",
        "1044" => "the user has no right to this database",
        "53300" | "1040" | "1203" => {
            "the server has as many connections as it takes: try again, or use a pool"
        }
        "57P03" => "the server is starting up or shutting down: try again",
        "1251" | "1524" => "the account uses a method of authentication the server or longwire does not have",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_role_that_does_not_exist_has_another_hint_than_an_address_that_is_not_let_in() {
        let hint = |text: &str| {
            let refused = ErrorReply::new(b"28000", text.as_bytes());
            SessionError::from(refused).hint().unwrap_or_default()
        };
        assert!(hint("role \"nobody\" does not exist").contains("no such user"));
        assert!(hint("role \"app\" is not permitted to log in").contains("NOLOGIN"));
        let address = "no pg_hba.conf entry for host \"10.0.0.1\", user \"app\", no encryption";
        assert!(hint(address).contains("another address"));
    }
}

//! Errors in the text of a target.

use super::Scheme;

/// Never repeats a part that may hold a password.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TargetError {
    #[error("the target is neither a URL nor a key=value string")]
    NotATarget,
    /// The scheme before `://` is not known.
    #[error("unknown scheme '{scheme}://' in the target")]
    UnknownScheme { scheme: String },
    #[error("longwire does not read 'jdbc:{scheme}' URLs")]
    UnknownJdbcScheme { scheme: String },
    /// The URL names no host and the scheme has no default.
    #[error("the {scheme}:// target names no host")]
    NoHost { scheme: &'static str },
    /// The URL names no port and the scheme has no default.
    #[error("the {scheme}:// target names no port")]
    NoPort { scheme: &'static str },
    #[error("the text after the host's colon in the target is not a port")]
    BadPort,
    #[error("the target's host is not a name or an address")]
    BadHost,
    /// A `%` is not followed by two hexadecimal digits, or the decoded text is not UTF-8.
    #[error("a percent sequence in the target's {part} is malformed")]
    BadPercent { part: &'static str },
    #[error("the target names several hosts")]
    SeveralHosts,
    #[error("the target names a socket in the abstract namespace")]
    AbstractSocket,
    #[error("longwire knows no Unix-domain sockets of {scheme}:// targets")]
    NoSocket { scheme: &'static str },
    #[error("the target says {name}={value}")]
    BadParameter {
        name: String,
        value: String,
        expected: &'static str,
    },
    /// The parameter is about the server's address or encryption.
    #[error("{name} says how to reach the server, which longwire does itself")]
    ParameterOfRoute { name: String },
    #[error("the target's key=value string is malformed near character {position}")]
    BadConninfo { position: usize },
}

impl TargetError {
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::NotATarget => {
                "write it as postgres://user@host:port/database, or tcp://host:port".to_owned()
            }
            Self::UnknownScheme { .. } => {
                let known: Vec<String> = Scheme::all().map(|scheme| format!("{}://", scheme.name())).collect();
                format!("use one of {}; tcp:// takes any other protocol", known.join(", "))
            },
            Self::UnknownJdbcScheme { .. } => {
                "jdbc:postgresql, jdbc:mysql, jdbc:mariadb and jdbc:kingbase8 are read; ping, load and tune go through any \
                 driver with --driver; or use tcp://host:port"
                    .to_owned()
            }
            Self::NoHost { scheme } | Self::NoPort { scheme } => format!("write {scheme}://host:port"),
            Self::BadPort => {
                "a port is a number from 1 to 65535; write `/`, `@` and `:` in a password as %2F, %40 and %3A"
                    .to_owned()
            }
            Self::BadHost => "write an IPv6 address in brackets: [::1]:5432".to_owned(),
            Self::BadPercent { .. } => "write a literal % as %25".to_owned(),
            Self::SeveralHosts => "name the one to measure".to_owned(),
            Self::AbstractSocket => "name the socket's directory, or a host such as 127.0.0.1".to_owned(),
            Self::NoSocket { .. } => "name a host such as 127.0.0.1".to_owned(),
            Self::BadParameter { expected, .. } => format!("use {expected}"),
            Self::ParameterOfRoute { .. } => "write it into the target instead".to_owned(),
            Self::BadConninfo { .. } => {
                "write key=value pairs with spaces between them, values with spaces in single quotes"
                    .to_owned()
            }
        };
        Some(hint)
    }
}

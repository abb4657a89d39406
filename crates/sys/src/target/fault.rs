//! Why a text is not a target.

/// Why a text is not a target. Never repeats a part that may hold a password.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TargetError {
    /// Neither a URL nor a `key=value` string.
    #[error("the target is neither a URL nor a key=value string")]
    NotATarget,
    /// The scheme before `://` is not known.
    #[error("unknown scheme '{scheme}://' in the target")]
    UnknownScheme {
        /// As written.
        scheme: String,
    },
    /// The driver's name after `jdbc:` is not known.
    #[error("longwire does not read 'jdbc:{scheme}' URLs")]
    UnknownJdbcScheme {
        /// As written.
        scheme: String,
    },
    /// The URL names no host and the scheme has no default one.
    #[error("the {scheme}:// target names no host")]
    NoHost {
        /// The scheme.
        scheme: &'static str,
    },
    /// The URL names no port and the scheme has no default one.
    #[error("the {scheme}:// target names no port")]
    NoPort {
        /// The scheme.
        scheme: &'static str,
    },
    /// What follows the host's colon is not a port.
    #[error("what follows the host's colon in the target is not a port")]
    BadPort,
    /// The host is not a name or address.
    #[error("the target's host is not a name or an address")]
    BadHost,
    /// A `%` is not followed by two hexadecimal digits, or the decoded text is not UTF-8.
    #[error("a percent sequence in the target's {part} is malformed")]
    BadPercent {
        /// Which part of the URL.
        part: &'static str,
    },
    /// Several hosts are named.
    #[error("the target names several hosts")]
    SeveralHosts,
    /// The host is the name of a socket in the abstract namespace.
    #[error("the target names a socket in the abstract namespace")]
    AbstractSocket,
    /// A Unix-domain socket is named for a scheme that has none.
    #[error("longwire knows no Unix-domain sockets of {scheme}:// targets")]
    NoSocket {
        /// The scheme.
        scheme: &'static str,
    },
    /// A parameter's value is not one of those it may have.
    #[error("the target says {name}={value}")]
    BadParameter {
        /// Its name.
        name: String,
        /// Its value as written.
        value: String,
        /// What it may be.
        expected: &'static str,
    },
    /// A parameter is to be set that says where the server is or how to encrypt.
    #[error("{name} says how to reach the server, which longwire does itself")]
    ParameterOfRoute {
        /// Its name.
        name: String,
    },
    /// A `key=value` string is malformed.
    #[error("the target's key=value string is malformed near character {position}")]
    BadConninfo {
        /// Counted from 1.
        position: usize,
    },
}

impl TargetError {
    /// What to do next, in one line.
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::NotATarget => {
                "write it as postgres://user@host:port/database, or tcp://host:port".to_owned()
            }
            Self::UnknownScheme { .. } => format!("use one of {SCHEMES}; tcp:// takes any other protocol"),
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

const SCHEMES: &str = "postgres://, mysql://, mariadb://, kingbase://, oracle://, sqlserver://, redis://, \
                       informix://, drda://, http:// or tcp://";

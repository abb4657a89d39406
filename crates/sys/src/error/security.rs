//! What can be wrong with the TLS settings.

use crate::target::{TargetError, TlsMode};
use std::path::PathBuf;

/// What is wrong with the TLS settings.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum SecurityFault {
    /// A parameter, or a variable of the environment, that makes a connection safer in a way that is not
    /// supported.
    #[error("longwire does not have {name}, which is set")]
    Unsupported {
        /// Its name as it was written.
        name: String,
    },
    /// One asks for more than another allows.
    #[error("sslmode={} is too weak for {because}", mode.name())]
    Weak {
        /// What is meant by `sslmode`.
        mode: TlsMode,
        /// What needs more.
        because: &'static str,
    },
    /// A variable of the environment has a value that it cannot have.
    #[error("the environment: {0}")]
    Value(TargetError),
    /// There is a certificate for the client, and no key for it.
    #[error("the client's certificate {} has no key", certificate.display())]
    NoKey {
        /// The certificate's file.
        certificate: PathBuf,
    },
    /// The client's key may be read by others.
    #[error("the client's key {} is refused: others may read it", key.display())]
    KeyOpen {
        /// Its file.
        key: PathBuf,
    },
    /// The client's certificate or its key cannot be used.
    #[error("the client's certificate cannot be used: {} {what}", path.display())]
    Identity {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        what: &'static str,
    },
}

impl SecurityFault {
    /// What to do next, in one line.
    pub(super) fn hint(&self) -> String {
        match self {
            Self::Unsupported { name } => format!(
                "leave {name} out, or say sslmode=disable in the target and let the client encrypt: docs/tls.md has what there is"
            ),
            Self::Weak { because, .. } => match *because {
                "sslrootcert=system" => "say sslmode=verify-full, or leave sslmode out".to_owned(),
                _ => "say sslmode=require, verify-ca or verify-full".to_owned(),
            },
            Self::Value(error) => error.hint().unwrap_or_default(),
            Self::NoKey { .. } => "name it with sslkey=FILE (PostgreSQL) or ssl-key=FILE (MySQL)".to_owned(),
            Self::KeyOpen { key } => format!("chmod 600 {}", key.display()),
            Self::Identity { .. } => "both are PEM files, the key without a password".to_owned(),
        }
    }
}

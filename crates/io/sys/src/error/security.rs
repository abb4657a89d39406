//! Faults in TLS settings.

use crate::target::{TargetError, TlsMode};
use std::path::PathBuf;

#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum SecurityFault {
    /// A parameter or environment variable for a safety feature that is not supported.
    #[error("longwire does not have {name}, which is set")]
    Unsupported { name: String },
    /// A setting needs a stricter mode.
    #[error("sslmode={} is too weak for {because}", mode.name())]
    Weak { mode: TlsMode, because: &'static str },
    #[error("the environment: {0}")]
    Value(TargetError),
    #[error("the client's certificate {} has no key", certificate.display())]
    NoKey { certificate: PathBuf },
    #[error("the client's key {} is refused: others may read it", key.display())]
    KeyOpen { key: PathBuf },
    #[error("the client's certificate cannot be used: {} {what}", path.display())]
    Identity { path: PathBuf, what: &'static str },
}

impl SecurityFault {
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

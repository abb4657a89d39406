//! Errors.

use std::path::PathBuf;

/// Why nothing can be exported as it was asked for.
#[derive(Debug, thiserror::Error)]
pub enum ExportError {
    /// A variable or setting has a value that it cannot have.
    #[error("{name} is '{value}': {expected}")]
    Setting {
        /// The variable or the key.
        name: String,
        /// Its value; never of one that holds secrets.
        value: String,
        /// What it may be.
        expected: &'static str,
    },
    /// A setting with secrets cannot be understood.
    #[error("{name} is not understood: {expected} (its value may hold a secret and is not shown)")]
    SecretSetting {
        /// The variable or the key.
        name: String,
        /// What it may be.
        expected: &'static str,
    },
    /// A file of certificates or keys cannot be used.
    #[error("could not use {}: {reason}", path.display())]
    File {
        /// Which file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// TLS cannot be set up.
    #[error("could not set up TLS for the export: {0}")]
    Tls(String),
    /// No thread.
    #[error(transparent)]
    Live(#[from] sys::error::LiveError),
}

impl ExportError {
    /// What to do next.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Setting { .. } | Self::SecretSetting { .. } | Self::File { .. } => Some(
                "docs/otlp.md lists the settings, and the variables of OpenTelemetry that are read"
                    .to_owned(),
            ),
            Self::Tls(_) | Self::Live(_) => None,
        }
    }
}

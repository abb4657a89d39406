//! Errors.

/// Why nothing can be exported as it was requested.
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
    /// No client for HTTP.
    #[error("for the export: {0}")]
    Client(#[from] http_client::HttpClientError),
    /// No thread.
    #[error(transparent)]
    Live(#[from] sys::error::LiveError),
}

impl ExportError {
    /// What to do next.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Setting { .. } | Self::SecretSetting { .. } | Self::Client(_) => Some(
                "docs/export.md lists the settings, and the variables of OpenTelemetry that are read"
                    .to_owned(),
            ),
            Self::Live(_) => None,
        }
    }
}

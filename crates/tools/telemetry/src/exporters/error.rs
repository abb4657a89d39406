#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("{name} is '{value}': {expected}")]
    Setting {
        name: String,
        /// Never the value of a setting that holds secrets.
        value: String,
        expected: &'static str,
    },
    /// A setting with secrets is invalid.
    #[error("{name} is not understood: {expected} (its value may hold a secret and is not shown)")]
    SecretSetting {
        /// Variable or key of the setting.
        name: String,
        expected: &'static str,
    },
    #[error("for the export: {0}")]
    Client(#[from] sys::http_client::Error),
    #[error(transparent)]
    Live(#[from] sys::error::LiveError),
}

impl Error {
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

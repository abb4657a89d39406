use std::path::PathBuf;
use std::time::Duration;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    #[error("{program} is missing: install the package {package} (Debian's name for it)")]
    Missing {
        program: String,
        /// Debian package of the program.
        package: &'static str,
    },
    #[error("{program} could not be started: {reason}")]
    NotStarted { program: String, reason: String },
    #[error("{program} failed ({status}); it said:\n{output}")]
    Failed {
        program: String,
        status: String,
        output: String,
    },
    /// Before it was ready.
    #[error("{name} ended before it was ready; its log ends with:\n{log}")]
    Ended { name: String, log: String },
    /// After it was ready.
    #[error("{name} ended while it was needed; its log ends with:\n{log}")]
    Gone { name: String, log: String },
    #[error("{name} was not ready within {} s: {awaited}; its log ends with:\n{log}", within.as_secs_f64())]
    NotReady {
        name: String,
        within: Duration,
        awaited: String,
        log: String,
    },
    #[error("{}: {reason}", path.display())]
    File { path: PathBuf, reason: String },
    /// Neither `preferred` nor `nobody` exists.
    #[error(
        "/etc/passwd has neither {preferred} nor nobody to run a server as: servers must not run as root"
    )]
    NoAccount { preferred: String },
}

impl Error {
    /// Whether the port was taken, so that a retry on another port may work.
    pub fn is_port_in_use(&self) -> bool {
        match self {
            Self::Ended { log, .. } | Self::NotReady { log, .. } => log.contains("Address already in use"),
            Self::Missing { .. }
            | Self::NotStarted { .. }
            | Self::Failed { .. }
            | Self::Gone { .. }
            | Self::File { .. }
            | Self::NoAccount { .. } => false,
        }
    }
}

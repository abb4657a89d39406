//! Why a server does not run.

use std::path::PathBuf;
use std::time::Duration;

/// Why a server could not be prepared or started, or did not get ready.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ServerError {
    /// A program is not on this system.
    #[error("{program} is missing: install the package {package} (Debian's name for it)")]
    Missing {
        /// The program.
        program: String,
        /// Debian's package that brings it.
        package: &'static str,
    },
    /// A program could not be started.
    #[error("{program} could not be started: {reason}")]
    NotStarted {
        /// The program.
        program: String,
        /// What the operating system says.
        reason: String,
    },
    /// A program that prepares a server failed.
    #[error("{program} failed ({status}); it said:\n{output}")]
    Failed {
        /// The program.
        program: String,
        /// How it ended.
        status: String,
        /// The last lines it printed.
        output: String,
    },
    /// A server ended before it was ready.
    #[error("{name} ended before it was ready; its log ends with:\n{log}")]
    Ended {
        /// The server.
        name: String,
        /// The last lines of its log.
        log: String,
    },
    /// A server that was ready has ended.
    #[error("{name} ended while it was needed; its log ends with:\n{log}")]
    Gone {
        /// The server.
        name: String,
        /// The last lines of its log.
        log: String,
    },
    /// A server did not get ready in time.
    #[error("{name} was not ready within {} s: {awaited}; its log ends with:\n{log}", within.as_secs_f64())]
    NotReady {
        /// The server.
        name: String,
        /// How long was waited.
        within: Duration,
        /// What was waited for.
        awaited: String,
        /// The last lines of its log.
        log: String,
    },
    /// A file or directory of a server could not be made.
    #[error("{}: {reason}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// What the operating system says.
        reason: String,
    },
    /// There is no account to run a server as.
    #[error(
        "/etc/passwd has neither {preferred} nor nobody to run a server as: servers must not run as root"
    )]
    NoAccount {
        /// The account the server's package makes.
        preferred: String,
    },
}

impl ServerError {
    /// Whether a server found its port taken: it may be started again on another.
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

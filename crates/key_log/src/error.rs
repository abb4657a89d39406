//! Why keys cannot be collected.

use std::io;
use std::path::{Path, PathBuf};

/// Why keys cannot be collected.
#[derive(Debug, thiserror::Error)]
pub enum KeyCollectionError {
    /// The file for keys cannot be written.
    #[error("could not write the session keys to {}", path.display())]
    Unwritable {
        /// The file.
        path: PathBuf,
        /// What the operating system says.
        source: io::Error,
    },
    /// The file for keys cannot be read.
    #[error("could not read the session keys in {}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the operating system says.
        source: io::Error,
    },
    /// Where it leads may change, and others may be able to change it.
    #[error("{} is a symbolic link, and session keys are written to no file behind one", path.display())]
    Link {
        /// The file.
        path: PathBuf,
    },
    /// A directory, a pipe, a device.
    #[error("{} is no ordinary file, and session keys are written to no other", path.display())]
    NotAFile {
        /// The file.
        path: PathBuf,
    },
    /// Others than this user may read or write it.
    #[error("{} can be read or written by others (mode {mode:04o}), and whoever reads session keys can read the connections", path.display())]
    OpenToOthers {
        /// The file.
        path: PathBuf,
        /// Its permissions.
        mode: u32,
    },
    /// Its owner is another user.
    #[error("{} belongs to another user, who could read the session keys", path.display())]
    NotOwn {
        /// The file.
        path: PathBuf,
    },
    /// There is no place for what belongs to nobody else.
    #[error("could not make a private directory in {}", path.display())]
    NoDirectory {
        /// The directory around it.
        path: PathBuf,
        /// What the operating system says.
        source: io::Error,
    },
    /// The agent's jar is not there.
    #[error("could not read the Java agent {}", path.display())]
    NoAgent {
        /// The jar.
        path: PathBuf,
        /// What the operating system says.
        source: io::Error,
    },
    /// The agent's path, or that of the file for keys, has characters that Java's options give a meaning.
    #[error("the path of the Java agent {}, or that of the file for the keys, cannot be written in JAVA_TOOL_OPTIONS", path.display())]
    NotForJava {
        /// The jar.
        path: PathBuf,
    },
}

impl KeyCollectionError {
    pub(crate) fn unwritable(path: &Path, source: io::Error) -> Self {
        Self::Unwritable {
            path: path.to_owned(),
            source,
        }
    }

    pub(crate) fn agent(path: &Path, source: io::Error) -> Self {
        Self::NoAgent {
            path: path.to_owned(),
            source,
        }
    }

    /// What to do next.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Link { .. } | Self::NotAFile { .. } | Self::NotOwn { .. } => {
                Some("name a file that is not there yet: -o FILE".to_owned())
            }
            Self::OpenToOthers { path, .. } => Some(format!("chmod 600 {}, or name a file that is not there yet", path.display())),
            Self::NoAgent { .. } => Some(
                "the agent extract-tls-secrets is in Maven repositories as name.neykov:extract-tls-secrets; the jar's name has to stay as it is".to_owned(),
            ),
            Self::NotForJava { .. } => Some("use a path without '=' and without quotes".to_owned()),
            Self::Unwritable { .. } | Self::Unreadable { .. } | Self::NoDirectory { .. } => None,
        }
    }
}

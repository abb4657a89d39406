//! Errors of collecting keys.

use std::io;
use std::path::{Path, PathBuf};

#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("could not write the session keys to {}", path.display())]
    Unwritable {
        /// Path of the key log.
        path: PathBuf,
        source: io::Error,
    },
    #[error("could not read the session keys in {}", path.display())]
    Unreadable {
        /// Path of the key log.
        path: PathBuf,
        source: io::Error,
    },
    #[error("{} is a symbolic link, and session keys are written to no file behind one", path.display())]
    Link {
        /// Path of the symbolic link.
        path: PathBuf,
    },
    #[error("{} is no ordinary file, and session keys are written to no other", path.display())]
    NotAFile {
        /// Path of the key log.
        path: PathBuf,
    },
    #[error("{} can be read or written by others (mode {mode:04o}), and whoever reads session keys can read the connections", path.display())]
    OpenToOthers {
        /// Path of the key log.
        path: PathBuf,
        mode: u32,
    },
    #[error("{} belongs to another user, who could read the session keys", path.display())]
    NotOwn {
        /// Path of the key log.
        path: PathBuf,
    },
    #[error("could not make a private directory in {}", path.display())]
    NoDirectory {
        /// The directory around it.
        path: PathBuf,
        source: io::Error,
    },
    #[error("could not read the Java agent {}", path.display())]
    NoAgent {
        /// Path of the jar.
        path: PathBuf,
        source: io::Error,
    },
    #[error("the path of the Java agent {}, or that of the file for the keys, cannot be written in JAVA_TOOL_OPTIONS", path.display())]
    NotForJava {
        /// Path of the jar.
        path: PathBuf,
    },
}

impl Error {
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

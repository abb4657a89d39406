//! A directory of this user's own.

use crate::{KeyCollectionError, preload};
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

/// A directory that only this user may enter; gone, with all that is in it, when dropped.
#[derive(Debug)]
pub(crate) struct PrivateDirectory {
    path: PathBuf,
}

impl PrivateDirectory {
    /// A new one: in memory where the system has such a place for this user and libraries are loaded from there, else where temporary
    /// files are.
    pub fn make() -> Result<Self, KeyCollectionError> {
        let own = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
        match own
            .filter(|path| is_own(path) && preload::obstacle(path).is_none())
            .map(|path| Self::make_in(&path))
        {
            Some(Ok(made)) => Ok(made),
            _ => Self::make_in(&std::env::temp_dir()),
        }
    }

    fn make_in(around: &Path) -> Result<Self, KeyCollectionError> {
        let mut last = io::Error::from(io::ErrorKind::AlreadyExists);
        for attempt in 0..ATTEMPTS {
            let path = around.join(format!("longwire-keys-{}-{attempt}", std::process::id()));
            // Made here or not at all: one that is there may be another user's.
            match DirBuilder::new().mode(0o700).create(&path) {
                Ok(()) => return Ok(Self { path }),
                Err(error) => last = error,
            }
        }
        Err(KeyCollectionError::NoDirectory {
            path: around.to_owned(),
            source: last,
        })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for PrivateDirectory {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.path).ok();
    }
}

/// As the specification of `XDG_RUNTIME_DIR` asks: an absolute path to a directory of this user's.
fn is_own(path: &Path) -> bool {
    let user = rustix::process::geteuid().as_raw();
    path.is_absolute()
        && path
            .metadata()
            .is_ok_and(|about| about.is_dir() && about.uid() == user)
}

/// Directories of runs of this process's number that were killed, or that another user put in the way.
const ATTEMPTS: u32 = 1000;

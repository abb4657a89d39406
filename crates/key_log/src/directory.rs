//! A directory of this user's own.

use crate::{KeyCollectionError, preload};
use rustix::fs::{FlockOperation, flock};
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// A directory that only this user may enter; gone, with all that is in it, when dropped.
#[derive(Debug)]
pub(crate) struct PrivateDirectory {
    path: PathBuf,
    /// Locked for as long as this run lives: the next run removes those that nobody has locked.
    _lock: File,
}

impl PrivateDirectory {
    /// A new one: in memory where the system has such a place for this user and libraries are loaded from
    /// there, else where temporary files are. Those of runs that were killed are removed from both places.
    pub fn make() -> Result<Self, KeyCollectionError> {
        let own = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
        let own = own.filter(|path| is_own(path));
        let others = std::env::temp_dir();
        own.iter().chain([&others]).for_each(|around| sweep(around));
        match own
            .filter(|path| preload::obstacle(path).is_none())
            .map(|path| Self::make_in(&path))
        {
            Some(Ok(made)) => Ok(made),
            _ => Self::make_in(&others),
        }
    }

    pub(crate) fn make_in(around: &Path) -> Result<Self, KeyCollectionError> {
        let mut last = io::Error::from(io::ErrorKind::AlreadyExists);
        for attempt in 0..ATTEMPTS {
            let path = around.join(format!("{PREFIX}{}-{attempt}", std::process::id()));
            // Made here or not at all: one that is there may be another user's.
            match DirBuilder::new().mode(0o700).create(&path) {
                Ok(()) => {}
                Err(error) => {
                    last = error;
                    continue;
                }
            }
            match locked(&path) {
                Some(lock) => return Ok(Self { path, _lock: lock }),
                // A run that sweeps took it for one that was left.
                None => continue,
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

/// Removes directories of runs that were killed, with the files that longwire makes in them: earlier versions
/// kept keys there.
pub(crate) fn sweep(around: &Path) {
    let entries = fs::read_dir(around).into_iter().flatten().flatten();
    let named = entries.filter(|entry| {
        entry
            .file_name()
            .to_str()
            .is_some_and(|name| name.starts_with(PREFIX))
    });
    for entry in named.take(MAX_SWEPT) {
        let path = entry.path();
        let Some(_lock) = locked(&path) else { continue };
        for name in [KEYS, preload::NAME] {
            fs::remove_file(path.join(name)).ok();
        }
        // Whatever else is in it is not longwire's, and keeps it.
        fs::remove_dir(&path).ok();
    }
}

/// The lock of a directory of this user's, where no run has it; absent too where the directory went
/// meanwhile.
fn locked(path: &Path) -> Option<File> {
    let directory = OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_DIRECTORY | libc::O_NOFOLLOW | libc::O_NONBLOCK)
        .open(path)
        .ok()?;
    flock(&directory, FlockOperation::NonBlockingLockExclusive).ok()?;
    let (opened, named) = (directory.metadata().ok()?, path.symlink_metadata().ok()?);
    let user = rustix::process::geteuid().as_raw();
    let is_it = (opened.dev(), opened.ino()) == (named.dev(), named.ino());
    (is_it && opened.uid() == user).then_some(directory)
}

/// As the specification of `XDG_RUNTIME_DIR` asks: an absolute path to a directory of this user's.
fn is_own(path: &Path) -> bool {
    let user = rustix::process::geteuid().as_raw();
    path.is_absolute()
        && path
            .metadata()
            .is_ok_and(|about| about.is_dir() && about.uid() == user)
}

/// What names of these directories begin with.
const PREFIX: &str = "longwire-keys-";
/// Where earlier versions kept keys.
const KEYS: &str = "keys.log";
/// Directories that a run removes.
const MAX_SWEPT: usize = 1000;
/// Directories of runs of this process's number that were killed, or that another user put in the way.
const ATTEMPTS: u32 = 1000;

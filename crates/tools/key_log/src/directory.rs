//! Private directory of the user.

use crate::{Error, preload};
use rustix::fs::{FlockOperation, flock};
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

#[derive(Debug)]
pub(crate) struct PrivateDirectory {
    path: PathBuf,
    /// Locked while this run lives: the next run removes unlocked directories.
    _lock: File,
}

impl PrivateDirectory {
    /// Creates a directory in memory if the system allows loading libraries from there, or else
    /// among temporary files. Removes directories of killed runs from both.
    pub fn make() -> Result<Self, Error> {
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

    pub(crate) fn make_in(around: &Path) -> Result<Self, Error> {
        let mut last = io::Error::from(io::ErrorKind::AlreadyExists);
        for attempt in 0..ATTEMPTS {
            let path = around.join(format!("{PREFIX}{}-{attempt}", std::process::id()));
            // Created here or not at all: an existing one may be another user's.
            match DirBuilder::new().mode(0o700).create(&path) {
                Ok(()) => {}
                Err(error) => {
                    last = error;
                    continue;
                }
            }
            match locked(&path) {
                Some(lock) => return Ok(Self { path, _lock: lock }),
                // A run that sweeps took it for an abandoned one.
                None => continue,
            }
        }
        Err(Error::NoDirectory {
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
        // Fails if other files are left, which are not longwire's.
        fs::remove_dir(&path).ok();
    }
}

/// Locks a directory of this user without a running owner; `None` also if the directory has
/// vanished.
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

/// As the specification of `XDG_RUNTIME_DIR` requires: an absolute path to a directory of this
/// user.
fn is_own(path: &Path) -> bool {
    let user = rustix::process::geteuid().as_raw();
    path.is_absolute()
        && path
            .metadata()
            .is_ok_and(|about| about.is_dir() && about.uid() == user)
}

const PREFIX: &str = "longwire-keys-";
/// File of keys in earlier versions.
const KEYS: &str = "keys.log";
const MAX_SWEPT: usize = 1000;
/// Existing directories to skip: of killed runs with the same process number, or of other users.
const ATTEMPTS: u32 = 1000;

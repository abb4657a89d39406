//! The file that keys are appended to.

use crate::KeyCollectionError;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Seek, SeekFrom};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// A file of this user's alone. One that was made here and has nothing in it is gone when this is dropped.
#[derive(Debug)]
pub(crate) struct KeyFile {
    path: PathBuf,
    was_made: bool,
    /// Bytes that were in it before.
    before: u64,
}

impl KeyFile {
    /// Makes it with access for its owner alone, or takes one that has it so.
    pub fn open(path: PathBuf) -> Result<Self, KeyCollectionError> {
        let made = options().create_new(true).mode(0o600).open(&path);
        let (file, was_made) = match made {
            Ok(file) => (file, true),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => (existing(&path)?, false),
            Err(source) => return Err(KeyCollectionError::Unwritable { path, source }),
        };
        match private_length(&path, &file) {
            Ok(before) => Ok(Self {
                path,
                was_made,
                before,
            }),
            Err(error) => Err(error),
        }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn has_grown(&self) -> bool {
        self.path.metadata().is_ok_and(|about| about.len() > self.before)
    }

    /// What was appended since.
    pub fn added(&self) -> io::Result<File> {
        let mut file = File::open(&self.path)?;
        file.seek(SeekFrom::Start(self.before))?;
        Ok(file)
    }
}

impl Drop for KeyFile {
    fn drop(&mut self) {
        let is_empty = |path: &Path| {
            path.symlink_metadata()
                .is_ok_and(|about| about.is_file() && about.len() == 0)
        };
        if self.was_made && is_empty(&self.path) {
            fs::remove_file(&self.path).ok();
        }
    }
}

fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    // A pipe without a reader is refused instead of waited for.
    options
        .append(true)
        .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK);
    options
}

fn existing(path: &Path) -> Result<File, KeyCollectionError> {
    options()
        .open(path)
        .map_err(|source| match source.raw_os_error() {
            Some(libc::ELOOP) => KeyCollectionError::Link {
                path: path.to_owned(),
            },
            Some(libc::ENXIO | libc::EISDIR) => KeyCollectionError::NotAFile {
                path: path.to_owned(),
            },
            _ => KeyCollectionError::unwritable(path, source),
        })
}

/// The length of a file that is this user's alone.
fn private_length(path: &Path, file: &File) -> Result<u64, KeyCollectionError> {
    let about = file
        .metadata()
        .map_err(|source| KeyCollectionError::unwritable(path, source))?;
    let (path, mode) = (path.to_owned(), about.mode() & 0o777);
    if !about.is_file() {
        return Err(KeyCollectionError::NotAFile { path });
    }
    if about.uid() != rustix::process::geteuid().as_raw() {
        return Err(KeyCollectionError::NotOwn { path });
    }
    if mode & 0o077 != 0 {
        return Err(KeyCollectionError::OpenToOthers { path, mode });
    }
    Ok(about.len())
}

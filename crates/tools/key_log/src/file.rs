//! File that keys are appended to.

use crate::Error;
use rustix::fs::{MemfdFlags, memfd_create};
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Read};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// A private file of this user. If it was created here and is empty, it is removed on drop.
#[derive(Debug)]
pub(crate) struct KeyFile {
    path: PathBuf,
    file: File,
    place: Place,
    /// Length of the file when it was opened.
    before: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Without a name: it vanishes with the last process that has it open.
    Memory,
    Made,
    There,
}

impl KeyFile {
    pub fn open(path: PathBuf) -> Result<Self, Error> {
        let made = options().create_new(true).mode(0o600).open(&path);
        let (file, place) = match made {
            Ok(file) => (file, Place::Made),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => (existing(&path)?, Place::There),
            Err(source) => return Err(Error::Unwritable { path, source }),
        };
        let before = private_length(&path, &file)?;
        Ok(Self {
            path,
            file,
            place,
            before,
        })
    }

    /// Creates a file in memory, which programs of this user reach as an open file of this process.
    pub fn in_memory() -> Result<Self, Error> {
        let made = memfd_create(c"longwire keys", MemfdFlags::CLOEXEC).map(File::from);
        let made = made.map_err(io::Error::from).and_then(|file| {
            file.set_permissions(Permissions::from_mode(0o600))?;
            Ok(file)
        });
        let file = made.map_err(|source| Error::unwritable(Path::new("memory"), source))?;
        Ok(Self {
            path: open_file_of(std::process::id(), &file),
            file,
            place: Place::Memory,
            before: 0,
        })
    }

    /// A file in memory is now reached as an open file of `process`, which has it under the same
    /// number.
    pub fn reach_in(&mut self, process: u32) {
        if self.place == Place::Memory {
            self.path = open_file_of(process, &self.file);
        }
    }

    pub fn memory(&self) -> Option<BorrowedFd<'_>> {
        (self.place == Place::Memory).then(|| self.file.as_fd())
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn has_grown(&self) -> bool {
        self.file.metadata().is_ok_and(|about| about.len() > self.before)
    }

    pub const fn added(&self) -> Added<'_> {
        Added {
            file: &self.file,
            offset: self.before,
        }
    }
}

fn open_file_of(process: u32, file: &File) -> PathBuf {
    format!("/proc/{process}/fd/{}", file.as_raw_fd()).into()
}

pub(crate) struct Added<'a> {
    file: &'a File,
    offset: u64,
}

impl Read for Added<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.file.read_at(buffer, self.offset)?;
        self.offset += count as u64;
        Ok(count)
    }
}

impl Drop for KeyFile {
    fn drop(&mut self) {
        let is_empty = |path: &Path| {
            path.symlink_metadata()
                .is_ok_and(|about| about.is_file() && about.len() == 0)
        };
        if self.place == Place::Made && is_empty(&self.path) {
            fs::remove_file(&self.path).ok();
        }
    }
}

fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    // A pipe without a reader is refused instead of waited for.
    options
        .read(true)
        .append(true)
        .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK);
    options
}

fn existing(path: &Path) -> Result<File, Error> {
    options()
        .open(path)
        .map_err(|source| match source.raw_os_error() {
            Some(libc::ELOOP) => Error::Link {
                path: path.to_owned(),
            },
            Some(libc::ENXIO | libc::EISDIR) => Error::NotAFile {
                path: path.to_owned(),
            },
            _ => Error::unwritable(path, source),
        })
}

fn private_length(path: &Path, file: &File) -> Result<u64, Error> {
    let about = file
        .metadata()
        .map_err(|source| Error::unwritable(path, source))?;
    let (path, mode) = (path.to_owned(), about.mode() & 0o777);
    if !about.is_file() {
        return Err(Error::NotAFile { path });
    }
    if about.uid() != rustix::process::geteuid().as_raw() {
        return Err(Error::NotOwn { path });
    }
    if mode & 0o077 != 0 {
        return Err(Error::OpenToOthers { path, mode });
    }
    Ok(about.len())
}

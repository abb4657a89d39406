//! Files that only their owner may read, because they contain traffic between application and
//! database.

use std::fs::File;
use std::io;
use std::path::Path;
use sys::files::{Contents, create_for_owner};

/// Creates a file that only its owner may read. An existing file of this user is truncated and
/// restricted.
///
/// # Errors
/// Those of [`create_for_owner`].
pub fn create(path: &Path) -> io::Result<File> {
    create_for_owner(path, Contents::Emptied)
}

/// Like [`create`], without truncating.
///
/// # Errors
/// Those of [`create_for_owner`].
pub fn open(path: &Path) -> io::Result<File> {
    create_for_owner(path, Contents::Kept)
}

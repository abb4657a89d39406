//! Files that hold what passed between an application and its database: for their owner's eyes.

use std::fs::File;
use std::io;
use std::path::Path;
use sys::files::{Contents, create_for_owner};

/// Makes a file that only its owner may read, or empties an existing one of this user, to which others lose
/// their rights.
///
/// # Errors
/// As [`create_for_owner`].
pub fn create(path: &Path) -> io::Result<File> {
    create_for_owner(path, Contents::Emptied)
}

/// The same, without emptying it.
///
/// # Errors
/// As there.
pub fn open(path: &Path) -> io::Result<File> {
    create_for_owner(path, Contents::Kept)
}

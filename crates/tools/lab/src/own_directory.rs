//! Marks directories created by longwire; only these are ever removed.

use anyhow::{Context, Result, bail};
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path};

/// Creates and marks `directory`, or accepts one marked earlier.
pub fn make(directory: &Path) -> io::Result<()> {
    match fs::create_dir(directory) {
        Ok(()) => mark(directory),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && directory.is_dir() => Ok(()),
        Err(error) => Err(error),
    }
}

/// Marks a new directory.
pub fn mark(directory: &Path) -> io::Result<()> {
    File::create_new(directory.join(MARKER)).map(drop)
}

/// Removes a directory recursively.
///
/// # Errors
/// If longwire did not create it for this user, or it cannot be removed.
pub fn remove(directory: &Path) -> Result<()> {
    let shown = directory.display();
    if directory.components().any(|part| part == Component::ParentDir) {
        bail!("{shown} is not removed: name it without '..'");
    }
    if !is_own(directory) {
        bail!("{shown} is not removed: longwire did not make it ({MARKER} is not in it); remove it yourself");
    }
    fs::remove_dir_all(directory).with_context(|| format!("could not remove {shown}"))
}

/// True for a directory (no symbolic link) with the marker, both owned by this user.
fn is_own(directory: &Path) -> bool {
    let own = fs::metadata("/proc/self").map(|own| own.uid());
    let is_ours = |metadata: &fs::Metadata| own.as_ref().is_ok_and(|own| *own == metadata.uid());
    let marker = fs::symlink_metadata(directory.join(MARKER));
    fs::symlink_metadata(directory).is_ok_and(|found| found.is_dir() && is_ours(&found))
        && marker.is_ok_and(|found| found.is_file() && is_ours(&found))
}

/// File name of the marker.
pub const MARKER: &str = ".made-by-longwire";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_made_is_removed() {
        let folder = tempfile::tempdir().expect("a directory");
        let (made, given) = (folder.path().join("made"), folder.path().join("given"));
        make(&made).expect("it can be made");
        make(&made).expect("it is there");
        fs::create_dir(&given).expect("it can be made");
        make(&given).expect("it is there");
        fs::write(given.join("thesis"), "").expect("it can be written");
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(&made, &link).expect("it can be made");
        for other in [&given, &link, &folder.path().join("made/../made")] {
            remove(other).expect_err("it is not longwire's");
        }
        assert!(given.join("thesis").exists());
        remove(&made).expect("it is longwire's");
        assert!(!made.exists());
    }
}

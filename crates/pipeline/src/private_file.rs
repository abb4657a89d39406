//! Files that hold what passed between an application and its database: for their owner's eyes.

use std::fs::{File, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;

/// Makes a file that only its owner may read, or empties an existing one, which keeps its rights.
///
/// # Errors
/// As the system says.
pub fn create(path: &Path) -> io::Result<File> {
    options().truncate(true).open(path)
}

/// The same, without emptying it.
///
/// # Errors
/// As the system says.
pub fn open(path: &Path) -> io::Result<File> {
    options().truncate(false).open(path)
}

/// The same as [`create`], and takes the others' rights to an existing file away: for what holds passwords.
///
/// # Errors
/// As the system says; also where the file is another user's, who could give the rights back.
pub fn create_for_owner(path: &Path) -> io::Result<File> {
    let file = create(path)?;
    if file.metadata()?.is_file() {
        file.set_permissions(Permissions::from_mode(OWNER_ONLY))?;
    }
    Ok(file)
}

fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true).create(true).mode(OWNER_ONLY);
    options
}

const OWNER_ONLY: u32 = 0o600;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_file_is_its_owners_and_one_that_is_there_keeps_its_rights() {
        let directory = tempfile::tempdir().expect("a directory");
        let rights = |path: &Path| path.metadata().expect("it is there").permissions().mode() & 0o777;
        for (name, make) in [("a", create as fn(&Path) -> _), ("b", open)] {
            let path = directory.path().join(name);
            make(&path).expect("it is made");
            assert_eq!(rights(&path), 0o600);
            std::fs::set_permissions(&path, Permissions::from_mode(0o640)).expect("its owner may");
            make(&path).expect("it is opened");
            assert_eq!(rights(&path), 0o640);
            create_for_owner(&path).expect("it is opened");
            assert_eq!(rights(&path), 0o600);
        }
    }
}

//! Directory for files of services while a lab runs.

use crate::own_directory;
use anyhow::{Context, Result, bail};
use std::fs;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use sys::files::{MAX_CONFIG_BYTES, read_small_text};

/// Accessible to all accounts, with a path short enough for Unix sockets. It is removed on drop, or
/// by the next run of the same lab after a kill.
#[derive(Debug)]
pub struct ServiceDirectory {
    path: PathBuf,
    note: PathBuf,
}

impl ServiceDirectory {
    /// Stores its path in `home`, the lab's own directory.
    pub fn make(home: &Path) -> Result<Self> {
        let note = home.join(NOTE);
        if let Ok(left) = read_small_text(&note, MAX_CONFIG_BYTES) {
            remove_own(Path::new(left.trim()));
        }
        let mut last = None;
        for attempt in 0..ATTEMPTS {
            let path = std::env::temp_dir().join(format!("{NAME}{}-{attempt}", std::process::id()));
            match fs::DirBuilder::new().mode(0o711).create(&path) {
                Ok(()) => {
                    let made = Self { path, note };
                    // Independent of the process's umask.
                    fs::set_permissions(&made.path, fs::Permissions::from_mode(0o711))
                        .and_then(|()| own_directory::mark(&made.path))
                        .and_then(|()| fs::write(&made.note, made.path.display().to_string()))
                        .with_context(|| format!("could not note {}", made.path.display()))?;
                    return Ok(made);
                }
                Err(error) => last = Some((path, error)),
            }
        }
        match last {
            Some((path, error)) => Err(error).with_context(|| format!("could not make {}", path.display())),
            None => bail!("could not make a directory for services"),
        }
    }

    /// Subdirectory of service `name`.
    pub fn path_of(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }
}

impl Drop for ServiceDirectory {
    fn drop(&mut self) {
        remove_own(&self.path);
        fs::remove_file(&self.note).ok();
    }
}

/// Removes a directory of an earlier run: checks name pattern, location and marker.
fn remove_own(path: &Path) {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let numbers = name.strip_prefix(NAME).and_then(|rest| rest.split_once('-'));
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let is_named_so = numbers.is_some_and(|(process, attempt)| is_number(process) && is_number(attempt));
    if is_named_so && path.parent() == Some(&std::env::temp_dir()) {
        // Best effort: a remaining file stays in the temporary directory.
        own_directory::remove(path).ok();
    }
}

/// Followed by process ID and attempt.
const NAME: &str = "longwire-";
const NOTE: &str = "services";
const ATTEMPTS: u32 = 100;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_removes_nothing_but_such_a_directory() {
        let home = tempfile::tempdir().expect("a directory");
        let outside = home.path().join("longwire-1-1");
        let named = std::env::temp_dir().join(format!("longwire-work-{}", std::process::id()));
        let unmarked = std::env::temp_dir().join(format!("longwire-{}-7777", std::process::id()));
        for directory in [&outside, &named, &unmarked] {
            fs::create_dir(directory).expect("it can be made");
        }
        own_directory::mark(&outside).expect("it can be written");
        own_directory::mark(&named).expect("it can be written");
        for directory in [&outside, &named, &unmarked] {
            fs::write(home.path().join(NOTE), directory.display().to_string()).expect("it can be written");
            let made = ServiceDirectory::make(home.path()).expect("it can be made");
            let path = made.path.clone();
            drop(made);
            assert!(!path.exists(), "what was made is removed");
            assert!(directory.exists(), "{} is another's", directory.display());
        }
        for directory in [&named, &unmarked] {
            fs::remove_dir_all(directory).expect("it is the test's");
        }
    }
}

//! Where services keep their files while a lab runs.

use anyhow::{Context, Result, bail};
use std::fs;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// A directory that every account may enter, with a path short enough for Unix sockets in it; gone when dropped. What a
/// run that was killed has left is removed by the next one of the same lab.
#[derive(Debug)]
pub struct ServiceDirectory {
    path: PathBuf,
    note: PathBuf,
}

impl ServiceDirectory {
    /// A new one. `home` is the lab's own directory, where its path is noted.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn make(home: &Path) -> Result<Self> {
        let note = home.join(NOTE);
        if let Ok(left) = fs::read_to_string(&note) {
            remove_own(Path::new(left.trim()));
        }
        let mut last = None;
        for attempt in 0..ATTEMPTS {
            let path = std::env::temp_dir().join(format!("longwire-{}-{attempt}", std::process::id()));
            match fs::DirBuilder::new().mode(0o711).create(&path) {
                Ok(()) => {
                    let made = Self { path, note };
                    // The process's mask does not decide who may enter.
                    fs::set_permissions(&made.path, fs::Permissions::from_mode(0o711))
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

    /// That of the service `name`.
    pub fn of(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }
}

impl Drop for ServiceDirectory {
    fn drop(&mut self) {
        remove_own(&self.path);
        fs::remove_file(&self.note).ok();
    }
}

/// Removes a directory that a run of this user made; nothing else, and no link.
fn remove_own(path: &Path) {
    let is_ours = |metadata: fs::Metadata| {
        let own = fs::metadata("/proc/self").map(|own| own.uid());
        metadata.is_dir() && own.is_ok_and(|own| own == metadata.uid())
    };
    let is_named_so = path
        .file_name()
        .is_some_and(|name| name.to_string_lossy().starts_with("longwire-"));
    if is_named_so && fs::symlink_metadata(path).is_ok_and(is_ours) {
        // Best effort: a file that cannot be removed stays in the system's directory for such files.
        fs::remove_dir_all(path).ok();
    }
}

const NOTE: &str = "services";
const ATTEMPTS: u32 = 100;

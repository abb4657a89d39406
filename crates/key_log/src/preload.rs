//! The library that programs are made to load.

use crate::KeyCollectionError;
use crate::directory::PrivateDirectory;
use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// As `build.rs` made it; empty where the target has no such thing.
const LIBRARY: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/preload.so"));

/// The library as a file.
#[derive(Debug)]
pub(crate) struct Preload {
    path: PathBuf,
}

impl Preload {
    /// Writes it into `directory`; or why it cannot be loaded from there.
    pub fn place(directory: &PrivateDirectory) -> Result<Result<Self, &'static str>, KeyCollectionError> {
        if LIBRARY.is_empty() {
            return Ok(Err(
                "this longwire was built without the library for it (it takes Linux with glibc, on x86_64 or aarch64)",
            ));
        }
        let directory = directory.path();
        // As ld.so(8) says, these part the names in LD_PRELOAD.
        if directory
            .as_os_str()
            .as_bytes()
            .iter()
            .any(|byte| b" :".contains(byte))
        {
            return Ok(Err(
                "LD_PRELOAD cannot name a file there: set TMPDIR to a path without blanks and colons",
            ));
        }
        if forbids_programs(directory) {
            return Ok(Err(
                "programs cannot be loaded from there (noexec): set TMPDIR to a path on another file system",
            ));
        }
        let path = directory.join("liblongwire_key_log.so");
        let file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&path);
        let written = file.and_then(|mut file| file.write_all(LIBRARY));
        written.map_err(|source| KeyCollectionError::NoDirectory {
            path: path.clone(),
            source,
        })?;
        Ok(Ok(Self { path }))
    }

    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// Whether the file system was mounted so that nothing on it is run or loaded.
fn forbids_programs(directory: &Path) -> bool {
    let about = rustix::fs::statvfs(directory);
    about.is_ok_and(|about| about.f_flag.contains(rustix::fs::StatVfsMountFlags::NOEXEC))
}

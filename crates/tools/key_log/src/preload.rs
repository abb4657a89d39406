//! The preloaded library as a file.

use crate::Error;
use std::fs::OpenOptions;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Built by `build.rs`, and empty if the target does not support it.
const LIBRARY: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/preload.so"));

pub(crate) const NAME: &str = "liblongwire_key_log.so";

#[derive(Debug)]
pub(crate) struct Preload {
    path: PathBuf,
}

impl Preload {
    pub fn install_library(directory: &Path) -> Result<Result<Self, &'static str>, Error> {
        if let Some(obstacle) = obstacle(directory) {
            return Ok(Err(obstacle));
        }
        let path = directory.join(NAME);
        let file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&path);
        let written = file.and_then(|mut file| file.write_all(LIBRARY));
        written.map_err(|source| Error::NoDirectory {
            path: path.clone(),
            source,
        })?;
        Ok(Ok(Self { path }))
    }

    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// Reason why programs cannot load the library from `directory`; `None` if they can.
pub(crate) fn obstacle(directory: &Path) -> Option<&'static str> {
    if LIBRARY.is_empty() {
        return Some(
            "this longwire was built without the library for it (it takes Linux with glibc, on x86_64 or aarch64)",
        );
    }
    // By ld.so(8), these separate the names in LD_PRELOAD.
    let path = directory.as_os_str().as_bytes();
    if path.iter().any(|byte| b" :".contains(byte)) {
        return Some(
            "LD_PRELOAD cannot name a file in the directory for temporary files: set TMPDIR to a path without blanks and colons",
        );
    }
    let about = rustix::fs::statvfs(directory);
    let forbids = about.is_ok_and(|about| about.f_flag.contains(rustix::fs::StatVfsMountFlags::NOEXEC));
    forbids.then_some(
        "nothing can be loaded from the directory for temporary files (noexec): set TMPDIR to a path on another file system",
    )
}

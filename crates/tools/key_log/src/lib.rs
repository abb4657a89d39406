//! Key file and environment for programs that log the keys of their TLS sessions, documented for
//! users in `docs/keys.md`.

#![forbid(unsafe_code)]

mod directory;
mod environment;
mod error;
mod file;
mod preload;
mod sessions;

pub use error::Error;

use directory::PrivateDirectory;
use environment::Variables;
use file::KeyFile;
use preload::Preload;
use std::ffi::OsString;
use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Collects the keys of a program's TLS sessions.
///
/// It must live as long as the program: the preloaded library is removed on drop, with a key file
/// that is still empty. A [temporary](KeyCollection::temporary) key file has no name on any disk,
/// and vanishes however this process ends.
#[derive(Debug)]
pub struct KeyCollection {
    // Dropped in this order: files before the directory that they may be in.
    file: KeyFile,
    preload: Result<Preload, &'static str>,
    java_agent: Option<PathBuf>,
    directory: PrivateDirectory,
}

impl KeyCollection {
    /// Appends keys to the file at `path`. A missing file is created with access for its owner
    /// only.
    ///
    /// # Errors
    /// If it cannot be written, is a symbolic link or no regular file, or is not private to this
    /// user.
    pub fn into_file(path: &Path) -> Result<Self, Error> {
        let directory = PrivateDirectory::make()?;
        let path = std::path::absolute(path).map_err(|source| Error::unwritable(path, source))?;
        Self::collect(KeyFile::open(path)?, directory)
    }

    /// Keeps keys in memory: programs of this user write them to an open file of this process
    /// (`/proc/PID/fd`).
    ///
    /// # Errors
    /// If the directory for the library or the file cannot be created.
    pub fn temporary() -> Result<Self, Error> {
        Self::collect(KeyFile::in_memory()?, PrivateDirectory::make()?)
    }

    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// Temporary keys as an open file, to share with another process.
    pub fn memory(&self) -> Option<BorrowedFd<'_>> {
        self.file.memory()
    }

    /// Makes programs write temporary keys to the open file of `process`, which has it under the
    /// same number. For cases where this process will have other rights than the programs.
    pub fn reach_in(&mut self, process: u32) {
        self.file.reach_in(process);
    }

    fn collect(file: KeyFile, directory: PrivateDirectory) -> Result<Self, Error> {
        Ok(Self {
            file,
            preload: Preload::install_library(directory.path())?,
            java_agent: None,
            directory,
        })
    }

    /// Adds the agent in `jar` to Java programs. It must write keys to the file in its argument, as
    /// extract-tls-secrets does.
    ///
    /// # Errors
    /// If there is no such file, or Java's options cannot express its name.
    pub fn with_java_agent(mut self, jar: &Path) -> Result<Self, Error> {
        let absolute = std::path::absolute(jar).map_err(|source| Error::agent(jar, source))?;
        absolute.metadata().map_err(|source| Error::agent(jar, source))?;
        environment::java_option(&absolute, self.path()).ok_or_else(|| Error::NotForJava {
            path: absolute.clone(),
        })?;
        self.java_agent = Some(absolute);
        Ok(self)
    }

    pub fn path(&self) -> &Path {
        self.file.path()
    }

    /// Reason why programs with OpenSSL cannot write their keys here; `None` if they can.
    pub fn without_openssl(&self) -> Option<&'static str> {
        self.preload.as_ref().err().copied()
    }

    /// Sets the environment of `command` and its children for writing keys. Variables that hold
    /// options are extended.
    pub fn prepare(&self, command: &mut Command) {
        command.envs(self.environment(&|name| std::env::var_os(name)));
    }

    fn environment(&self, inherited: &dyn Fn(&str) -> Option<OsString>) -> Vec<(&'static str, OsString)> {
        let variables = Variables {
            file: self.path(),
            preload: self.preload.as_ref().ok().map(Preload::path),
            java_agent: self.java_agent.as_deref(),
        };
        variables.all(inherited)
    }

    /// Whether the file has grown since it was opened. Lines that count as no session may hold
    /// secrets too.
    pub fn has_grown(&self) -> bool {
        self.file.has_grown()
    }

    /// Number of TLS sessions with keys written since the file was opened.
    ///
    /// # Errors
    /// If the file cannot be read.
    pub fn sessions(&self) -> Result<u64, Error> {
        sessions::count(self.file.added()).map_err(|source| Error::Unreadable {
            path: self.path().to_owned(),
            source,
        })
    }
}

#[cfg(test)]
mod tests;

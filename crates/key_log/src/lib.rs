//! Programs started so that they write the keys of their TLS sessions: the file for the keys, and the
//! environment that makes a program write them. For users: `docs/keys.md`.
//!
//! Start at [`KeyCollection`].

#![forbid(unsafe_code)]

mod directory;
mod environment;
mod error;
mod file;
mod preload;
mod sessions;

pub use error::KeyCollectionError;

use directory::PrivateDirectory;
use environment::Variables;
use file::KeyFile;
use preload::Preload;
use std::ffi::OsString;
use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where the keys of a program's TLS sessions are collected, and what makes the program write them there.
///
/// Has to live as long as the program: what the program loads is removed when this is dropped, and with it a
/// file that is has remained empty. What is [temporary](KeyCollection::temporary) has no name on any disk,
/// and is gone however this process ends.
#[derive(Debug)]
pub struct KeyCollection {
    // Dropped in this order: files before the directory that they may be in.
    file: KeyFile,
    preload: Result<Preload, &'static str>,
    java_agent: Option<PathBuf>,
    directory: PrivateDirectory,
}

impl KeyCollection {
    /// Keys are appended to the file at `path`, which is made with access for its owner alone if it is not
    /// there.
    ///
    /// # Errors
    /// When it cannot be written, is a symbolic link or no ordinary file, or is not this user's alone.
    pub fn into_file(path: &Path) -> Result<Self, KeyCollectionError> {
        let directory = PrivateDirectory::make()?;
        let path =
            std::path::absolute(path).map_err(|source| KeyCollectionError::unwritable(path, source))?;
        Self::collect(KeyFile::open(path)?, directory)
    }

    /// Keys are in memory alone: programs of this user write them to an open file of this process
    /// (`/proc/PID/fd`).
    ///
    /// # Errors
    /// When the directory for the library or the file cannot be made.
    pub fn temporary() -> Result<Self, KeyCollectionError> {
        Self::collect(KeyFile::in_memory()?, PrivateDirectory::make()?)
    }

    /// The directory of what programs load, which is removed at the end.
    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// Temporary keys as an open file, for a process that is to have it too.
    pub fn memory(&self) -> Option<BorrowedFd<'_>> {
        self.file.memory()
    }

    /// Programs write temporary keys to the open file of `process` instead, which has it under the same
    /// number: for where this process will have other rights than the programs.
    pub fn reach_in(&mut self, process: u32) {
        self.file.reach_in(process);
    }

    fn collect(file: KeyFile, directory: PrivateDirectory) -> Result<Self, KeyCollectionError> {
        Ok(Self {
            file,
            preload: Preload::install_library(&directory)?,
            java_agent: None,
            directory,
        })
    }

    /// Java programs are given the agent in `jar`, which writes keys to the file that its argument names
    /// (extract-tls-secrets does).
    ///
    /// # Errors
    /// When there is no such file, or Java's options cannot express its name.
    pub fn with_java_agent(mut self, jar: &Path) -> Result<Self, KeyCollectionError> {
        let absolute = std::path::absolute(jar).map_err(|source| KeyCollectionError::agent(jar, source))?;
        absolute
            .metadata()
            .map_err(|source| KeyCollectionError::agent(jar, source))?;
        environment::java_option(&absolute, self.path()).ok_or_else(|| KeyCollectionError::NotForJava {
            path: absolute.clone(),
        })?;
        self.java_agent = Some(absolute);
        Ok(self)
    }

    /// The file with the keys, as an absolute path.
    pub fn path(&self) -> &Path {
        self.file.path()
    }

    /// Why programs that load OpenSSL cannot be made to write their keys here; `None` if they are.
    pub fn without_openssl(&self) -> Option<&'static str> {
        self.preload.as_ref().err().copied()
    }

    /// Sets what makes the program of `command`, and those that it starts, write their keys. Variables that
    /// hold options are extended.
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

    /// Whether anything was written since this was made: lines that are counted as no session may hold
    /// secrets too.
    pub fn has_grown(&self) -> bool {
        self.file.has_grown()
    }

    /// How many TLS sessions the keys are of that were written since this was made.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn sessions(&self) -> Result<u64, KeyCollectionError> {
        sessions::count(self.file.added()).map_err(|source| KeyCollectionError::Unreadable {
            path: self.path().to_owned(),
            source,
        })
    }
}

#[cfg(test)]
mod tests;

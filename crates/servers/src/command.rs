//! Any program as a server.

use std::path::PathBuf;
use std::process::Command;

use crate::{Account, Error, Readiness, Running, ServerPlace, files, program};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandServer {
    /// A program without a slash is searched in `PATH` and the system directories.
    pub words: Vec<String>,
    /// Added to this process's environment.
    pub environment: Vec<(String, String)>,
    /// By default the private directory.
    pub directory: Option<PathBuf>,
    pub readiness: Readiness,
    /// Account to use if this process is root; by default the caller's own.
    pub user: Option<String>,
}

impl CommandServer {
    /// Starts the program in its private directory and returns when it is ready.
    ///
    /// # Errors
    /// Never fails with [`Error::Missing`], since the package is unknown.
    pub fn start(&self, place: &ServerPlace<'_>) -> Result<Running, Error> {
        let account = match &self.user {
            Some(user) => Account::unprivileged(user)?,
            None => Account::Own,
        };
        files::make_directory(place.directory, account)?;
        let command = self.command(place)?;
        Running::start(command, place, account, libc::SIGTERM, &self.readiness)
    }

    fn command(&self, place: &ServerPlace<'_>) -> Result<Command, Error> {
        let (name, arguments) = self.words.split_first().ok_or_else(|| Error::NotStarted {
            program: place.name.to_owned(),
            reason: "its command is empty".to_owned(),
        })?;
        let path = if name.contains('/') {
            name.into()
        } else {
            program::find(name).ok_or_else(|| Error::NotStarted {
                program: name.clone(),
                reason: "no such program".to_owned(),
            })?
        };
        let mut command = Command::new(path);
        command
            .args(arguments)
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .current_dir(self.directory.as_deref().unwrap_or(place.directory));
        Ok(command)
    }
}

//! Any program as a server.

use std::path::PathBuf;
use std::process::Command;

use crate::{Account, Readiness, Running, ServerError, ServerPlace, files, program};

/// A server that is a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandServer {
    /// Program and arguments. A program without a slash is looked for on `PATH` and in the system's
    /// directories.
    pub words: Vec<String>,
    /// Environment, added to this process's own.
    pub environment: Vec<(String, String)>,
    /// The directory it starts in; its private one unless given.
    pub directory: Option<PathBuf>,
    /// When it is ready.
    pub readiness: Readiness,
    /// The account to run as where this process is root; absent: the caller's own.
    pub user: Option<String>,
}

impl CommandServer {
    /// Starts the program in its private directory and returns when it is ready.
    ///
    /// # Errors
    /// Every [`ServerError`] but [`ServerError::Missing`]: which package brings the program is not known.
    pub fn start(&self, place: &ServerPlace<'_>) -> Result<Running, ServerError> {
        let account = match &self.user {
            Some(user) => Account::unprivileged(user)?,
            None => Account::Own,
        };
        files::make_directory(place.directory, account)?;
        let command = self.command(place)?;
        Running::start(command, place, account, libc::SIGTERM, &self.readiness)
    }

    fn command(&self, place: &ServerPlace<'_>) -> Result<Command, ServerError> {
        let (name, arguments) = self.words.split_first().ok_or_else(|| ServerError::NotStarted {
            program: place.name.to_owned(),
            reason: "its command is empty".to_owned(),
        })?;
        let path = if name.contains('/') {
            name.into()
        } else {
            program::find(name).ok_or_else(|| ServerError::NotStarted {
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

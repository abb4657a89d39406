//! Command load: each run of a command is an operation.

use super::child::wait;
use super::{Birth, Client, Deadline, LoadError, Workload};
use crate::error::OsError;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Runs of a command, from its start to its end. What it prints is thrown away, unless `make` says otherwise. It has a
/// process group of its own, which is killed when it takes too long or the run is ended.
pub struct CommandLoad<'a> {
    make: &'a (dyn Fn() -> Command + Sync),
}

impl<'a> CommandLoad<'a> {
    /// Runs of what `make` gives.
    pub fn new(make: &'a (dyn Fn() -> Command + Sync)) -> Self {
        Self { make }
    }
}

impl Workload for CommandLoad<'_> {
    fn client<'a>(&'a self, birth: &Birth<'a>) -> Result<Box<dyn Client + 'a>, LoadError> {
        Ok(Box::new(CommandClient {
            load: self,
            birth: *birth,
        }))
    }
}

struct CommandClient<'a> {
    load: &'a CommandLoad<'a>,
    birth: Birth<'a>,
}

impl Client for CommandClient<'_> {
    fn operate(&mut self) -> Result<Duration, LoadError> {
        let mut command = (self.load.make)();
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0);
        let deadline = Deadline::after(self.birth.timeout);
        let started = Instant::now();
        let child = command.spawn().map_err(|error| LoadError::CommandNotStarted {
            reason: OsError::of(&error),
        })?;
        let (status, ended) = wait(child, &deadline, self.birth.control)?;
        if status.success() {
            Ok(ended.saturating_duration_since(started))
        } else {
            Err(LoadError::Command {
                status: status.to_string(),
            })
        }
    }
}

//! Each run of a command is an operation.

use super::child::wait;
use super::engine::threaded::{Client, Operated};
use super::engine::{RunContext, threaded};
use super::{ClientSpec, Error, Outcome, Workload};
use client::session::Deadline;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::Instant;
use sys::error::OsError;

/// A run is timed from start to end. Output is discarded unless `make` redirects it. The process
/// group is killed at the timeout, or when the run is stopped.
pub struct CommandLoad<'a> {
    make: &'a (dyn Fn() -> Command + Sync),
}

impl<'a> CommandLoad<'a> {
    pub fn new(make: &'a (dyn Fn() -> Command + Sync)) -> Self {
        Self { make }
    }
}

impl Workload for CommandLoad<'_> {}

impl super::Runs for CommandLoad<'_> {
    fn run(&self, context: &RunContext<'_>) -> Result<Outcome, Error> {
        threaded::run(context, 1, |client_spec| CommandClient {
            load: self,
            client_spec,
        })
    }
}

struct CommandClient<'a> {
    load: &'a CommandLoad<'a>,
    client_spec: ClientSpec<'a>,
}

impl Client for CommandClient<'_> {
    fn operate(&mut self) -> Result<Operated, Error> {
        let mut command = (self.load.make)();
        command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0);
        let deadline = Deadline::after(self.client_spec.timeout);
        let started = Instant::now();
        let child = command.spawn().map_err(|error| Error::CommandNotStarted {
            reason: OsError::from_io_error(&error),
        })?;
        let (status, ended) = wait(child, &deadline, self.client_spec.stop)?;
        if status.success() {
            Ok(Operated {
                duration: ended.saturating_duration_since(started),
                ..Operated::default()
            })
        } else {
            Err(Error::Command {
                status: status.to_string(),
            })
        }
    }
}

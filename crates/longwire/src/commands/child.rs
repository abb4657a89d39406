//! The application that `watch`, `relay` and `keys` start.

use crate::relayed_command::{NotStarted, RelayedTarget, prepare};
use anyhow::{Context, Result};
use pipeline::output::Status;
use std::ffi::OsString;
use std::fs::File;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitStatus, Stdio};
use sys::application::Application;

/// A running command. It is never left running: it is ended when dropped.
pub struct Child {
    application: Application,
    asked: bool,
}

/// Where a command writes.
#[derive(Debug)]
pub enum CommandOutput {
    /// Where longwire does.
    AsOurs,
    /// To stderr alone: longwire's stdout is for records.
    Stderr,
    /// All of it to this file, and it reads nothing: the terminal is a screen's.
    File(File),
}

impl CommandOutput {
    /// Where it writes while records may be written to stdout.
    pub const fn beside_records(records: bool) -> Self {
        match records {
            true => Self::Stderr,
            false => Self::AsOurs,
        }
    }

    /// Has `command` write there.
    ///
    /// # Errors
    /// When the file cannot be shared by both of its outputs.
    pub fn direct(self, command: &mut Command) -> Result<()> {
        match self {
            Self::AsOurs => {}
            Self::Stderr => {
                command.stdout(Stdio::from(std::io::stderr()));
            }
            Self::File(file) => {
                let again = file.try_clone().context("could not share the command's output")?;
                command.stdin(Stdio::null()).stdout(again).stderr(file);
            }
        }
        Ok(())
    }
}

impl Child {
    /// Starts `command`, with arguments and an environment that make it connect to the relays of `targets`.
    ///
    /// # Errors
    /// When no command is given, or it cannot be started.
    pub fn start(command: &[OsString], targets: &[RelayedTarget<'_>], output: CommandOutput) -> Result<Self> {
        let mut child = prepare(command, targets)?;
        output.direct(&mut child)?;
        Self::start_prepared(&mut child)
    }

    /// Starts `command` as it is.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn start_prepared(command: &mut Command) -> Result<Self> {
        let application = Application::start(command).map_err(|error| NotStarted::new(command, error))?;
        Ok(Self {
            application,
            asked: false,
        })
    }

    /// Whether keys such as Ctrl-C reach the command by themselves.
    pub const fn shares_terminal(&self) -> bool {
        self.application.shares_terminal()
    }

    /// How the command ended; `None` while it runs. A signal asks it to end, and it has time for it.
    pub fn ended(&mut self, asked: Option<i32>) -> Option<Status> {
        if let Some(signal) = asked {
            self.asked = true;
            self.application.end(signal);
        }
        match self.application.ended() {
            Ok(Some(_)) if self.asked => Some(Status::Interrupted),
            Ok(Some(status)) => Some(Status::Child(exit_code(status))),
            Ok(None) => None,
            Err(_) => Some(Status::Negative),
        }
    }
}

fn exit_code(status: ExitStatus) -> u8 {
    let code = status
        .code()
        .or_else(|| status.signal().map(|signal| 128 + signal))
        .unwrap_or(1);
    u8::try_from(code).unwrap_or(1)
}

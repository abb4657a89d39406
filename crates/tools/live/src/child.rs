//! The application that `watch`, `relay` and `keys` start.

use anyhow::{Context, Result};
use pipeline::output::{EndRequest, Status};
use relay::command::{NotStarted, RelayedTarget, prepare};
use std::ffi::OsString;
use std::fs::File;
use std::os::fd::BorrowedFd;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitStatus, Stdio};
use sys::application::Application;

pub struct Child {
    application: Application,
    asked: bool,
}

#[derive(Debug)]
pub enum CommandOutput {
    AsOurs,
    /// Keeps longwire's stdout free for records.
    Stderr,
    /// Both outputs go here. Stdin is empty, since a screen occupies the terminal.
    File(File),
}

impl CommandOutput {
    /// Keeps stdout free if `records` are written there.
    pub const fn beside_records(records: bool) -> Self {
        match records {
            true => Self::Stderr,
            false => Self::AsOurs,
        }
    }

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
    pub fn start(command: &[OsString], targets: &[RelayedTarget<'_>], output: CommandOutput) -> Result<Self> {
        let mut child = prepare(command, targets)?;
        output.direct(&mut child)?;
        Self::start_prepared(&mut child)
    }

    pub fn start_prepared(command: &mut Command) -> Result<Self> {
        let application = Application::start(command).map_err(|error| NotStarted::new(command, error))?;
        Ok(Self {
            application,
            asked: false,
        })
    }

    /// True if keys such as Ctrl-C reach the command directly.
    pub const fn shares_terminal(&self) -> bool {
        self.application.shares_terminal()
    }

    /// Waits until [`Child::ended`] has something to do, or a signal comes.
    pub fn wait(&self, asked: &EndRequest) {
        self.application.wait(asked.bell());
    }

    /// Readable when [`Child::ended`] has something to do, but for the time to terminate.
    pub fn reports(&self) -> BorrowedFd<'_> {
        self.application.reports()
    }

    /// Exit status, or `None` while it runs. A signal asks it to terminate, with time to do so.
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

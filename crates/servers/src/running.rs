use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::time::Duration;

use crate::process::Process;
use crate::{Account, Error, Readiness, ServerHost};

/// Settings common to all kinds of server.
#[derive(Clone, Copy)]
pub struct ServerPlace<'a> {
    /// Name in errors, for example `database (mariadb)`.
    pub name: &'a str,
    pub host: &'a dyn ServerHost,
    /// An existing private directory for configuration, data, sockets and log. The path must be
    /// short enough for a Unix socket (about 90 bytes), and accessible to other users.
    pub directory: &'a Path,
    pub listen: Ipv4Addr,
    pub port: u16,
    /// Limit for getting ready.
    pub ready_within: Duration,
}

impl ServerPlace<'_> {
    pub fn log(&self) -> PathBuf {
        self.directory.join("server.log")
    }
}

/// A server that is ready. Ends on drop, but the directory stays.
#[derive(Debug)]
pub struct Running {
    process: Process,
    name: String,
}

impl Running {
    /// Starts `command` as `account` at `place` and waits until it is ready. `end` is the stop
    /// signal.
    pub(crate) fn start(
        command: Command,
        place: &ServerPlace<'_>,
        account: Account,
        end: i32,
        readiness: &Readiness,
    ) -> Result<Self, Error> {
        let mut process = Process::start(command, place.host, account, &place.log(), end)?;
        readiness.wait(place.name, &mut process, place.host, account, place.ready_within)?;
        Ok(Self {
            process,
            name: place.name.to_owned(),
        })
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn log(&self) -> String {
        self.process.log()
    }

    pub fn process_id(&self) -> u32 {
        self.process.id()
    }

    /// Waits for a further sign of readiness.
    ///
    /// # Errors
    /// Fails only with [`Error::Ended`] or [`Error::NotReady`].
    pub fn wait(&mut self, readiness: &Readiness, place: &ServerPlace<'_>) -> Result<(), Error> {
        readiness.wait(
            &self.name,
            &mut self.process,
            place.host,
            Account::Own,
            place.ready_within,
        )
    }

    /// Fails if the server has ended.
    ///
    /// # Errors
    /// Fails with [`Error::Gone`] and the last lines of the log.
    pub fn check(&mut self) -> Result<(), Error> {
        match self.process.ended() {
            None => Ok(()),
            Some(_) => Err(Error::Gone {
                name: self.name.clone(),
                log: self.process.log_tail(),
            }),
        }
    }

    /// Connections break without a goodbye, as in a crash.
    pub fn kill(&mut self) {
        self.process.kill();
    }

    pub fn stop(&mut self) -> Option<ExitStatus> {
        self.process.stop()
    }
}

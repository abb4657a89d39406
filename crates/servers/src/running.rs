//! A server that runs, and the place it was given.

use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::time::Duration;

use crate::process::Process;
use crate::{Account, Readiness, ServerError, ServerHost};

/// What every kind of server is given.
#[derive(Clone, Copy)]
pub struct ServerPlace<'a> {
    /// What the server is called in errors, for example `database (mariadb)`.
    pub name: &'a str,
    /// Where it runs.
    pub host: &'a dyn ServerHost,
    /// Its private directory, which must be there; configuration, data, sockets and log go into it. Its path
    /// must be short enough for a Unix socket in it (about 90 bytes), and others must be allowed to enter it.
    pub directory: &'a Path,
    /// The address to listen on.
    pub listen: Ipv4Addr,
    /// The TCP port to listen on.
    pub port: u16,
    /// How long it may take to get ready.
    pub ready_within: Duration,
}

impl ServerPlace<'_> {
    /// The file of all the server prints.
    pub fn log(&self) -> PathBuf {
        self.directory.join("server.log")
    }
}

/// A server that is ready; gone when dropped. Its directory stays.
#[derive(Debug)]
pub struct Running {
    process: Process,
    name: String,
}

impl Running {
    /// Starts `command` as `account` at `place` and waits until it is ready. `end` is the signal that ends
    /// it.
    pub(crate) fn start(
        command: Command,
        place: &ServerPlace<'_>,
        account: Account,
        end: i32,
        readiness: &Readiness,
    ) -> Result<Self, ServerError> {
        let mut process = Process::start(command, place.host, account, &place.log(), end)?;
        readiness.wait(place.name, &mut process, place.host, account, place.ready_within)?;
        Ok(Self {
            process,
            name: place.name.to_owned(),
        })
    }

    /// What it is called in errors.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// All it has printed so far.
    pub fn log(&self) -> String {
        self.process.log()
    }

    /// The number of its first process.
    pub fn process_id(&self) -> u32 {
        self.process.id()
    }

    /// Waits for one more sign that it is ready, at the place where it was started.
    ///
    /// # Errors
    /// [`ServerError::Ended`], [`ServerError::NotReady`].
    pub fn wait(&mut self, readiness: &Readiness, place: &ServerPlace<'_>) -> Result<(), ServerError> {
        readiness.wait(
            &self.name,
            &mut self.process,
            place.host,
            Account::Own,
            place.ready_within,
        )
    }

    /// Says that the server is still there.
    ///
    /// # Errors
    /// [`ServerError::Gone`] with the last lines of its log.
    pub fn check(&mut self) -> Result<(), ServerError> {
        match self.process.ended() {
            None => Ok(()),
            Some(_) => Err(ServerError::Gone {
                name: self.name.clone(),
                log: self.process.log_tail(),
            }),
        }
    }

    /// Kills it as a crash would; connections break without a goodbye.
    pub fn kill(&mut self) {
        self.process.kill();
    }

    /// Asks it to end and waits until it is gone.
    pub fn stop(&mut self) -> Option<ExitStatus> {
        self.process.stop()
    }
}

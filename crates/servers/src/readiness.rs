//! Signs that a server is ready.

use std::io::{Read, Write};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::process::{POLL, Process};
use crate::{Account, Error, ServerHost};

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Readiness {
    /// It has printed this text.
    Log(String),
    /// It listens on this TCP port. Checked without connecting, to avoid a stray client.
    Port(u16),
    /// A GET returns a status below 400.
    Http {
        port: u16,
        /// With the leading slash.
        path: String,
    },
    /// This command, program first, exits with status 0 on the server's host.
    Command(Vec<String>),
    /// It runs, without further wait.
    Running,
}

impl Readiness {
    /// `name` is for errors.
    ///
    /// # Errors
    /// Fails only with [`Error::Ended`] or [`Error::NotReady`].
    pub fn wait(
        &self,
        name: &str,
        process: &mut Process,
        host: &dyn ServerHost,
        account: Account,
        within: Duration,
    ) -> Result<(), Error> {
        let started = Instant::now();
        loop {
            let ended = process.ended().is_some();
            if !ended && self.is_met(process, host, account) {
                return Ok(());
            }
            if ended {
                return Err(Error::Ended {
                    name: name.to_owned(),
                    log: process.log_tail(),
                });
            }
            if started.elapsed() > within {
                return Err(Error::NotReady {
                    name: name.to_owned(),
                    within,
                    awaited: self.awaited(),
                    log: process.log_tail(),
                });
            }
            std::thread::sleep(POLL);
        }
    }

    fn is_met(&self, process: &Process, host: &dyn ServerHost, account: Account) -> bool {
        match self {
            Self::Log(mark) => process.log().contains(mark.as_str()),
            Self::Port(port) => listens(process.id(), *port),
            Self::Http { port, path } => listens(process.id(), *port) && answers(host, *port, path),
            Self::Command(words) => succeeds(words, host, account),
            Self::Running => true,
        }
    }

    fn awaited(&self) -> String {
        match self {
            Self::Log(mark) => format!("it did not print '{mark}'"),
            Self::Port(port) => format!("it did not listen on port {port}"),
            Self::Http { port, path } => format!("it did not answer GET {path} on port {port}"),
            Self::Command(words) => format!("'{}' did not succeed", words.join(" ")),
            Self::Running => "it did not run".to_owned(),
        }
    }
}

/// Whether a process listens on `port` in the network namespace of process `id`, by `/proc`.
fn listens(id: u32, port: u16) -> bool {
    ["tcp", "tcp6"].iter().any(|table| {
        let text = std::fs::read_to_string(format!("/proc/{id}/net/{table}")).unwrap_or_default();
        text.lines().skip(1).any(|line| {
            let mut fields = line.split_whitespace().skip(1);
            let local = fields.next().and_then(|address| address.rsplit(':').next());
            let state = fields.nth(1);
            local.and_then(|port| u16::from_str_radix(port, 16).ok()) == Some(port) && state == Some(LISTEN)
        })
    })
}

fn answers(host: &dyn ServerHost, port: u16, path: &str) -> bool {
    let ask = || -> std::io::Result<bool> {
        let mut stream = host.connect(port)?;
        stream.set_read_timeout(Some(ANSWER_WITHIN))?;
        stream.write_all(format!("GET {path} HTTP/1.0\r\nHost: localhost\r\n\r\n").as_bytes())?;
        let mut head = [0; 12];
        stream.read_exact(&mut head)?;
        // `HTTP/1.1 200`: informational, success, redirection.
        Ok(matches!(head[9], b'1'..=b'3'))
    };
    ask().unwrap_or(false)
}

fn succeeds(words: &[String], host: &dyn ServerHost, account: Account) -> bool {
    let Some((program, arguments)) = words.split_first() else {
        return false;
    };
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null());
    crate::process::run(command, host, account).is_ok()
}

/// State of a listening socket in `/proc/net/tcp`.
const LISTEN: &str = "0A";
const ANSWER_WITHIN: Duration = Duration::from_secs(10);

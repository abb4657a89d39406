//! A command whose connections pass a relay: where it connects, and how it learns about that and about TLS.

pub mod environment;
pub mod placeholders;

use anyhow::{Context, Result};
use environment::Variable;
use link::LinkDescription;
use model::Endpoint;
use relay::{Relay, RelayTls};
use std::ffi::OsString;
use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::process::Command;
use std::time::Duration;
use sys::{ClientTls, Target};

/// A command of the user's that could not be started.
#[derive(Debug, thiserror::Error)]
#[error("could not start {program}: {}", if *.is_missing { "no such program" } else { .reason })]
pub struct NotStarted {
    program: String,
    reason: String,
    is_missing: bool,
}

impl NotStarted {
    /// As the system says it.
    pub fn new(command: &Command, error: io::Error) -> Self {
        Self {
            program: command.get_program().display().to_string(),
            reason: error.to_string(),
            is_missing: error.kind() == io::ErrorKind::NotFound,
        }
    }

    /// As shells do: 127 when there is no such program, 126 when it cannot be run.
    pub const fn exit_status(&self) -> u8 {
        if self.is_missing { 127 } else { 126 }
    }
}

/// Which side speaks TLS when a relay is between a command and the server.
#[derive(Debug, Clone, Copy)]
pub struct TlsPlan {
    /// What the relay does.
    pub relay: RelayTls,
    /// What the command is told about TLS.
    pub client: ClientTls,
}

/// The address an application on this host connects to: loopback when the relay listens on every address.
pub fn connect_to(relay: &Relay) -> Endpoint {
    let local = relay.local_addr();
    let address = match local.ip() {
        ip if !ip.is_unspecified() => ip,
        IpAddr::V4(_) | IpAddr::V6(_) => IpAddr::V4(Ipv4Addr::LOCALHOST),
    };
    Endpoint {
        address,
        port: local.port(),
    }
}

/// How long connections may take to end by themselves after the command has ended: their last bytes and ends
/// cross the link.
pub fn last_bytes(link: Option<&LinkDescription>) -> Duration {
    LAST_BYTES + link.map_or(Duration::ZERO, |link| link.rtt * 4)
}

/// A target that a command reaches through a relay.
#[derive(Debug, Clone, Copy)]
pub struct RelayedTarget<'a> {
    /// What placeholders and variables call it: `postgres`.
    pub name: &'a str,
    /// The target.
    pub target: &'a Target,
    /// Where the command connects instead.
    pub relay: Endpoint,
    /// What the command learns about TLS.
    pub tls: ClientTls,
}

impl RelayedTarget<'_> {
    /// The target with the relay in its place, as the command is given it: as secret as the target.
    fn url(&self) -> String {
        self.target.url_through(self.relay, self.tls)
    }
}

/// `command` with arguments and an environment that make it connect to the relays of `targets`.
///
/// # Errors
/// When no command is given.
pub fn prepare(command: &[OsString], targets: &[RelayedTarget<'_>]) -> Result<Command> {
    let mut words = command.iter().map(|word| placeholders::replaced(word, targets));
    let program = words.next().context("no command is given behind --")?;
    let mut child = Command::new(&program);
    child.args(words);
    for Variable { name, value, .. } in environment::variables(targets) {
        child.env(name, value);
    }
    if let Some(postgres) = environment::postgres(targets) {
        match (postgres.tls, postgres.target.security.mode) {
            (ClientTls::LeftOut, _) => leave_tls_out(&mut child),
            (ClientTls::Own, Some(mode)) => {
                child.env("PGSSLMODE", mode.name());
            }
            (ClientTls::Own, None) => {}
        }
    }
    Ok(child)
}

/// libpq refuses to connect without TLS while a variable is set that needs it.
fn leave_tls_out(child: &mut Command) {
    for name in [
        "PGREQUIRESSL",
        "PGSSLNEGOTIATION",
        "PGCHANNELBINDING",
        "PGSSLROOTCERT",
    ] {
        child.env_remove(name);
    }
    child.env("PGSSLMODE", "disable");
}

const LAST_BYTES: Duration = Duration::from_secs(1);

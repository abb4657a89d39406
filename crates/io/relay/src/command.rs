//! Runs a command with its connections redirected to a relay.

pub mod environment;
pub mod placeholders;

use crate::{Relay, RelayTls};
use environment::Variable;
use link::LinkDescription;
use model::Endpoint;
use std::ffi::OsString;
use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::process::Command;
use std::time::Duration;
use sys::{ClientTls, Target};

#[derive(Debug, thiserror::Error)]
#[error("could not start {program}: {}", if *.is_missing { "no such program" } else { .reason })]
pub struct NotStarted {
    program: String,
    reason: String,
    is_missing: bool,
}

impl NotStarted {
    pub fn new(command: &Command, error: io::Error) -> Self {
        Self {
            program: command.get_program().display().to_string(),
            reason: error.to_string(),
            is_missing: error.kind() == io::ErrorKind::NotFound,
        }
    }

    /// Returns 127 if the program is missing and 126 if it cannot be executed, as shells do.
    pub const fn exit_status(&self) -> u8 {
        if self.is_missing { 127 } else { 126 }
    }
}

#[derive(Debug, Clone, Copy)]
pub struct TlsPlan {
    pub relay: RelayTls,
    pub client: ClientTls,
}

/// Loopback if the relay listens on all addresses.
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

/// Time limit for connections to close after the command has ended: their last bytes still cross
/// the link.
pub fn last_bytes(link: Option<&LinkDescription>) -> Duration {
    LAST_BYTES + link.map_or(Duration::ZERO, |link| link.rtt * 4)
}

#[derive(Debug, Clone, Copy)]
pub struct RelayedTarget<'a> {
    /// Prefix of placeholders and variables, such as `postgres`.
    pub name: &'a str,
    pub target: &'a Target,
    pub relay: Endpoint,
    pub tls: ClientTls,
}

impl RelayedTarget<'_> {
    /// As secret as the target.
    fn url(&self) -> String {
        self.target.url_through(self.relay, self.tls)
    }
}

#[derive(Debug, thiserror::Error)]
#[error("no command is given behind --")]
pub struct NoCommand;

/// The command with its placeholders replaced and variables of the relays set.
pub fn prepare(command: &[OsString], targets: &[RelayedTarget<'_>]) -> Result<Command, NoCommand> {
    let mut words = command.iter().map(|word| placeholders::replaced(word, targets));
    let program = words.next().ok_or(NoCommand)?;
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

/// With a variable set that requires TLS, libpq refuses to connect without it.
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

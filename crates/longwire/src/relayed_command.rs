//! A command whose connections pass a relay: where it connects, and how it learns about that and about TLS.

use anyhow::{Context, Result};
use link::LinkDescription;
use model::Endpoint;
use relay::{Relay, RelayTls};
use std::ffi::{OsStr, OsString};
use std::net::{IpAddr, Ipv4Addr};
use std::process::Command;
use std::time::Duration;
use sys::{ClientTls, Scheme, Target};

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

/// How long connections may take to end by themselves after the command has ended: their last bytes and ends cross the
/// link.
pub fn last_bytes(link: Option<&LinkDescription>) -> Duration {
    LAST_BYTES + link.map_or(Duration::ZERO, |link| link.rtt * 4)
}

/// `command` with arguments and an environment that make it connect to `relay`, with TLS as in `tls`.
///
/// # Errors
/// When no command is given.
pub fn prepare(command: &[OsString], target: &Target, relay: Endpoint, tls: ClientTls) -> Result<Command> {
    let url = target.url_through(relay, tls);
    let mut words = command.iter().map(|word| replaced(word, relay, &url));
    let program = words.next().context("no command is given behind --")?;
    let mut child = Command::new(&program);
    child.args(words).envs(environment(target, relay, &url));
    if matches!(target.scheme, Scheme::Postgres | Scheme::Kingbase) {
        match (tls, target.security.mode) {
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

fn replaced(word: &OsStr, relay: Endpoint, url: &str) -> OsString {
    match word.to_str() {
        Some(text) => text
            .replace("{host}", &relay.address.to_string())
            .replace("{port}", &relay.port.to_string())
            .replace("{url}", url)
            .into(),
        None => word.to_owned(),
    }
}

fn environment(target: &Target, relay: Endpoint, url: &str) -> Vec<(&'static str, String)> {
    let (host, port) = (relay.address.to_string(), relay.port.to_string());
    let mut variables = vec![
        ("LONGWIRE_HOST", host.clone()),
        ("LONGWIRE_PORT", port.clone()),
        ("LONGWIRE_URL", url.to_owned()),
        ("DATABASE_URL", url.to_owned()),
        ("PGHOST", host.clone()),
        ("PGPORT", port.clone()),
        ("MYSQL_HOST", host),
        ("MYSQL_TCP_PORT", port),
    ];
    let password = target
        .password
        .as_ref()
        .map(|password| password.reveal().to_owned());
    let login = match target.scheme {
        Scheme::Postgres | Scheme::Kingbase => {
            vec![
                ("PGUSER", target.user.clone()),
                ("PGDATABASE", target.database.clone()),
                ("PGPASSWORD", password),
            ]
        }
        Scheme::Mysql | Scheme::Mariadb => vec![("MYSQL_PWD", password)],
        _ => Vec::new(),
    };
    variables.extend(login.into_iter().filter_map(|(name, value)| Some((name, value?))));
    variables
}

const LAST_BYTES: Duration = Duration::from_secs(1);

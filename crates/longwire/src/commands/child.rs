//! The application that `watch` and `relay` start.

use anyhow::{Context, Result};
use model::Endpoint;
use pipeline::output::Status;
use std::ffi::{OsStr, OsString};
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitStatus, Stdio};
use sys::application::Application;
use sys::{ClientTls, Scheme, Target};

/// A running command, pointed at the relay. It is never left behind: dropped, it is ended.
pub struct Child {
    application: Application,
    asked: bool,
}

impl Child {
    /// Starts `command`, told in its arguments and its environment to connect to `relay`.
    ///
    /// # Errors
    /// When there is none, or it cannot be started.
    pub fn start(
        command: &[OsString],
        target: &Target,
        relay: Endpoint,
        tls: ClientTls,
        stdout_is_ours: bool,
    ) -> Result<Self> {
        let mut child = prepare(command, target, relay, tls)?;
        if stdout_is_ours {
            child.stdout(Stdio::from(std::io::stderr()));
        }
        let application = Application::start(&mut child)
            .with_context(|| format!("could not start {}", child.get_program().display()))?;
        Ok(Self {
            application,
            asked: false,
        })
    }

    /// How the command ended; absent while it runs. A signal asks it to end, and it has time for it.
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

/// `command`, told in its arguments and its environment to connect to `relay`, and what `tls` says of TLS.
///
/// # Errors
/// When there is none.
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

/// libpq refuses to do without TLS when there is a variable that needs it.
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

fn exit_code(status: ExitStatus) -> u8 {
    let code = status
        .code()
        .or_else(|| status.signal().map(|signal| 128 + signal))
        .unwrap_or(1);
    u8::try_from(code).unwrap_or(1)
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

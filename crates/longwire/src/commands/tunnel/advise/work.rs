//! The load that `tunnel advise` puts on a server, as `load` does.

use crate::commands::scripts::{Mode, Source, parsed};
use crate::commands::seconds;
use anyhow::{Context, Result, bail};
use clap::Args;
use client::session::{Session, SessionOptions};
use load::http::HttpLoad;
use load::sql::SqlLoad;
use load::{Workload, tables};
use model::{Protocol, Warning, WarningKind};
use pipeline::moved::ConnectionChoice;
use std::time::Duration;
use sys::StopToken;
use sys::Target;
use tunnel::CompressionLevel;
use tunnel_io::advise::{self, Traffic};

#[derive(Debug, Clone, Args)]
pub struct Asking {
    /// With a server: a script in pgbench's language and its weight. One run of it is an operation.
    /// Can be repeated.
    #[arg(
        short = 'f',
        long = "script",
        visible_alias = "file",
        value_name = "FILE[@WEIGHT]"
    )]
    pub scripts: Vec<String>,
    /// With a server: a built-in script of pgbench: select-only, simple-update, tpcb-like. Needs
    /// the tables of `longwire load --initialize`.
    #[arg(short, long = "builtin", value_name = "NAME[@WEIGHT]")]
    pub builtins: Vec<String>,
    /// With a server: this statement. Can be repeated; together they are one operation.
    #[arg(long, alias = "sql", value_name = "SQL", conflicts_with_all = ["scripts", "builtins"])]
    pub statement: Vec<String>,
    /// With a server: protocol for statements.
    #[arg(short = 'M', long = "protocol", value_name = "MODE")]
    pub mode: Option<Mode>,
    /// With a server: duration, such as 5 (seconds) or 500ms [default: 5s].
    #[arg(short = 'T', long = "time", value_parser = seconds::time, value_name = "TIME")]
    pub time: Option<Duration>,
    /// With a server: stop after this many operations, or after the time.
    #[arg(short = 'n', long = "requests", alias = "number", value_parser = clap::value_parser!(u64).range(1..), value_name = "COUNT")]
    pub number: Option<u64>,
}

impl Asking {
    /// Refuses options that have no effect on files.
    ///
    /// # Errors
    /// When one was given.
    pub fn refuse_for_files(&self) -> Result<()> {
        for (given, flag) in [
            (!self.scripts.is_empty(), "-f"),
            (!self.builtins.is_empty(), "-b"),
            (!self.statement.is_empty(), "--statement"),
            (self.mode.is_some(), "-M"),
            (self.time.is_some(), "-T"),
            (self.number.is_some(), "-n"),
        ] {
            if given {
                bail!("{flag} applies to a server only: the sources are files");
            }
        }
        Ok(())
    }

    /// Names an operation, without a literal.
    pub fn title(&self, target: &Target) -> String {
        let named: Vec<&str> = self
            .builtins
            .iter()
            .chain(&self.scripts)
            .map(String::as_str)
            .collect();
        match (
            target.scheme.protocol(),
            self.statement.as_slice(),
            named.as_slice(),
        ) {
            (Protocol::Http, ..) => "requests".to_owned(),
            (_, [], []) => "tpcb-like".to_owned(),
            (_, [], named) => named.join(", "),
            (_, [_], _) => "one statement".to_owned(),
            (_, statements, _) => format!("{} statements", statements.len()),
        }
    }

    /// Puts the load on `target`, and returns the traffic.
    ///
    /// # Errors
    /// When a script cannot be used, or the server cannot be reached.
    pub fn traffic(
        &self,
        url: &str,
        target: &Target,
        levels: Vec<CompressionLevel>,
        moved: Vec<ConnectionChoice>,
        stop: &StopToken,
    ) -> Result<Traffic> {
        let mut warning = None;
        let workload: Box<dyn Workload> = match target.scheme.protocol() {
            Protocol::Http => http(url, target, stop)?,
            Protocol::Postgres | Protocol::Mysql => {
                let mut session = Session::open(target, SessionOptions::new(stop))?;
                warning = session.is_encrypted().then(plain_to_the_tunnel);
                let workload = self.statements(target, &mut session)?;
                session.close();
                workload
            }
            _ => bail!(
                "advise cannot load {}:// servers: capture the traffic of one and give the file, or use postgres://, mysql://, mariadb:// or http://",
                target.scheme.name()
            ),
        };
        let plan = load::Plan {
            operations: self.number,
            duration: Some(self.time.unwrap_or(USUAL_TIME)),
            ..load::Plan::default()
        };
        let mut traffic = advise::load(workload.as_ref(), &plan, levels, moved, stop)?;
        traffic.origin.warnings.extend(warning);
        Ok(traffic)
    }

    fn statements(&self, target: &Target, session: &mut Session<'_>) -> Result<Box<dyn Workload>> {
        let mut sources = Vec::new();
        if !self.statement.is_empty() {
            let ended = self
                .statement
                .iter()
                .map(|statement| format!("{};\n", statement.trim_end_matches([';', ' ', '\n'])));
            sources.push(Source::statement(ended.collect()));
        }
        for word in &self.builtins {
            sources.push(Source::builtin(word)?);
        }
        for word in &self.scripts {
            sources.push(Source::file(word)?);
        }
        if sources.is_empty() {
            sources.push(Source::builtin("tpcb-like")?);
        }
        let mut scripts = parsed(&sources, load::sql::quoting(target.scheme))?;
        let is_scaled = sources.iter().any(|source| source.is_builtin);
        let scale = is_scaled.then(|| scale(session)).transpose()?;
        scripts.define("scale", &scale.unwrap_or(1).to_string())?;
        let mode = self.mode.unwrap_or(Mode::Simple).query_mode();
        Ok(Box::new(SqlLoad::new(target, scripts, mode)?))
    }
}

fn http(url: &str, target: &Target, stop: &StopToken) -> Result<Box<dyn Workload>> {
    let session = Session::connect(target, SessionOptions::new(stop))?;
    let address = session
        .server()
        .context("an http:// target needs a TCP address")?;
    Ok(Box::new(HttpLoad::new(url, address, true)?))
}

fn plain_to_the_tunnel() -> Warning {
    let text = "asked over TLS: a tunnel compresses these bytes only if clients connect to its near end without TLS \
                (sslmode=disable)";
    Warning::new(WarningKind::NoEffect, text)
}

fn scale(session: &mut Session<'_>) -> Result<u64> {
    tables::scale(session)?.context(
        "the tables of the built-in scripts do not exist: make them with longwire load --initialize TARGET, or give statements with -f or --statement",
    )
}

/// Connections that go through the tunnel: with a server, all of its own.
pub fn moved(target: &Target, asked: &[ConnectionChoice]) -> Vec<ConnectionChoice> {
    match (asked, target.scheme.protocol()) {
        ([], Protocol::Http) => vec![ConnectionChoice::Protocol(Protocol::Http)],
        (asked, _) => asked.to_vec(),
    }
}

/// Long enough for a few thousand small operations.
const USUAL_TIME: Duration = Duration::from_secs(5);

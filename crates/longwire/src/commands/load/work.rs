//! Builds the workload from the arguments.

use super::{Args, Shown};
use crate::commands::scripts::{Source, parsed};
use anyhow::{Context, Result, bail};
use client::bridge::JdbcDialect;
use client::session::{Session, SessionOptions};
use load::http::HttpLoad;
use load::jdbc::JdbcLoad;
use load::script::{Quoting, Scripts};
use load::sql::SqlLoad;
use load::{Workload, tables};
use report::outcome::LoadWork;
use std::sync::Arc;
use sys::StopToken;
use sys::Target;

pub struct ClientWork {
    pub workload: Box<dyn Workload>,
    pub told: LoadWork,
    pub scripts: Vec<(String, u32)>,
}

pub fn http(args: &Args, url: &str, target: &Target, stop: &StopToken) -> Result<ClientWork> {
    for (given, flag) in [
        (!args.scripts.is_empty(), "-f"),
        (!args.statements.is_empty(), "--statement"),
        (!args.builtins.is_empty(), "-b"),
        (args.select_only, "-S"),
        (args.skip_some_updates, "-N"),
        (!args.definitions.is_empty(), "-D"),
        (args.scale.is_some(), "-s"),
    ] {
        if given {
            bail!("{flag} is for SQL: an http:// target has no scripts");
        }
    }
    let keep_alive = !args.no_keep_alive && !args.connect;
    let session = Session::connect(target, SessionOptions::new(stop))?;
    let address = session
        .server()
        .context("an http:// target needs a TCP address")?;
    Ok(ClientWork {
        workload: Box::new(HttpLoad::new(url, address, keep_alive)?),
        told: LoadWork::Http { keep_alive },
        scripts: Vec::new(),
    })
}

pub fn sql(args: &Args, target: &Target, stop: &StopToken) -> Result<ClientWork> {
    if args.no_keep_alive {
        bail!("--no-keep-alive is for HTTP: -C is a connection for each transaction");
    }
    let sources = sources(args)?;
    let mut scripts = parsed(&sources, load::sql::quoting(target.scheme))?;
    if sources.iter().all(|source| source.weight == 0) {
        bail!("the weights of all scripts are 0: none would ever be chosen");
    }
    let mut session = Session::open(target, SessionOptions::new(stop))?;
    let scale = scale(args, &sources, &mut session)?;
    session.close();
    define(args, &mut scripts, scale)?;
    let scale =
        (args.scale.is_some() || sources.iter().any(|source| source.is_builtin)).then(|| scale.to_string());
    Ok(ClientWork {
        workload: Box::new(SqlLoad::new(target, scripts, args.mode.query_mode())?.reconnecting(args.connect)),
        told: LoadWork::Sql {
            scripts: title(&sources),
            scale,
            mode: args.mode.word(),
            reconnect: args.connect,
        },
        scripts: weights(&sources),
    })
}

/// Scripts in the database that a driver connects to; also returns the database's name.
pub fn driver(args: &Args, url: &str, stop: &StopToken) -> Result<(ClientWork, Shown)> {
    for (given, flag) in [
        (args.initialise, "--initialize"),
        (args.no_keep_alive, "--no-keep-alive"),
        (args.per_statement, "-r"),
        (args.output.is_some(), "-o"),
    ] {
        if given {
            bail!("{flag} is for longwire's own clients, not for drivers");
        }
    }
    let login = args.driver.login(url)?;
    let sources = sources(args)?;
    let quoting = match login.url.dialect() {
        JdbcDialect::Mysql | JdbcDialect::Mariadb => Quoting::Backslash,
        _ => Quoting::Standard,
    };
    let mut scripts = parsed(&sources, quoting)?;
    define(args, &mut scripts, u64::from(args.scale.unwrap_or(1)))?;
    let shown = Shown {
        target: login.url.to_string(),
        server: login.url.server_text(),
    };
    let mode = args.mode;
    let bridge = args.driver.start(stop)?;
    let workload = JdbcLoad::new(bridge, login, scripts, mode.query_mode())?;
    let work = ClientWork {
        workload: Box::new(workload.reconnecting(args.connect)),
        told: LoadWork::Sql {
            scripts: title(&sources),
            scale: args.scale.map(|scale| scale.to_string()),
            mode: mode.word(),
            reconnect: args.connect,
        },
        scripts: weights(&sources),
    };
    Ok((work, shown))
}

fn define(args: &Args, scripts: &mut Scripts, scale: u64) -> Result<()> {
    scripts.define("scale", &scale.to_string())?;
    for (name, value) in args.defined()? {
        scripts.define(name, value)?;
    }
    scripts.on_debug(Arc::new(|line| {
        eprintln!("{}", report::text::escape::message(line))
    }));
    Ok(())
}

fn weights(sources: &[Source]) -> Vec<(String, u32)> {
    let each = sources.iter().map(|source| (source.name.clone(), source.weight));
    each.collect()
}

fn title(sources: &[Source]) -> String {
    match sources {
        [one] => one.name.clone(),
        _ => "multiple scripts".to_owned(),
    }
}

fn sources(args: &Args) -> Result<Vec<Source>> {
    let short = [
        (args.select_only, "select-only"),
        (args.skip_some_updates, "simple-update"),
    ];
    let short = short
        .into_iter()
        .filter(|(given, _)| *given)
        .map(|(_, name)| name);
    let mut sources = Vec::new();
    for word in args.builtins.iter().map(String::as_str).chain(short) {
        sources.push(Source::builtin(word)?);
    }
    for word in &args.scripts {
        sources.push(Source::file(word)?);
    }
    sources.extend(args.statements.iter().cloned().map(Source::statement));
    if sources.is_empty() {
        sources.push(Source::builtin("tpcb-like")?);
    }
    Ok(sources)
}

/// Read from the tables for built-in scripts, else from the argument.
fn scale(args: &Args, sources: &[Source], session: &mut Session<'_>) -> Result<u64> {
    if !sources.iter().any(|source| source.is_builtin) {
        return Ok(u64::from(args.scale.unwrap_or(1)));
    }
    tables::scale(session)?.context(
        "the tables of the built-in scripts are not there: make them with longwire load --initialize TARGET, or give a script with -f",
    )
}

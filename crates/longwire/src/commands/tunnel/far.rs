//! `longwire tunnel far`: the end next to the database.

use super::FAR_PORT;
use super::Isolate;
use super::running::{Running, Told};
use super::security::{self, SecurityArgs};
use crate::commands::record_args::RecordArgs;
use anyhow::Result;
use clap::Args as ClapArgs;
use live::address;
use model::TunnelTotals;
use pipeline::output::{self, Status};
use std::net::SocketAddr;
use sys::Clock;
use sys::arguments::CommandLine;
use tunnel::LevelChoice;
use tunnel_io::{FarEnd, FarOptions};

/// The end next to the database: accepts near ends, and connects to the database for each of their
/// clients.
///
/// Beyond loopback it listens only with keys. An accepted near end reaches the database's port and
/// nothing else.
#[derive(Debug, ClapArgs)]
#[command(after_help = r"Examples:
  longwire tunnel far --listen 0.0.0.0 --to 127.0.0.1:5432 \
    --key far.key --peer near.key.pub
  longwire tunnel far --listen 10.0.0.2:7718 --to mysql://db1 \
    --psk-file tunnel.psk --level 6")]
pub(super) struct Args {
    /// Address for near ends: PORT of 127.0.0.1, ADDRESS or ADDRESS:PORT [default port: 7718]; can
    /// be repeated.
    #[arg(long, value_name = "ADDRESS", required = true)]
    listen: Vec<String>,
    /// The database: HOST:PORT, or a URL. Only its host and port are used.
    #[arg(long, value_name = "ADDRESS")]
    to: String,
    #[command(flatten)]
    security: SecurityArgs,
    /// Compression level towards the clients, overriding the near end: 0 to 9, or auto.
    #[arg(long, value_name = "LEVEL")]
    level: Option<LevelChoice>,
    /// Reset compression at these boundaries, even if the near end requests less.
    #[arg(long, value_enum, value_name = "BOUNDARY")]
    isolate: Option<Isolate>,
    /// Serve metrics for Prometheus at http://ADDRESS/metrics.
    #[arg(long, value_parser = address::to_serve, value_name = "ADDRESS")]
    prometheus: Option<SocketAddr>,
    #[command(flatten)]
    records: RecordArgs,
}

pub(super) fn run(args: &Args, typed: &CommandLine) -> Result<Status> {
    let to = address::of_database(&args.to)?;
    let mut listen = Vec::new();
    for text in &args.listen {
        listen.extend(address::to_listen(text, Some(FAR_PORT))?);
    }
    let security = args.security.security()?;
    let clock = Clock::anchored_now();
    let (notify, told) = Told::new("far", clock, &args.records)?;
    let sentence = security::sentence(&security, "near");
    let far = FarEnd::start(FarOptions {
        listen,
        to: to.clone(),
        security,
        level: args.level,
        isolate: args.isolate.map(Into::into),
        notify,
        clock,
    })?;
    for address in far.addresses() {
        output::print_note(&format!(
            "tunnel far end listens on {address} for near ends, before {to}; Ctrl-C ends it"
        ));
    }
    output::print_note(&sentence);
    let conditions = output::conditions(
        typed,
        "the monotonic clock",
        format!("far end of a tunnel before {to}"),
    );
    told.attend(far, &conditions, args.prometheus)
}

impl Running for FarEnd {
    fn totals(&self) -> TunnelTotals {
        Self::totals(self)
    }

    fn stop(self) -> TunnelTotals {
        Self::stop(self)
    }
}

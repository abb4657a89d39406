//! `longwire tunnel near`: the end next to the clients.

use super::FAR_PORT;
use super::Isolate;
use super::running::{Running, Told};
use super::security::{self, SecurityArgs};
use crate::commands::observing::PlainClientsArg;
use crate::commands::record_args::RecordArgs;
use anyhow::Result;
use clap::Args as ClapArgs;
use live::address;
use model::{TunnelTotals, parse_duration};
use pipeline::output::{self, Status};
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::time::Duration;
use sys::Clock;
use sys::arguments::CommandLine;
use tunnel::LevelChoice;
use tunnel_io::{NearEnd, NearOptions};

/// The end next to the clients, which connect to it as if it were the database.
///
/// Keeps its lanes to the far end up, and reopens lost ones. Clients that arrive meanwhile wait for
/// --connect-timeout. Each direction of a lane shares one compression history for all clients.
#[derive(Debug, ClapArgs)]
#[command(after_help = r"Examples:
  longwire tunnel near --listen 5432 --to db1 --key near.key --peer far.key.pub
  longwire tunnel near --listen 3306 --to 10.0.0.2:7718 --psk-file tunnel.psk \
    --level 6

Level 0 does not compress; 1 to 9 use Zstandard, from fast to small. Level auto chooses for each
direction by the lane's rate, the data and the processor: docs/tunnel.md")]
pub(super) struct Args {
    /// Address for clients: PORT of 127.0.0.1, or ADDRESS:PORT; can be repeated.
    #[arg(long, value_name = "ADDRESS", required = true)]
    listen: Vec<String>,
    /// The far end: HOST or HOST:PORT [default port: 7718].
    #[arg(long, value_name = "ADDRESS")]
    to: String,
    #[command(flatten)]
    plain_clients: PlainClientsArg,
    #[command(flatten)]
    security: SecurityArgs,
    /// Compression level for both directions, unless the far end has its own: 0 to 9, or auto.
    #[arg(long, default_value_t = LevelChoice::Auto, value_name = "LEVEL")]
    level: LevelChoice,
    /// Reset compression at these boundaries, so that sizes reveal nothing about earlier data.
    #[arg(long, value_enum, default_value_t = Isolate::None, value_name = "BOUNDARY")]
    isolate: Isolate,
    /// Also compress logins. They are not compressed by default, because their compressed length
    /// would reveal something about the password.
    #[arg(long)]
    compress_login: bool,
    /// Number of lanes. With two, a lost packet delays only half of the clients. Each extra lane
    /// has its own compression history.
    #[arg(long, default_value = "2", value_name = "COUNT")]
    lanes: NonZeroUsize,
    /// Time limit of a client for a lane, and of a lane for the far end.
    #[arg(long, default_value = "5s", value_parser = parse_duration, value_name = "TIME")]
    connect_timeout: Duration,
    /// Serve metrics for Prometheus at http://ADDRESS/metrics.
    #[arg(long, value_parser = address::to_serve, value_name = "ADDRESS")]
    prometheus: Option<SocketAddr>,
    #[command(flatten)]
    records: RecordArgs,
}

pub(super) fn run(args: &Args, typed: &CommandLine) -> Result<Status> {
    let far = address::with_port(&args.to, Some(FAR_PORT))?;
    let mut listen = Vec::new();
    for text in &args.listen {
        listen.extend(address::to_listen(text, None)?);
    }
    let security = args.security.security()?;
    let clock = Clock::anchored_now();
    let (notify, told) = Told::new("near", clock, &args.records)?;
    let sentence = security::sentence(&security, "far");
    let near = NearEnd::start(NearOptions {
        listen,
        far: far.clone(),
        security,
        plain_clients: args.plain_clients.choice(),
        level: args.level,
        isolate: args.isolate.into(),
        compress_login: args.compress_login,
        lanes: args.lanes,
        connect_timeout: args.connect_timeout,
        notify,
        clock,
    })?;
    for address in near.addresses() {
        output::print_note(&format!(
            "tunnel near end listens on {address} for clients, towards {far}; Ctrl-C ends it"
        ));
    }
    output::print_note(&sentence);
    let conditions = output::conditions(
        typed,
        "the monotonic clock",
        format!("near end of a tunnel to {far}"),
    );
    told.attend(near, &conditions, args.prometheus)
}

impl Running for NearEnd {
    fn totals(&self) -> TunnelTotals {
        Self::totals(self)
    }

    fn stop(self) -> TunnelTotals {
        Self::stop(self)
    }
}

//! `longwire agent`: observes for months, and hands what it sees to monitoring systems.

mod config;
mod reload;
mod run;
mod totals;

use config::AgentConfig;
pub use config::AgentConfigError;

use crate::commands::targets::PlainClientsArg;
use anyhow::Result;
use clap::Args as ClapArgs;
use pipeline::output::{self, Status};
use std::path::PathBuf;

/// Observe without an end: relays or network interfaces, as series for Prometheus and OTLP.
///
/// What `watch` measures, for months: memory, files and names stay bounded. Reads its configuration again on
/// SIGHUP, ends on SIGTERM within the time that the configuration gives it, tells systemd how it is, and
/// answers /health. Observing never waits for an exporter. See docs/agent.md.
#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Examples:\n  longwire agent --config /etc/longwire/agent.toml --check-config\n  \
                        longwire agent --config /etc/longwire/agent.toml\n  \
                        longwire agent --config agent.toml --json > windows.jsonl"
)]
pub struct Args {
    /// The configuration. See docs/agent.md.
    #[arg(long, value_name = "FILE")]
    pub config: PathBuf,
    /// Only say whether the configuration can be used, and where not: line and column.
    #[arg(long)]
    pub check_config: bool,
    /// Whether clients of its relays on other machines may be plain.
    #[command(flatten)]
    pub plain_clients: PlainClientsArg,
    /// Write records (JSON Lines) at the end of each window: its statements, findings and summary.
    #[arg(long)]
    pub json: bool,
}

/// Runs it.
///
/// # Errors
/// When the configuration cannot be used, or what it asks for cannot be observed.
pub fn run(args: &Args) -> Result<Status> {
    let config = AgentConfig::read_file(&args.config, args.plain_clients)?;
    if args.check_config {
        output::print_note(&format!("{} can be used", args.config.display()));
        return Ok(Status::Done);
    }
    run::run(args, config)
}

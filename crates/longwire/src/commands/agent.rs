//! `longwire agent`: observes for months and exports to monitoring systems.

use crate::commands::observing::PlainClientsArg;
use crate::commands::record_args::RecordArgs;
use agent::{AgentConfig, AgentPlan};
use anyhow::Result;
use clap::Args as ClapArgs;
use pipeline::output::{self, Status};
use std::path::PathBuf;
use sys::arguments::CommandLine;

/// Observe permanently: relays or network interfaces, as series for Prometheus and OTLP.
///
/// Measures like `watch`, with bounded memory, files and names. Reads its configuration again on
/// SIGHUP, and ends on SIGTERM within the configured time. Reports its state to systemd and at
/// /health. Observing never waits for an exporter. See docs/agent.md.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:
  longwire agent --config /etc/longwire/agent.toml --check-config
  longwire agent --config /etc/longwire/agent.toml
  longwire agent --config agent.toml --json > windows.jsonl")]
pub struct Args {
    /// Path of the configuration. See docs/agent.md.
    #[arg(long, value_name = "FILE")]
    pub config: PathBuf,
    /// Only check the configuration, and print the line and column of each error.
    #[arg(long)]
    pub check_config: bool,
    #[command(flatten)]
    pub plain_clients: PlainClientsArg,
    #[command(flatten)]
    pub records: RecordArgs,
}

/// # Errors
/// When the configuration cannot be used, or a target cannot be observed.
pub fn run(args: &Args, typed: &CommandLine) -> Result<Status> {
    let plain_clients = args.plain_clients.choice();
    let config = AgentConfig::read_file(&args.config, plain_clients)?;
    if args.check_config {
        output::print_note(&format!("{} can be used", args.config.display()));
        return Ok(Status::Done);
    }
    let plan = AgentPlan {
        config: args.config.clone(),
        plain_clients,
        records: args.records.format(),
    };
    agent::run(&plan, config, typed)
}

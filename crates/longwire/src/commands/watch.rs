//! `longwire watch`: measures while the application runs, as a relay in front of the database or at
//! a network interface.

mod interface;
mod relayed;

use super::reporting::{Reporting, RttChoice};
use crate::commands::calibration_flag::CalibrationArgument;
use crate::commands::observing::ExportArgs;
use crate::commands::observing::InterfaceArgs;
use crate::commands::observing::{RelayArgs, SparingArgs};
use anyhow::{Result, ensure};
use clap::Args as ClapArgs;
use live::targets::{PlannedRelay, link_rtt};
use live::watch::RunPlan;
use pipeline::aggregator::AggregatorConfig;
use pipeline::calibration::Allowance;
use pipeline::output::Status;
use pipeline::page::PageFile;
use report::Style;
use std::borrow::Cow;
use std::ffi::OsString;
use std::path::PathBuf;
use sys::arguments::CommandLine;

/// Measure an application's database traffic while it runs, through a relay or at a network
/// interface.
///
/// Point the application at the printed address, or let longwire start it. `{host}`, `{port}` and
/// `{url}` in its arguments are replaced. LONGWIRE_HOST, LONGWIRE_PORT, LONGWIRE_URL, DATABASE_URL,
/// PGHOST, PGPORT, MYSQL_HOST and MYSQL_TCP_PORT are set. Ends with the command
/// and its exit status, or on Ctrl-C.
///
/// Several targets are relayed at once, in one analysis. Add http://HOST:PORT, the application
/// itself, to join each HTTP request with its statements and cache calls. Each target has
/// its own placeholders and variables, such as `{NAME.port}` and LONGWIRE_NAME_PORT. NAME is its
/// scheme: postgres, redis, http, or postgres2 for a second one. `{port}` is the first target's. See
/// docs/watch.md.
///
/// With --interface nothing is relayed. Packets of the targets, or of all TCP, are captured,
/// including those of connections that are already open. A command connects to the servers
/// directly. See docs/interface.md.
#[derive(Debug, ClapArgs)]
#[command(
    mut_arg("targets", |targets| targets.required(false).required_unless_present("interface")),
    mut_arg("calibration", |calibration| {
        calibration.help("File of `longwire calibrate`, for computing after longer rests")
    }),
    // A changed argument becomes the last one, which has to be this one.
    mut_arg("command", |command| command),
    after_help = r"Examples:
  longwire watch postgres://app@db1/shop -- ./report.py
  longwire watch 'mysql://app@db1/shop?sslmode=require' \
    --listen 127.0.0.1:3307 -o run.lwr
  longwire watch postgres://db1 -- psql -h {host} -p {port} -c 'select 1'
  longwire watch postgres://app@db1/shop --link 'rtt=40ms rate=10mbit' \
    -- ./report.py
  longwire watch http://127.0.0.1:8000 postgres://app@db1/shop --link 40ms \
    --prove -- ./shop --port 8000
  longwire watch http://127.0.0.1:8000 postgres://app@db1/shop redis://cache1 \
    -- ./shop --port 8000
  longwire watch postgres://db1 redis://cache1 --link redis=rtt=10ms \
    -- ./app {port} {redis.port}
  longwire watch --interface eth0 --port 5432
  longwire watch --interface any --write-pcap run.pcapng \
    --filter 'port 5432 and not host 10.0.0.7'
  longwire watch --interface lo -- ./shop
  longwire watch --interface eth0 --port 5432 --prometheus 127.0.0.1:9464"
)]
pub struct Args {
    #[command(flatten)]
    pub relays: RelayArgs,
    #[command(flatten)]
    pub sparing: SparingArgs,
    /// Measure the savings of up to three findings, and print them next to the promised ones: after at
    /// least 20 operations, one finding after another, as with --spare. Records, recordings and pages
    /// hold the operations before. See docs/links.md.
    #[arg(long, conflicts_with_all = ["spare", "prometheus", "otlp"])]
    pub prove: bool,
    #[command(flatten)]
    pub interface: InterfaceArgs,
    /// Write the run to a recording.
    #[arg(short = 'o', long = "output", value_name = "FILE")]
    pub output: Option<PathBuf>,
    #[command(flatten)]
    pub calibration: CalibrationArgument,
    #[command(flatten)]
    pub reporting: Reporting,
    #[command(flatten)]
    pub exports: ExportArgs,
    /// The command to run, behind `--`.
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
}

impl Args {
    fn plan(&self, planned: &[PlannedRelay]) -> Result<RunPlan> {
        let mut reporting = Cow::Borrowed(&self.reporting);
        if self.prove {
            reporting.to_mut().rtt.push(RttChoice::Of(link_rtt(planned)?));
        }
        let page = reporting.html.as_deref().map(PageFile::create).transpose()?;
        let Allowance { wake_up, calibration } = self.calibration.of_this_machine()?;
        let config = AggregatorConfig {
            rule: reporting.grouping.operations,
            hosts: reporting.grouping.hosts_here(),
            targets: reporting.targets(page.is_some()),
            moved: reporting.moved.on.clone(),
            wake_up,
            calibration,
            records: reporting.records.format(),
            exchanges: reporting.has_exchanges(),
            recording: self.output.clone(),
            findings: Some(reporting.distances()),
            ..AggregatorConfig::default()
        };
        Ok(RunPlan {
            config,
            page,
            exports: self.exports.plan()?,
            has_command: !self.command.is_empty(),
            proves: self.prove,
        })
    }

    /// Of the view; `None` for records.
    fn style(&self) -> Option<Style> {
        (!self.reporting.records.is_given()).then(|| self.reporting.all.style())
    }
}

/// # Errors
/// When a target, the listening address or the interface cannot be used, or the command cannot be
/// started.
pub fn run(args: &Args, typed: &CommandLine) -> Result<Status> {
    if !args.interface.is_given() {
        args.interface.keys.refuse_for_server()?;
        return relayed::run(args, typed);
    }
    args.interface.refuse_relay_flags(&args.relays)?;
    ensure!(
        !args.prove,
        "--prove removes the delay of an emulated link, and at an interface there is none: leave out --interface, and add --link 40ms"
    );
    interface::run(args, typed)
}

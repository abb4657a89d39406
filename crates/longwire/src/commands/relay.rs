//! `longwire relay`: connections to a server over an emulated link, without any privilege.

mod api;

use crate::commands::observing::{RelayArgs, SparingArgs};
use crate::commands::record_args::RecordArgs;
use anyhow::Result;
use clap::Args as ClapArgs;
use live::address::{ServedAddress, host_name};
use live::child::{Child, CommandOutput};
use live::relaying;
use live::relays::{self, EndedRelay, Relays};
use live::unused::UnusedRelays;
use model::{Conditions, PerDirection, SparingOutcome, Summary, counted};
use pipeline::output::{self, EndRequest, Status};
use pipeline::output_health::OutputHealth;
use relay::{Counters, Unseen};
use report::RecordFormat;
use std::ffi::OsString;
use std::io::{self, Write};
use std::sync::Arc;
use std::time::{Duration, Instant};
use sys::arguments::CommandLine;

/// Relay connections to a server over an emulated link: delay, rate, queue, loss, jitter, outages.
///
/// All connections to a target share its link in both directions, including handshakes. Works on
/// streams with a model of TCP and needs no privileges. Point the application at the printed
/// address, or let longwire start it as `watch` does. Ends with the command
/// and its exit status, or on Ctrl-C. To measure the traffic, use `watch --link`.
///
/// With --api it replaces toxiproxy: clients create proxies and toxics over HTTP while it runs.
#[derive(Debug, ClapArgs)]
#[command(
    mut_arg("targets", |targets| targets.required(false).required_unless_present("api")),
    // A changed argument becomes the last one, which has to be this one.
    mut_arg("command", |command| command),
    after_help = r"Examples:
  longwire relay postgres://db1 --link 40ms --listen 127.0.0.1:5433
  longwire relay tcp://10.0.0.2:3306 \
    --link 'rtt=40ms rate=10mbit/2mbit queue=64KiB loss=0.1%'
  longwire relay postgres://db1 --link 'rtt=120ms jitter=5ms' \
    -- psql -h {host} -p {port}
  longwire relay postgres://db1 redis://cache1 --link postgres=rtt=40ms -- ./app
  longwire relay --api 127.0.0.1:8474

A link: rtt=40ms rate=10mbit/2mbit burst=32KiB queue=64KiB loss=0.1% jitter=2ms outage=2s@10s/60s seed=7 mtu=1400"
)]
pub struct Args {
    #[command(flatten)]
    pub relays: RelayArgs,
    #[command(flatten)]
    pub sparing: SparingArgs,
    /// Serve toxiproxy's HTTP API (version 2.x) at this address, without authentication: use an
    /// address that only this host reaches. Each target is a proxy from the start, over its link
    /// and without toxics; clients create more. See docs/relay-api.md.
    #[arg(
        long,
        value_parser = ServedAddress::parse,
        value_name = "ADDRESS",
        conflicts_with_all = ["command", "spare"]
    )]
    pub api: Option<ServedAddress>,
    /// A name of this machine in the Host header of API requests; can be repeated. Default:
    /// localhost, loopback addresses and the address of --api.
    #[arg(long, value_parser = host_name, value_name = "HOST", requires = "api")]
    pub api_host: Vec<String>,
    /// Seed for toxicity, jitter and sizes of slices.
    #[arg(long, value_name = "SEED", default_value_t = 1, requires = "api")]
    pub seed: u64,
    #[command(flatten)]
    pub records: RecordArgs,
    /// The command to run, behind `--`.
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
}

/// # Errors
/// When the target, the link or the listening address cannot be used, or the command cannot be
/// started.
pub fn run(args: &Args, typed: &CommandLine) -> Result<Status> {
    if let Some(address) = &args.api {
        return api::run(args, address, typed);
    }
    let planned = args.relays.plan()?;
    let mut with_tls = Vec::new();
    relaying::check_servers(&planned, relaying::REACH)?;
    let sparing = args.sparing.plan(&planned, false)?;
    for planned in &planned {
        let tls = match sparing.is_some() && !args.command.is_empty() {
            true => relaying::tls_to_be_seen(&planned.target, planned.link.is_some(), relaying::REACH)?,
            false => relaying::tls_as_asked(&planned.target)?,
        };
        with_tls.push((planned.clone(), tls));
    }
    let asked = EndRequest::on_signals()?;
    let output_health = OutputHealth::default();
    let began = Instant::now();
    let relays = Relays::start(with_tls, &Arc::new(Unseen), sparing.as_ref())?;
    relays.announce(&output_health, !args.command.is_empty(), relays::ENDS);
    let status = if args.command.is_empty() {
        asked.wait();
        Status::Interrupted
    } else {
        let mut child = relays.child(
            &args.command,
            CommandOutput::beside_records(args.records.is_given()),
        )?;
        until_ended(&mut child, &asked)
    };
    let ended = relays.stop(status);
    let unused = UnusedRelays::among(&ended, &args.command);
    let mut warnings = relays::warnings(&ended);
    warnings.extend(unused.warnings.iter().cloned());
    output::warn(&warnings);
    print_ended(&output_health, &ended);
    let spared = sparing.as_ref().map(|sparing| sparing.name());
    let named = sparing.as_ref().map_or(Ok(()), |sparing| sparing.check_named());
    let proof = sparing.map_or_else(Vec::new, |sparing| sparing.finish());
    if let Some(proof) = proof.first().filter(|_| !args.records.is_given()) {
        let printed = output::print(&report::text::sparing_view(proof, &output::style_of(false)));
        output_health.record_written("the view on stdout is", printed);
    }
    if let Some(hint) = &unused.hint {
        output_health.hint(hint);
    }
    if let Some(format) = args.records.format() {
        let conditions = Conditions {
            spared,
            ..relaying::with_links(
                output::conditions(
                    typed,
                    "the monotonic clock",
                    relaying::observation_point(&planned),
                ),
                &planned,
            )
        };
        let written = write_records(format, &conditions, &ended, &proof, began.elapsed(), &warnings);
        output_health.record_written("the records on stdout are", written);
    }
    named?;
    Ok(output_health.status(unused.status(status)))
}

fn until_ended(child: &mut Child, asked: &EndRequest) -> Status {
    loop {
        if let Some(status) = child.ended(asked.take_signal()) {
            return status;
        }
        child.wait(asked);
    }
}

fn print_ended(output_health: &OutputHealth, ended: &[EndedRelay]) {
    for ended in ended {
        let written = match &ended.counters.link {
            Some(link) => output::print_link(link),
            None => print_counts(ended),
        };
        output_health.record_written("the relay's counts are", written);
    }
}

fn print_counts(ended: &EndedRelay) -> io::Result<()> {
    if output::is_quiet() {
        return Ok(());
    }
    let counters = &ended.counters;
    let [up, down] = counters.payload_bytes.into_array();
    writeln!(
        io::stderr().lock(),
        "Relayed {} to {}: {up} bytes up, {down} down",
        counted(counters.accepted - counters.failed, "connection", "connections"),
        ended.planned.target.server()
    )
}

fn write_records(
    format: RecordFormat,
    conditions: &Conditions,
    ended: &[EndedRelay],
    proof: &[SparingOutcome],
    duration: Duration,
    warnings: &[model::Warning],
) -> io::Result<()> {
    let passed = |counters: &Counters| counters.accepted - counters.failed;
    let bytes = |direction| {
        ended
            .iter()
            .map(|ended| ended.counters.payload_bytes[direction])
            .sum()
    };
    let summary = Summary {
        connections: ended.iter().map(|ended| passed(&ended.counters)).sum(),
        payload_bytes: PerDirection::from_fn(bytes),
        duration,
        ..Summary::default()
    };
    output::print_records(format, conditions, warnings, &summary, |records| {
        relays::links(ended)
            .iter()
            .try_for_each(|link| records.link(link))?;
        proof.iter().try_for_each(|proof| records.sparing(proof))
    })
}

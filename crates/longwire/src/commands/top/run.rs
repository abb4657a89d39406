//! Starts, shows and ends live runs.

use super::{Args, show, terminal, wanted};
use anyhow::{Context, Result};
use live::child::{Child, CommandOutput};
use live::interface::{CLOCK, OpenedInterfaces, nothing_seen};
use live::interface_command;
use live::relaying;
use live::relays;
use live::top::live::{LiveParts, LiveRun};
use live::traffic::{GATHER, InterfaceTraffic, LiveTraffic, RelayedTraffic};
use live::unused::UnusedRelays;
use model::{Conditions, Warning};
use pipeline::aggregator::{Aggregator, AggregatorConfig};
use pipeline::fact_channel::FactChannel;
use pipeline::input::Reading;
use pipeline::output::{self, EndRequest, Status};
use pipeline::output_health::OutputHealth;
use pipeline::page::PagePlace;
use screen::Screen;
use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;
use sys::Target;
use sys::arguments::CommandLine;

pub(super) fn live(args: &Args, typed: &CommandLine) -> Result<Status> {
    match args.interface.is_given() {
        true => at_interface(args, typed),
        false => relayed(args, typed),
    }
}

fn relayed(args: &Args, typed: &CommandLine) -> Result<Status> {
    args.interface.keys.refuse_for_server()?;
    let output_health = OutputHealth::behind_a_screen();
    let mut run = begin_relays(args, typed, &output_health)?;
    let shown = shown(args, &PagePlace::new(args.html.clone()), &mut run);
    let (mut aggregator, traffic, status) = run.end(*shown.as_ref().unwrap_or(&Status::Negative));
    let ended = traffic.stop(status, &mut aggregator);
    let unused = UnusedRelays::among(&ended.relays, &args.command);
    let mut warnings = relays::warnings(&ended.relays);
    warnings.extend(unused.warnings.iter().cloned());
    sum_up(args, aggregator, warnings, None, &output_health, shown)?;
    Ok(output_health.status(unused.status(status)))
}

fn at_interface(args: &Args, typed: &CommandLine) -> Result<Status> {
    args.interface.refuse_relay_flags(&args.relays())?;
    let output_health = OutputHealth::behind_a_screen();
    let place = PagePlace::with_rights_of_now(args.html.clone())?;
    let mut run = begin_at_interface(args, typed, &output_health)?;
    let shown = shown(args, &place, &mut run);
    let (mut aggregator, traffic, status) = run.end(*shown.as_ref().unwrap_or(&Status::Negative));
    let point = traffic.source.observation_point().to_owned();
    let summary = traffic
        .source
        .stop(&output_health, &mut |fact| aggregator.fact(fact))?;
    sum_up(
        args,
        aggregator,
        summary.warnings,
        Some(summary.packets),
        &output_health,
        shown,
    )?;
    let is_empty = summary.connections == 0;
    if is_empty {
        OutputHealth::default().hint(&nothing_seen(&point));
    }
    Ok(output_health.status(match status {
        Status::Done | Status::Child(0) if is_empty && !args.command.is_empty() => Status::Negative,
        status => status,
    }))
}

fn shown<T: LiveTraffic>(args: &Args, place: &PagePlace, run: &mut LiveRun<T>) -> Result<Status> {
    show(place, run, &mut Screen::new(terminal::screen_look(args.ascii)))
}

/// Printed on the restored terminal.
fn sum_up(
    args: &Args,
    aggregator: Aggregator,
    warnings: Vec<Warning>,
    packets: Option<u64>,
    output_health: &OutputHealth,
    shown: Result<Status>,
) -> Result<()> {
    let outcome = aggregator.finish(warnings, packets)?;
    shown?;
    output::warn(&outcome.warnings);
    output_health
        .said()
        .iter()
        .for_each(|text| output::print_note(text));
    output::print(&report::text::summary_line(&outcome.summary))?;
    if let Some(path) = &args.output {
        output::print_note(&format!("the recording is in {}", path.display()));
    }
    Ok(())
}

fn begin_relays(
    args: &Args,
    typed: &CommandLine,
    output_health: &OutputHealth,
) -> Result<LiveRun<RelayedTraffic>> {
    let planned = args.relays().plan()?;
    let with_tls = relaying::with_tls(&planned, !args.command.is_empty())?;
    let asked = EndRequest::on_signals()?;
    let traffic = RelayedTraffic::start(with_tls, FactChannel::new(false)?, None, None)?;
    // Printed on the normal terminal, visible again after the screen.
    traffic.relays.announce(
        &OutputHealth::default(),
        !args.command.is_empty(),
        "; q ends and sums up",
    );
    let aggregator = aggregator(args, relaying::conditions(typed, &planned), output_health)?;
    let (child, note) = child(args, |output| traffic.relays.child(&args.command, output))?;
    Ok(LiveRun::begin(LiveParts {
        place: traffic.relays.places(),
        aggregator,
        traffic,
        child,
        asked,
        output_health: output_health.clone(),
        note,
    }))
}

fn begin_at_interface(
    args: &Args,
    typed: &CommandLine,
    output_health: &OutputHealth,
) -> Result<LiveRun<InterfaceTraffic>> {
    let planned = match args.sources.is_empty() {
        true => Vec::new(),
        false => args.relays().plan()?,
    };
    let asked = EndRequest::on_signals()?;
    let plan = args.interface.plan();
    let keys = plan.open_keys()?;
    let reading = Reading {
        keys: keys.file.clone(),
        ..Reading::default()
    };
    let targets: Vec<Target> = planned.iter().map(|planned| planned.target.clone()).collect();
    let opened = OpenedInterfaces::open(&plan, &targets)?;
    let point = opened.observation_point().to_owned();
    let conditions = output::conditions(typed, CLOCK, point.clone());
    let aggregator = aggregator(args, conditions, output_health)?;
    let (child, note) = child(args, |output| {
        interface_command::start(&args.command, &planned, &keys, output)
    })?;
    let source = opened.begin(reading, &keys)?;
    Ok(LiveRun::begin(LiveParts {
        place: point,
        aggregator,
        traffic: InterfaceTraffic {
            source,
            keys,
            gather: GATHER,
        },
        child,
        asked,
        output_health: output_health.clone(),
        note,
    }))
}

fn aggregator(args: &Args, conditions: Conditions, output_health: &OutputHealth) -> Result<Aggregator> {
    let wanted = AggregatorConfig {
        recording: args.output.clone(),
        ..wanted(args, Some(output_health.clone()))
    };
    Aggregator::new(&wanted, conditions)
}

/// Starts the command, if any, and returns the phrase for its output destination.
fn child(args: &Args, start: impl FnOnce(CommandOutput) -> Result<Child>) -> Result<(Option<Child>, String)> {
    if args.command.is_empty() {
        return Ok((None, String::new()));
    }
    let (file, path) = command_output()?;
    let note = format!("the command writes to {}", path.display());
    Ok((Some(start(CommandOutput::File(file))?), note))
}

fn command_output() -> Result<(File, PathBuf)> {
    let path = std::env::temp_dir().join(format!("longwire-top-{}.log", std::process::id()));
    let file = OpenOptions::new()
        .append(true)
        .create_new(true)
        .mode(OWNER_ONLY)
        .open(&path);
    let file =
        file.with_context(|| format!("could not create {} for what the command writes", path.display()))?;
    Ok((file, path))
}

const OWNER_ONLY: u32 = 0o600;

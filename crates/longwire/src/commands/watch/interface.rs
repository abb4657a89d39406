//! `watch` at a network interface.

use super::Args;
use anyhow::Result;
use live::child::CommandOutput;
use live::interface::{CLOCK, OpenedInterfaces, nothing_seen};
use live::interface_command;
use live::relays::ENDS;
use live::traffic::InterfaceTraffic;
use live::watch::{Ended, Run};
use model::Warning;
use pipeline::aggregator::TablesInput;
use pipeline::compression::CompressionOutcome;
use pipeline::input::Reading;
use pipeline::input::live::LiveSummary;
use pipeline::output::{self, EndRequest, Status};
use std::time::Duration;
use sys::Target;
use sys::arguments::CommandLine;

pub(super) fn run(args: &Args, typed: &CommandLine) -> Result<Status> {
    let planned = args.relays.plan()?;
    let asked = EndRequest::on_signals()?;
    let plan = args.interface.plan();
    let keys = plan.open_keys()?;
    keys.rights.prepare_folder(args.reporting.parquet.as_deref())?;
    let targets: Vec<Target> = planned.iter().map(|planned| planned.target.clone()).collect();
    let opened = OpenedInterfaces::open(&plan, &targets)?;
    let point = opened.observation_point().to_owned();
    let conditions = output::conditions(typed, CLOCK, point.clone());
    let mut run = Run::new(args.plan(&planned)?, conditions)?;
    let reading = Reading {
        keep_literals: args.reporting.keep_literals,
        compressing: args.reporting.compressing(),
        keys: keys.file.clone(),
        fingerprints: run.aggregator.fingerprints(),
        ..Reading::default()
    };
    let output_health = run.output_health.clone();
    // The command keeps the caller's privileges, so it starts before they are dropped.
    let child = match args.command.is_empty() {
        true => None,
        false => {
            let output = CommandOutput::beside_records(args.reporting.records.is_given());
            Some(interface_command::start(&args.command, &planned, &keys, output)?)
        }
    };
    let folder = args.reporting.parquet.as_deref();
    let source = opened.begin_with_tables(reading, &keys, folder, &mut || {
        args.reporting
            .write_tables(&mut run.aggregator, TablesInput::Live)
    })?;
    let mut traffic = InterfaceTraffic {
        source,
        keys,
        gather: Duration::ZERO,
    };
    let status = if let Some(mut child) = child {
        run.until_ended(&mut traffic, Some(&mut child), &asked)
    } else {
        output_health.print_unless_quiet(&format!("observing {point}{ENDS}"));
        run.until_ended(&mut traffic, None, &asked)
    };
    let aggregator = &mut run.aggregator;
    let summary = traffic
        .source
        .stop(&output_health, &mut |fact| aggregator.fact(fact))?;
    let is_empty = summary.connections == 0;
    run.finish(args.style().as_ref(), ended(summary, &point))?;
    Ok(output_health.status(match status {
        Status::Done | Status::Child(0) if is_empty => Status::Negative,
        status => status,
    }))
}

fn ended(summary: LiveSummary, point: &str) -> Ended {
    let hint = (summary.connections == 0).then(|| nothing_seen(point));
    let mut warnings: Vec<Warning> = summary.warnings;
    warnings.extend(summary.compressed.iter().flat_map(CompressionOutcome::warnings));
    Ended {
        warnings,
        packets: Some(summary.packets),
        links: Vec::new(),
        sparing: Vec::new(),
        hint,
        fault: None,
    }
}

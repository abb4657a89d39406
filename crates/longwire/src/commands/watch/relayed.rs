//! `watch` with a relay in front of each server.

use super::Args;
use crate::commands::top;
use anyhow::Result;
use live::child::CommandOutput;
use live::relaying;
use live::relays;
use live::traffic::{EndedTraffic, RelayedTraffic};
use live::unused::UnusedRelays;
use live::watch::{Ended, Run};
use pipeline::aggregator::TablesInput;
use pipeline::compression::CompressionOutcome;
use pipeline::fact_channel::FactChannel;
use pipeline::output::{EndRequest, Status};
use sys::arguments::CommandLine;

pub(super) fn run(args: &Args, typed: &CommandLine) -> Result<Status> {
    let planned = args.relays.plan()?;
    let with_tls = relaying::with_tls(&planned, !args.command.is_empty())?;
    let asked = EndRequest::on_signals()?;
    let reporting = &args.reporting;
    let channel = FactChannel::new(reporting.keep_literals)?;
    let sparing = args.sparing.plan(&planned, reporting.keep_literals)?;
    let mut traffic = RelayedTraffic::start(with_tls, channel, reporting.compressing(), sparing.as_ref())?;
    let mut run = Run::new(args.plan()?, relaying::conditions(typed, &planned))?;
    reporting.write_tables(&mut run.aggregator, TablesInput::Live)?;
    let output_health = run.output_health.clone();
    let end = match top::terminal::is_there() && !reporting.records.is_given() {
        true => format!("{}; longwire top shows a screen meanwhile", relays::ENDS),
        false => relays::ENDS.to_owned(),
    };
    traffic
        .relays
        .announce(&output_health, !args.command.is_empty(), &end);
    let status = if args.command.is_empty() {
        run.until_ended(&mut traffic, None, &asked)
    } else {
        let output = CommandOutput::beside_records(reporting.records.is_given());
        let mut child = traffic.relays.child(&args.command, output)?;
        run.until_ended(&mut traffic, Some(&mut child), &asked)
    };
    let stopped = traffic.stop(status, &mut run.aggregator);
    let unused = UnusedRelays::among(&stopped.relays, &args.command);
    let mut ended = ended(stopped, &unused);
    ended.sparing = sparing.map(|sparing| sparing.finish());
    run.finish(args.style().as_ref(), ended)?;
    Ok(output_health.status(unused.status(status)))
}

fn ended(stopped: EndedTraffic, unused: &UnusedRelays) -> Ended {
    let mut warnings = relays::warnings(&stopped.relays);
    warnings.extend(unused.warnings.iter().cloned());
    warnings.extend(stopped.compressed.iter().flat_map(CompressionOutcome::warnings));
    Ended {
        warnings,
        packets: None,
        links: relays::links(&stopped.relays),
        sparing: None,
        hint: unused.hint.clone(),
        fault: stopped.fault,
    }
}

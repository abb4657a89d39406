//! `watch` with a relay in front of each server.

use super::Args;
use crate::commands::top;
use anyhow::Result;
use live::child::CommandOutput;
use live::relaying;
use live::relays;
use live::sparing::Sparing;
use live::sparing::proofs::Prover;
use live::targets::{PlannedRelay, link_rtt};
use live::traffic::{EndedTraffic, RelayedTraffic};
use live::unused::UnusedRelays;
use live::watch::{Ended, Run};
use model::Conditions;
use pipeline::aggregator::TablesInput;
use pipeline::compression::CompressionOutcome;
use pipeline::fact_channel::FactChannel;
use pipeline::output::{EndRequest, Status};
use relay::command::TlsPlan;
use std::sync::Arc;
use sys::arguments::CommandLine;

pub(super) fn run(args: &Args, typed: &CommandLine) -> Result<Status> {
    let planned = args.relays.plan()?;
    if args.prove {
        link_rtt(&planned)?;
    }
    let with_tls = relaying::with_tls(&planned, !args.command.is_empty())?;
    let asked = EndRequest::on_signals()?;
    let reporting = &args.reporting;
    let (sparing, mut traffic) = start(args, &planned, with_tls)?;
    let is_spared = |sparing: &&Arc<Sparing>| !sparing.proves();
    let conditions = Conditions {
        spared: sparing.as_ref().filter(is_spared).map(|sparing| sparing.name()),
        ..relaying::conditions(typed, &planned)
    };
    let mut run = Run::new(args.plan(&planned)?, conditions)?;
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
    let named = sparing.as_ref().map_or(Ok(()), |sparing| sparing.check_named());
    if let Some(sparing) = sparing {
        ended.warnings.extend(sparing.warning());
        ended.sparing = sparing.finish();
    }
    run.finish(args.style().as_ref(), ended)?;
    named?;
    Ok(output_health.status(unused.status(status)))
}

type Started = (Option<Arc<Sparing>>, RelayedTraffic);

fn start(args: &Args, planned: &[PlannedRelay], with_tls: Vec<(PlannedRelay, TlsPlan)>) -> Result<Started> {
    let reporting = &args.reporting;
    let channel = FactChannel::new(reporting.keep_literals)?;
    let levels = reporting.compressing();
    if args.prove {
        let prover = Prover::new(
            planned.iter().any(PlannedRelay::is_application),
            link_rtt(planned)?,
        );
        let sparing = Some(prover.sparing.clone());
        let traffic = RelayedTraffic::start_proving(with_tls, channel, levels, prover)?;
        return Ok((sparing, traffic));
    }
    let sparing = args.sparing.plan(planned, reporting.keep_literals)?;
    let traffic = RelayedTraffic::start(with_tls, channel, levels, sparing.as_ref())?;
    Ok((sparing, traffic))
}

fn ended(stopped: EndedTraffic, unused: &UnusedRelays) -> Ended {
    let mut warnings = relays::warnings(&stopped.relays);
    warnings.extend(unused.warnings.iter().cloned());
    warnings.extend(stopped.compressed.iter().flat_map(CompressionOutcome::warnings));
    Ended {
        warnings,
        packets: None,
        links: relays::links(&stopped.relays),
        sparing: Vec::new(),
        hint: unused.hint.clone(),
        fault: stopped.fault,
    }
}

//! `watch` with a relay in front of each server.

use super::Args;
use crate::commands::top;
use anyhow::Result;
use live::child::CommandOutput;
use live::relaying;
use live::relays;
use live::watch::{Relayed, Run};
use pipeline::aggregator::TablesInput;
use pipeline::output::{EndRequest, Status};
use sys::arguments::CommandLine;

pub(super) fn run(args: &Args, typed: &CommandLine) -> Result<Status> {
    let planned = args.relays.plan()?;
    let with_tls = relaying::with_tls(&planned, !args.command.is_empty())?;
    let asked = EndRequest::on_signals()?;
    let reporting = &args.reporting;
    let mut relayed = Relayed::start(with_tls, reporting.keep_literals, reporting.compressing())?;
    let mut run = Run::new(args.plan()?, relaying::conditions(typed, &planned))?;
    reporting.write_tables(&mut run.aggregator, TablesInput::Live)?;
    let output_health = run.output_health.clone();
    let end = match top::terminal::is_there() && !reporting.json {
        true => format!("{}; longwire top shows a screen meanwhile", relays::ENDS),
        false => relays::ENDS.to_owned(),
    };
    relayed
        .relays
        .announce(&output_health, !args.command.is_empty(), &end);
    let status = if args.command.is_empty() {
        run.until(&mut relayed, |relayed, wanted| match asked.take_signal() {
            Some(_) => Some(Status::Interrupted),
            None => (!wanted && relayed.relays.open_connections() == 0).then_some(Status::Done),
        })
    } else {
        let output = CommandOutput::beside_records(reporting.json);
        let mut child = relayed.relays.child(&args.command, output)?;
        run.until(&mut relayed, |_, _| child.ended(asked.take_signal()))
    };
    let (ended, unused) = relayed.finish(status, &args.command, &mut run.aggregator);
    run.finish(args.style().as_ref(), ended)?;
    Ok(output_health.status(unused.status(status)))
}

//! Splits a workload's time into server and network, and predicts its throughput elsewhere.

mod arguments;

pub use arguments::Args;

use crate::commands::emulation_level;
use anyhow::Result;
use model::{Conditions, Summary};
use pipeline::output::{self, Status};
use pipeline::page::PageFile;
use pipeline::progress::StderrProgress;
use proof::BackendSearch;
use proof::split::{self, RoundTripProbe, SplitBench};
use report::outcome::SplitReport;
use std::time::Instant;
use sys::arguments::CommandLine;

pub fn run(args: &Args, typed: &CommandLine) -> Result<Status> {
    args.cleartext.allow_for([args.target.as_str()])?;
    let backend = match emulation_level::backend(args.verify, args.level)? {
        Some(BackendSearch::Finished(status)) => return Ok(Status::Child(status)),
        Some(BackendSearch::Here(backend)) => Some(backend),
        None => None,
    };
    let page = args.html.as_deref().map(PageFile::create).transpose()?;
    let began = Instant::now();
    let stop = output::stop_on_signals()?;
    let bench = args.bench(&stop)?;
    let plan = args.plan()?;
    let echo = args.echo.as_deref().map(arguments::echo_target).transpose()?;
    let distance = RoundTripProbe::find(echo.as_ref(), &bench.target, bench.address, &stop)?;
    let measured = split::measure(&plan, &bench, &distance, &StderrProgress, &stop)?;
    let mut report = measured.report(args.work(), &plan, &bench, &distance);
    if let Some(backend) = backend
        && !stop.is_stopped()
    {
        split::prove(&plan, &bench, &backend, &mut report, &StderrProgress, &stop)?;
    }
    let conditions = conditions(typed, &bench);
    print_report(args, &conditions, &report, began)?;
    if let Some(page) = page {
        page.write_made(|out| report::html::write_split(&report, &conditions, out))?;
    }
    Ok(match stop.is_stopped() {
        true => Status::Interrupted,
        false if report.points.iter().any(|point| point.errors > 0) => Status::Negative,
        false => Status::Done,
    })
}

fn conditions(typed: &CommandLine, bench: &SplitBench) -> Conditions {
    output::conditions(
        typed,
        "the monotonic clock; kernel receive timestamps where the socket gives them",
        format!("clients of {}", bench.target.server()),
    )
}

fn print_report(args: &Args, conditions: &Conditions, report: &SplitReport, began: Instant) -> Result<()> {
    output::warn(&report.warnings);
    let Some(format) = args.records.format() else {
        return Ok(output::print(&report::text::split_view(
            report,
            &args.all.style(),
        ))?);
    };
    let operations = report.points.iter().map(|point| point.transactions).sum();
    let turns = report
        .points
        .iter()
        .map(|point| point.turns * point.transactions as f64)
        .sum::<f64>();
    let summary = Summary {
        turns: turns.round() as u64,
        exchanges: turns.round() as u64,
        operations,
        connections: report.points.iter().map(|point| u64::from(point.clients)).sum(),
        duration: began.elapsed(),
        ..Summary::default()
    };
    Ok(output::print_records(
        format,
        conditions,
        &report.warnings,
        &summary,
        |records| {
            report.points.iter().try_for_each(|point| records.split(point))?;
            let mut predictions = report.predictions.iter().chain(&report.proofs);
            predictions.try_for_each(|prediction| records.elsewhere(prediction))?;
            report.links.iter().try_for_each(|link| records.link(link))
        },
    )?)
}

//! Splits a workload's time into server and network, and predicts its throughput elsewhere.

mod arguments;
mod measuring;
mod places;
mod proving;

pub use arguments::Args;

use crate::split::{RoundTripProbe, SplitBench};
use anyhow::Result;
use model::{Conditions, Summary};
use netns::Entered;
use pipeline::output::{self, Status};
use pipeline::page::PageFile;
use report::JsonWriter;
use report::outcome::SplitReport;
use std::io;
use std::sync::atomic::Ordering;
use std::time::Instant;
use sys::arguments::CommandLine;

pub fn run(args: &Args, typed: &CommandLine) -> Result<Status> {
    args.cleartext.allow_for([args.target.as_str()])?;
    let emulation = match proving::emulation(args)? {
        Some(proving::Emulation::Finished(status)) => return Ok(Status::Child(status)),
        emulation => emulation,
    };
    let page = args.html.as_deref().map(PageFile::create).transpose()?;
    let began = Instant::now();
    let stop = output::stop_on_signals()?;
    let bench = args.bench(&stop)?;
    let echo = args.echo.as_deref().map(arguments::echo_target).transpose()?;
    let distance = RoundTripProbe::find(echo.as_ref(), &bench.target, bench.address, &stop)?;
    let measured = measuring::measure(args, &bench, &distance, &stop)?;
    let mut report = SplitReport {
        work: args.work(),
        server: bench.target.server(),
        rounds: args.rounds,
        visit: args.visit,
        points: measured.points(&distance),
        predictions: measured.predictions(),
        proofs: Vec::new(),
        links: Vec::new(),
        warnings: measured.warnings(&distance),
    };
    if let Some(emulation) = emulation
        && !stop.load(Ordering::Relaxed)
    {
        proving::prove(args, &bench, emulation, &mut report, &stop)?;
    }
    let conditions = conditions(typed, &bench);
    print_report(args, &conditions, &report, began)?;
    if let Some(page) = page {
        page.write_made(|out| report::html::write_split(&report, &conditions, out))?;
    }
    Ok(match stop.load(Ordering::Relaxed) {
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
    if !args.json {
        return Ok(output::print(&report::text::split_view(
            report,
            &output::style(),
        ))?);
    }
    let mut records = JsonWriter::new(io::stdout().lock());
    records.conditions(conditions)?;
    report.points.iter().try_for_each(|point| records.split(point))?;
    let predictions = report.predictions.iter().chain(&report.proofs);
    predictions
        .into_iter()
        .try_for_each(|prediction| records.elsewhere(prediction))?;
    report.links.iter().try_for_each(|link| records.link(link))?;
    report
        .warnings
        .iter()
        .try_for_each(|warning| records.warning(warning))?;
    let operations = report.points.iter().map(|point| point.transactions).sum();
    let turns = report
        .points
        .iter()
        .map(|point| point.turns * point.transactions as f64)
        .sum::<f64>();
    records.summary(&Summary {
        turns: turns.round() as u64,
        exchanges: turns.round() as u64,
        operations,
        connections: report.points.iter().map(|point| u64::from(point.clients)).sum(),
        duration: began.elapsed(),
        ..Summary::default()
    })?;
    Ok(records.flush()?)
}

/// Execution resumes here inside a sandbox if links are at packet level.
fn entered(entered: Entered) -> Result<netns::Sandbox, u8> {
    match entered {
        Entered::Inside(sandbox) => Ok(sandbox),
        Entered::Finished(status) => Err(status),
    }
}

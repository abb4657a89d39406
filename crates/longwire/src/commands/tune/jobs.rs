//! Compares all methods to do a job on a database.

use super::Args;
use crate::password;
use anyhow::Result;
use client::bridge::Login;
use link::LinkDescription;
use model::{ByteCount, Conditions, Job, Summary};
use pipeline::output::{self, Status};
use pipeline::page::PageFile;
use pipeline::progress::{LINE_INTERVAL, LogProgress};
use report::outcome::TuneReport;
use report::text::tune_view;
use std::time::Instant;
use sys::StopToken;
use sys::Target;
use sys::arguments::CommandLine;
use tune::distance::{self, Limits};
use tune::jdbc::JdbcBench;
use tune::jobs_plan::JobsPlan;
use tune::scratch;
use tune::search::Thoroughness;
use tune::{Shape, Workbench};

pub fn run(args: &Args, typed: &CommandLine) -> Result<Status> {
    let began = Instant::now();
    let stop = output::stop_on_signals()?;
    let driver = args.driver.is_given().then(|| args.driver.login(&args.target));
    let login = driver.transpose()?;
    let target = match &login {
        Some(login) => login.url.target()?,
        None => password::completed(Target::parse(&args.target)?),
    };
    agree(args, &target)?;
    let page = args.html.as_deref().map(PageFile::create).transpose()?;
    let halt = stop.child()?;
    let workbench = workbench(args, &target, login, &halt)?;
    let limits = Limits {
        stop: &stop,
        halt: &halt,
        timeout: args.patience,
    };
    let links = args.distances.links(&[]);
    let progress = LogProgress::every(LINE_INTERVAL);
    let outcome = plan(args, &target, &links, limits).run(workbench, &progress)?;
    let report = &outcome.report;
    let conditions = conditions(args, typed, &target);
    print_report(args, &conditions, report, began)?;
    if let Some(page) = page {
        page.write_tune(report, &conditions)?;
    }
    match (outcome.interrupted, outcome.fault) {
        (Some(_), _) => Ok(Status::Interrupted),
        (None, Some(fault)) => Err(fault.into()),
        (None, None) if report.recommendations.is_empty() => Ok(Status::Negative),
        (None, None) => Ok(Status::Done),
    }
}

fn workbench<'a>(
    args: &Args,
    target: &Target,
    login: Option<Login>,
    halt: &'a StopToken,
) -> Result<Box<dyn Workbench + 'a>> {
    let suffix = scratch::suffix();
    Ok(match login {
        Some(login) => Box::new(JdbcBench::new(args.driver.options()?, login, &suffix, halt)),
        None => tune::native(target, &suffix, halt)?,
    })
}

fn plan<'a>(
    args: &'a Args,
    target: &'a Target,
    links: &'a [LinkDescription],
    limits: Limits<'a>,
) -> JobsPlan<'a> {
    JobsPlan {
        target,
        shape: Shape {
            rows: args.rows,
            select_rows: args.select_rows,
            row_bytes: args.row_bytes,
            like: args.like.clone(),
        },
        jobs: &args.jobs,
        methods: &args.ways,
        links,
        predict: args.predict,
        runs: args.rounds,
        thoroughness: match args.exhaustive {
            true => Thoroughness::FullSweep,
            false => Thoroughness::Search,
        },
        limits,
    }
}

/// Writing to a remote server requires consent.
fn agree(args: &Args, target: &Target) -> Result<()> {
    if args.yes || distance::is_here(target)? {
        return Ok(());
    }
    let rows = args.jobs.iter().map(|job| match job {
        Job::Select => args.select_rows,
        Job::Insert | Job::Update => args.rows,
    });
    let bytes = rows.max().unwrap_or_default() * u64::from(args.row_bytes);
    anyhow::bail!(
        "{} is not on this machine: tune would write tables of up to {} there again and again. --yes allows it; the scratch schema is \
         removed at the end",
        target.server(),
        ByteCount::from_bytes(bytes)
    );
}

fn conditions(args: &Args, typed: &CommandLine, target: &Target) -> Conditions {
    output::conditions(
        typed,
        match args.driver.is_given() {
            true => "System.nanoTime in Java, around the driver's calls",
            false => "the monotonic clock of the client",
        },
        format!("clients of {}", target.server()),
    )
}

fn print_report(args: &Args, conditions: &Conditions, report: &TuneReport, began: Instant) -> Result<()> {
    let Some(format) = args.records.format() else {
        return Ok(output::print(&tune_view(report, &args.all.style()))?);
    };
    output::warn(&report.warnings);
    let summary = Summary {
        operations: report.runs.taken,
        duration: began.elapsed(),
        ..Summary::default()
    };
    Ok(output::print_records(
        format,
        conditions,
        &report.warnings,
        &summary,
        |records| {
            records.tune(report)?;
            report.links.iter().try_for_each(|link| records.link(link))
        },
    )?)
}

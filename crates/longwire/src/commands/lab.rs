//! `longwire lab`: several hosts, links between them, real services, a workload, a sweep.

use crate::commands::all_flag::AllArgument;
use crate::commands::calibration_flag::CalibrationArgument;
use crate::commands::record_args::RecordArgs;
use anyhow::{Context, Result};
use clap::{Args as ClapArgs, Subcommand};
use lab::config::LabFile;
use lab::outcome::outcome;
use lab::plan::LabPlan;
use lab::run::LabRun;
use lab::store::Store;
use model::Summary;
use netns::Entered;
use pipeline::output::{self, Status};
use pipeline::page::PageFile;
use report::RecordFormat;
use report::outcome::LabOutcome;
use std::io;
use std::path::PathBuf;
use sys::arguments::CommandLine;

/// Run several hosts with real services, and compare predicted with measured times at distance.
///
/// The file describes hosts, the links between them, services, a workload and the settings to
/// sweep: docs/lab.md.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:
  longwire lab check labs/wordpress.toml
  longwire lab run labs/wordpress.toml
  longwire lab run labs/compression.toml --where links.network.rate=10mbit")]
pub struct Args {
    #[command(subcommand)]
    pub action: LabAction,
}

#[derive(Debug, Subcommand)]
pub enum LabAction {
    /// Measure every point of the sweep, and show it next to its prediction.
    ///
    /// Makes the hosts and links on this machine (Linux; root or user namespaces). Captures the
    /// workload without distance, predicts every point from that, and measures it. Ctrl-C keeps and
    /// shows the finished points. The next run continues there.
    Run(RunArgs),
    /// Check the file, and list the points of the sweep.
    Check(CheckArgs),
}

#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:
  longwire lab check labs/wordpress.toml")]
pub struct CheckArgs {
    /// The lab's file (TOML).
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// List all points.
    #[arg(long)]
    pub all: bool,
}

#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:
  longwire lab run labs/wordpress.toml --html wordpress.html
  longwire lab run labs/compression.toml --where links.network.rate=10mbit")]
pub struct RunArgs {
    /// The lab's file (TOML).
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Only points with this value of a swept setting. Several values of one setting add up;
    /// several settings narrow down. A later run without it measures the rest.
    #[arg(long = "where", value_name = "SETTING=VALUE")]
    wanted: Vec<String>,
    /// Directory for captures and finished points [default: .longwire/lab/NAME].
    #[arg(long, value_name = "DIRECTORY")]
    pub directory: Option<PathBuf>,
    /// Discard the points of earlier runs.
    #[arg(long)]
    pub fresh: bool,
    #[command(flatten)]
    pub calibration: CalibrationArgument,
    #[command(flatten)]
    pub all: AllArgument,
    #[command(flatten)]
    pub records: RecordArgs,
    /// Also write a page: one HTML file with the points on the predicted curves, and the basis of
    /// each prediction.
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
}

/// # Errors
/// When the file is wrong, or the lab does not work at all.
pub fn run(args: &Args, typed: &CommandLine) -> Result<Status> {
    match &args.action {
        LabAction::Check(check) => {
            let file = LabFile::read_file(&check.file)?;
            let plan = LabPlan::new(&file)?;
            output::print(&report::text::lab_plan_view(
                &plan.outline(&file.lab),
                &output::style_of(check.all),
            ))?;
            Ok(Status::Done)
        }
        LabAction::Run(run) => run_lab(run, typed),
    }
}

fn run_lab(args: &RunArgs, typed: &CommandLine) -> Result<Status> {
    let file = LabFile::read_file(&args.file)?;
    let plan = LabPlan::new(&file)?.only(&args.wanted)?;
    let sandbox = match netns::sandbox::enter()? {
        Entered::Inside(sandbox) => sandbox,
        Entered::Finished(status) => return Ok(Status::Child(status)),
    };
    let page = args.html.as_deref().map(PageFile::create).transpose()?;
    let interrupted = output::stop_on_signals()?;
    let directory = args.directory.clone().unwrap_or_else(|| {
        let own = PathBuf::from(".longwire/lab");
        own.join(&file.lab.name)
    });
    let store = Store::open(&directory, args.fresh)?;
    let allowance = args.calibration.of_files(std::slice::from_ref(&args.file))?;
    let mut run = LabRun::new(&file, &plan, store, interrupted).with_wake_up(allowance.wake_up);
    let measured = run.measure(&sandbox);
    let conditions = output::conditions(
        typed,
        "the workload's own clock; of operations found in a capture, when their packets passed",
        format!("each link's first host; captures in {}", directory.display()),
    );
    let conditions = model::Conditions {
        seed: Some(file.lab.seed),
        calibration: allowance.calibration,
        ..conditions
    };
    let outcome = outcome(&file, &plan, &run, conditions);
    show(args, &outcome)?;
    if let (Some(page), Some(basis)) = (page, run.first_observed()?) {
        lab::page::write(page, &plan, &outcome, basis)?;
    }
    let interrupted = measured?;
    Ok(match interrupted {
        true => Status::Interrupted,
        false if failed(&outcome) => Status::Negative,
        false => Status::Done,
    })
}

fn failed(outcome: &LabOutcome) -> bool {
    let errors = |point: &report::outcome::LabPoint| {
        point.measured.as_ref().is_none_or(|measured| measured.errors > 0)
    };
    outcome.points.iter().any(errors)
}

fn show(args: &RunArgs, outcome: &LabOutcome) -> Result<()> {
    if let Some(format) = args.records.format() {
        return write_records(format, outcome).context("could not write all records");
    }
    output::print(&report::text::lab_view(outcome, &args.all.style()))?;
    Ok(())
}

fn write_records(format: RecordFormat, outcome: &LabOutcome) -> io::Result<()> {
    let measured = outcome.points.iter().filter_map(|point| point.measured.as_ref());
    let summary = Summary {
        operations: measured.map(|measured| measured.operations).sum(),
        ..Summary::default()
    };
    output::print_records(
        format,
        &outcome.conditions,
        &outcome.warnings,
        &summary,
        |records| {
            for (index, point) in outcome.points.iter().enumerate() {
                records.lab_point(index + 1, &outcome.settings, point)?;
            }
            outcome
                .slopes
                .iter()
                .try_for_each(|slope| records.lab_slope(slope))?;
            records.lab(outcome)
        },
    )
}

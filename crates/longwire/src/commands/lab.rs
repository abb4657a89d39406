//! `longwire lab`: several hosts, links between them, real services, a workload, a sweep.

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
use report::JsonWriter;
use report::outcome::LabOutcome;
use std::io;
use std::path::PathBuf;

/// Several hosts with real services: what distance costs them, predicted and measured.
///
/// The file describes hosts, the links between them, services, a workload and which settings to sweep:
/// docs/lab.md.
#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Examples:\n  longwire lab check labs/wordpress.toml\n  longwire lab run labs/wordpress.toml\n  \
                  longwire lab run labs/compression.toml --where links.network.rate=10mbit"
)]
pub struct Args {
    /// What to do with the lab.
    #[command(subcommand)]
    pub action: LabAction,
}

/// What can be done with a lab's file.
#[derive(Debug, Subcommand)]
pub enum LabAction {
    /// Measure every point of the sweep, and show it next to what was predicted.
    ///
    /// Makes the hosts and links on this machine (Linux; root, or an unprivileged user namespace where the
    /// system allows it), captures the workload without distance, predicts every point from that, and
    /// measures it. Ctrl-C keeps the points that are done and shows them; running it again goes on from
    /// there.
    Run(RunArgs),
    /// Check the file, and show what would be run.
    Check(CheckArgs),
}

/// Arguments of `lab check`.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:\n  longwire lab check labs/wordpress.toml")]
pub struct CheckArgs {
    /// The lab's file (TOML).
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
}

/// Arguments of `lab run`.
#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Examples:\n  longwire lab run labs/wordpress.toml --html wordpress.html\n  \
                  longwire lab run labs/compression.toml --where links.network.rate=10mbit"
)]
pub struct RunArgs {
    /// The lab's file (TOML).
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
    /// Only points that have this value of a swept setting; several of one setting add up, several settings
    /// narrow down. A later run without it measures what is left.
    #[arg(long = "where", value_name = "SETTING=VALUE")]
    wanted: Vec<String>,
    /// Where captures and finished points are kept; .longwire/lab/NAME when left out.
    #[arg(long, value_name = "DIRECTORY")]
    pub directory: Option<PathBuf>,
    /// Forget what earlier runs measured.
    #[arg(long)]
    pub fresh: bool,
    /// Write records (JSON Lines) instead of the table.
    #[arg(long)]
    pub json: bool,
    /// Also write a page: one HTML file with the points on the predicted curves, and what they were predicted
    /// from.
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
}

/// Runs it.
///
/// # Errors
/// When the file is wrong, or the lab does not work at all.
pub fn run(args: &Args) -> Result<Status> {
    match &args.action {
        LabAction::Check(check) => {
            let file = LabFile::read_file(&check.file)?;
            let plan = LabPlan::new(&file)?;
            output::print(&report::text::lab_plan_view(
                &plan.outline(&file.lab),
                &output::style(),
            ))?;
            Ok(Status::Done)
        }
        LabAction::Run(run) => run_lab(run),
    }
}

fn run_lab(args: &RunArgs) -> Result<Status> {
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
    let mut run = LabRun::new(&file, &plan, store, interrupted);
    let measured = run.measure(&sandbox);
    let conditions = output::conditions(
        format!("longwire lab run {}", args.file.display()),
        "the workload's own clock; of operations found in a capture, when their packets passed",
        format!("each link's first host; captures in {}", directory.display()),
    );
    let conditions = model::Conditions {
        seed: Some(file.lab.seed),
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

/// Whether operations failed.
fn failed(outcome: &LabOutcome) -> bool {
    let errors = |point: &report::outcome::LabPoint| {
        point.measured.as_ref().is_none_or(|measured| measured.errors > 0)
    };
    outcome.points.iter().any(errors)
}

fn show(args: &RunArgs, outcome: &LabOutcome) -> Result<()> {
    if args.json {
        return write_records(outcome).context("could not write all records");
    }
    output::print(&report::text::lab_view(outcome, &output::style()))?;
    Ok(())
}

fn write_records(outcome: &LabOutcome) -> io::Result<()> {
    let mut records = JsonWriter::new(io::stdout().lock());
    records.conditions(&outcome.conditions)?;
    for (index, point) in outcome.points.iter().enumerate() {
        records.lab_point(index + 1, &outcome.settings, point)?;
    }
    outcome
        .slopes
        .iter()
        .try_for_each(|slope| records.lab_slope(slope))?;
    outcome
        .warnings
        .iter()
        .try_for_each(|warning| records.warning(warning))?;
    records.lab(outcome)?;
    let measured = outcome.points.iter().filter_map(|point| point.measured.as_ref());
    records.summary(&Summary {
        operations: measured.map(|measured| measured.operations).sum(),
        ..Summary::default()
    })?;
    records.flush()
}

//! `longwire lab`: several hosts, links between them, real services, a workload, a sweep.

use crate::lab::config::LabFile;
use crate::lab::plan::Plan;
use crate::output::{self, Status};
use anyhow::Result;
use clap::{Args as ClapArgs, Subcommand};
use std::path::PathBuf;

/// Several hosts with real services: what distance costs them, predicted and measured.
///
/// The file describes hosts, the links between them, services, a workload and which settings to sweep: docs/lab.md.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:\n  longwire lab check labs/wordpress.toml")]
pub struct Args {
    /// What to do with the lab.
    #[command(subcommand)]
    pub action: Action,
}

/// What can be done with a lab's file.
#[derive(Debug, Subcommand)]
pub enum Action {
    /// Check the file, and show what would be run.
    Check(CheckArgs),
}

/// Arguments of `lab check`.
#[derive(Debug, ClapArgs)]
pub struct CheckArgs {
    /// The lab's file (TOML).
    #[arg(value_name = "FILE")]
    pub file: PathBuf,
}

/// Runs it.
///
/// # Errors
/// When the file is wrong.
pub fn run(args: &Args) -> Result<Status> {
    match &args.action {
        Action::Check(check) => {
            let file = LabFile::read(&check.file)?;
            let plan = Plan::new(&file)?;
            output::print(&report::text::lab_plan_view(
                &plan.outline(&file.lab),
                &output::style(),
            ))?;
            Ok(Status::Done)
        }
    }
}

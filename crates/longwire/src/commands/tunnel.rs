//! `longwire tunnel`: database connections carried compressed and encrypted between two longwires.

pub mod advise;

use crate::output::Status;
use anyhow::Result;
use clap::{Args as ClapArgs, Subcommand};

/// Carry database connections compressed and encrypted between two longwires, and tell whether that pays.
#[derive(Debug, ClapArgs)]
pub struct Args {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The subcommands.
#[allow(
    missing_docs,
    reason = "a doc comment here would replace the command's own help, which its Args carry"
)]
#[derive(Debug, Subcommand)]
pub enum Command {
    Advise(advise::Args),
}

/// Runs it.
///
/// # Errors
/// When the command could not run at all.
pub fn run(args: &Args) -> Result<Status> {
    match &args.command {
        Command::Advise(args) => advise::run(args),
    }
}

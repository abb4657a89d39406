//! What distance costs your database: measured, explained, predicted, proved and cut.

mod cli;
mod commands;
mod failure;
mod input;
mod output;
mod pipeline;

use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments = cli::Cli::parse();
    match arguments.command.run() {
        Ok(status) => status.into(),
        Err(error) => failure::report(&error),
    }
}

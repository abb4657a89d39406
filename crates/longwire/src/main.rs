//! What distance costs your database: measured, explained, predicted, proved and cut.

use clap::Parser;
use longwire::{cli, failure};
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments = cli::Cli::parse();
    match arguments.command.run() {
        Ok(status) => status.into(),
        Err(error) => failure::report(&error),
    }
}

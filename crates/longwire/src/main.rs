//! What distance costs your database: measured, explained, predicted, proved and cut.

use clap::Parser;
use longwire::{cli, failure};
use pipeline::output;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments = cli::Cli::parse();
    if arguments.allow_cleartext_password {
        sys::target::credentials::allow_cleartext_passwords();
    }
    match output::survive_file_limit().and_then(|()| arguments.command.run()) {
        Ok(status) => status.into(),
        Err(error) => failure::report(&error),
    }
}

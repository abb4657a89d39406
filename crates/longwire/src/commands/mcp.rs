//! `longwire mcp`: captures and recordings for programs that speak the Model Context Protocol.

mod arguments;
mod framing;
mod protocol;
mod tools;

use super::grouping::Grouping;
use super::keys_flag::KeyLogArgument;
use anyhow::{Context, Result, ensure};
use clap::Args as ClapArgs;
use framing::Line;
use pipeline::output::{self, Status};
use std::io::{self, BufRead, Write};
use std::path::PathBuf;
use sys::arguments::CommandLine;
use tools::Files;

/// Serve captures or recordings to a program that speaks the Model Context Protocol, on stdin and
/// stdout.
///
/// The tools are summary, findings, predict and statements. Their figures are those of `read
/// --json` and `predict --json`. Each call reads the files again. Nothing is changed, no network is
/// used, and statements have no literals. Ends with stdin.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:
  longwire mcp app.pcap
  longwire mcp http.lwr database.lwr --operations transaction

Programs start it themselves: docs/mcp.md has their settings.")]
pub struct Args {
    /// Capture or recording files.
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    #[command(flatten)]
    pub grouping: Grouping,
    #[command(flatten)]
    pub keys: KeyLogArgument,
}

pub fn run(args: &Args, typed: &CommandLine) -> Result<Status> {
    for file in &args.files {
        ensure!(
            file.as_os_str() != "-",
            "stdin is where requests come from: name files"
        );
        std::fs::metadata(file).with_context(|| format!("could not open {}", file.display()))?;
    }
    args.keys.open()?;
    let files = Files {
        files: &args.files,
        grouping: &args.grouping,
        keys: &args.keys,
        typed,
    };
    output::print_note("MCP server ready on stdin and stdout");
    serve(&files, &mut io::stdin().lock(), &mut io::stdout().lock())?;
    Ok(Status::Done)
}

/// Answers each line until the input ends. Only answers are written to `output`.
fn serve(files: &Files<'_>, input: &mut impl BufRead, output: &mut impl Write) -> Result<()> {
    while let Some(line) = framing::next_line(input).context("could not read stdin")? {
        let answer = match line {
            Line::Complete(bytes) => protocol::answer(&bytes, files),
            Line::TooLong => Some(protocol::too_long()),
        };
        if let Some(answer) = answer {
            writeln!(output, "{answer}").context("could not write to stdout")?;
            output.flush().context("could not write to stdout")?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;

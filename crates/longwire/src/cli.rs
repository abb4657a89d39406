//! The command line: one row for each command.

mod headings;
mod places;
mod tables;

use crate::commands::{
    agent, calibrate, check, echo, estimate, generate, keys, lab, link, load, mcp, ping, plan, predict, read,
    relay, split, top, tune, tunnel, watch,
};
use crate::places::Places;
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use pipeline::output::Status;
use std::ffi::OsString;
use std::path::Path;
use sys::arguments::CommandLine;

/// Measure, explain, predict and cut what network round trips cost your database.
#[derive(Debug, Parser)]
#[command(
    name = "longwire",
    version,
    long_version = LONG_VERSION,
    about,
    max_term_width = 110,
    after_help = "Start here:
  longwire demo

How far is my database?
  longwire ping postgres://app@db1/shop

Where does my application's time go? The same for a capture.
  longwire watch postgres://app@db1/shop -- ./app
  longwire read app.pcap

How long would it take further away?
  longwire predict app.pcap --rtt 10ms,40ms,120ms

Try it at that distance.
  longwire relay postgres://app@db1/shop --link 40ms"
)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
    /// Print only results, warnings and errors.
    #[arg(short, long, global = true)]
    pub quiet: bool,
}

pub fn command() -> clap::Command {
    headings::under_headings(tables::with_tables(Cli::command()))
}

impl Cli {
    /// Parses a command line that begins with the program's name. A file in place of a command is
    /// read.
    ///
    /// # Errors
    /// When it cannot be parsed, and when it asks for help or the version.
    pub fn from_arguments(arguments: &[OsString], places: &Places) -> Result<Self, clap::Error> {
        let command = places::with_places(command(), places);
        let mut arguments = arguments.to_vec();
        let is_a_file = |word: &OsString| {
            let names_a_command = word
                .to_str()
                .is_some_and(|word| command.find_subcommand(word).is_some());
            !names_a_command && Path::new(word).is_file()
        };
        if arguments.get(1).is_some_and(is_a_file) {
            arguments.insert(1, "read".into());
        }
        let matches = command.try_get_matches_from(arguments)?;
        Self::from_arg_matches(&matches)
    }
}

#[derive(Debug, Subcommand)]
pub enum Command {
    #[cfg(feature = "demo")]
    Demo(crate::commands::demo::Args),
    Ping(ping::Args),
    Echo(echo::Args),
    Split(split::Args),
    Estimate(estimate::Args),
    Calibrate(calibrate::Args),
    Watch(watch::Args),
    Top(top::Args),
    Agent(agent::Args),
    Relay(relay::Args),
    Read(read::Args),
    Keys(keys::Args),
    Predict(predict::Args),
    Plan(plan::Args),
    Check(check::Args),
    Link(link::Args),
    Lab(lab::Args),
    Load(load::Args),
    Mcp(mcp::Args),
    Tune(tune::Args),
    Tunnel(tunnel::Args),
    Generate(generate::Args),
}

/// The text of `--version`; `-V` prints only the version of the first line.
const LONG_VERSION: &str = concat!(
    env!("CARGO_PKG_VERSION"),
    "\n",
    env!("LONGWIRE_COMMIT_SHOWN"),
    "\ntarget ",
    env!("LONGWIRE_TARGET"),
    "\nfeatures ",
    env!("LONGWIRE_FEATURES"),
);

impl Command {
    /// `typed` is recorded with the results.
    pub fn run(self, typed: &CommandLine) -> anyhow::Result<Status> {
        match self {
            #[cfg(feature = "demo")]
            Self::Demo(args) => crate::commands::demo::run(&args, typed),
            Self::Ping(args) => ping::run(&args, typed),
            Self::Echo(args) => echo::run(&args, typed),
            Self::Estimate(args) => estimate::run(&args, typed),
            Self::Calibrate(args) => calibrate::run(&args, typed),
            Self::Split(args) => split::run(&args, typed),
            Self::Watch(args) => watch::run(&args, typed),
            Self::Top(args) => top::run(&args, typed),
            Self::Agent(args) => agent::run(&args, typed),
            Self::Relay(args) => relay::run(&args, typed),
            Self::Read(args) => read::run(&args, typed),
            Self::Keys(args) => keys::run(&args),
            Self::Predict(args) => predict::run(&args, typed),
            Self::Plan(args) => plan::run(&args, typed),
            Self::Check(args) => check::run(&args, typed),
            Self::Link(args) => link::run(&args, typed),
            Self::Lab(args) => lab::run(&args, typed),
            Self::Load(args) => load::run(&args, typed),
            Self::Mcp(args) => mcp::run(&args, typed),
            Self::Tune(args) => tune::run(&args, typed),
            Self::Tunnel(args) => tunnel::run(&args, typed),
            Self::Generate(args) => generate::run(&args, command()),
        }
    }
}

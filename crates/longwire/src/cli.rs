//! The command line: one row for each command.

mod headings;

use crate::commands::{
    agent, check, echo, generate, keys, lab, link, load, mcp, ping, plan, predict, read, relay, split, top,
    tune, tunnel, watch,
};
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use pipeline::output::Status;
use std::ffi::OsString;

/// Measure, explain, predict and cut what network round trips cost your database.
#[derive(Debug, Parser)]
#[command(
    name = "longwire",
    version,
    long_version = LONG_VERSION,
    about,
    max_term_width = 110,
    after_help = "Start here:\n  longwire demo                                             the whole story, with nothing installed\n  \
                  longwire ping postgres://user@host/database               how far is my database?\n  \
                  longwire watch postgres://user@host/database -- COMMAND   where does my application's time go?\n  \
                  longwire read app.pcap                                    the same of a capture\n  \
                  longwire predict app.pcap --rtt 10ms,40ms                 and further away?\n  \
                  longwire relay postgres://host --link 40ms                try it at that distance"
)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
    /// Print only results, warnings and errors.
    #[arg(short, long, global = true)]
    pub quiet: bool,
}

/// All commands with their flags, as the help shows them.
pub fn command() -> clap::Command {
    headings::under_headings(Cli::command())
}

impl Cli {
    /// What is asked for on a command line, the program's name first.
    ///
    /// # Errors
    /// When it is not understood, and when it asks for help or the version.
    pub fn from_arguments(arguments: &[OsString]) -> Result<Self, clap::Error> {
        let matches = command().try_get_matches_from(arguments)?;
        Self::from_arg_matches(&matches)
    }
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    #[cfg(feature = "demo")]
    Demo(crate::commands::demo::Args),
    Ping(ping::Args),
    Echo(echo::Args),
    Split(split::Args),
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

/// What `--version` says; `-V` says the first line's version alone.
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
    /// Runs the command.
    ///
    /// # Errors
    /// When it could not run at all.
    pub fn run(self) -> anyhow::Result<Status> {
        match self {
            #[cfg(feature = "demo")]
            Self::Demo(args) => crate::commands::demo::run(&args),
            Self::Ping(args) => ping::run(&args),
            Self::Echo(args) => echo::run(&args),
            Self::Split(args) => split::run(&args),
            Self::Watch(args) => watch::run(&args),
            Self::Top(args) => top::run(&args),
            Self::Agent(args) => agent::run(&args),
            Self::Relay(args) => relay::run(&args),
            Self::Read(args) => read::run(&args),
            Self::Keys(args) => keys::run(&args),
            Self::Predict(args) => predict::run(&args),
            Self::Plan(args) => plan::run(&args),
            Self::Check(args) => check::run(&args),
            Self::Link(args) => link::run(&args),
            Self::Lab(args) => lab::run(&args),
            Self::Load(args) => load::run(&args),
            Self::Mcp(args) => mcp::run(&args),
            Self::Tune(args) => tune::run(&args),
            Self::Tunnel(args) => tunnel::run(&args),
            Self::Generate(args) => generate::run(&args),
        }
    }
}

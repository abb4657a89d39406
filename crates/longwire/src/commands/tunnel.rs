//! `longwire tunnel`: both ends of a tunnel for database connections, its keys, and whether it
//! pays.

pub mod advise;
mod far;
mod keygen;
mod near;
mod running;
mod security;

use anyhow::Result;
use clap::{Args as ClapArgs, Subcommand, ValueEnum};
use pipeline::output::Status;
use sys::arguments::CommandLine;
use tunnel::Isolation;

/// Carry database connections over a distance: compressed, encrypted and without round trips to
/// open them. Find out whether it pays.
///
/// One end runs near the clients, which connect to it as if it were the database. The other end
/// runs next to the database. A few connections between the ends stay up; these are the lanes.
#[derive(Debug, ClapArgs)]
#[command(after_help = r"Examples, a key at each end first:
  longwire tunnel keygen near.key
  longwire tunnel keygen far.key

Next to the database, then near the clients:
  longwire tunnel far --listen 0.0.0.0 --to 127.0.0.1:5432 \
    --key far.key --peer near.key.pub
  longwire tunnel near --listen 5432 --to db1.example.net \
    --key near.key --peer far.key.pub
  psql -h 127.0.0.1 -p 5432 shop

More: docs/tunnel.md")]
pub struct Args {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    Near(near::Args),
    Far(far::Args),
    Keygen(keygen::Args),
    Advise(advise::Args),
}

pub fn run(args: &Args, typed: &CommandLine) -> Result<Status> {
    match &args.what {
        What::Near(args) => near::run(args, typed),
        What::Far(args) => far::run(args, typed),
        What::Keygen(args) => keygen::run(args),
        What::Advise(args) => advise::run(args, typed),
    }
}

/// Default port of a far end.
const FAR_PORT: u16 = 7718;

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Isolate {
    /// Earlier data of the lane helps to compress later data of the same direction.
    None,
    /// Each statement is compressed as if it were the first.
    Statements,
}

impl From<Isolate> for Isolation {
    fn from(isolate: Isolate) -> Self {
        match isolate {
            Isolate::None => Self::None,
            Isolate::Statements => Self::Statements,
        }
    }
}

//! `longwire tunnel`: both ends of a tunnel for database connections, its keys, and whether it pays.

pub mod advise;
mod far;
mod keygen;
mod near;
mod running;
mod security;

use anyhow::Result;
use clap::{Args as ClapArgs, Subcommand, ValueEnum};
use pipeline::output::Status;
use tunnel::Isolation;

/// Carry database connections over a distance compressed, encrypted and without round trips to open them; find out
/// whether it pays.
///
/// One end stands near the clients, which connect to it as if it were the database; the other end stands next
/// to the database. Between them are a few connections that stay up, the lanes.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:\n  \
    longwire tunnel keygen near.key; longwire tunnel keygen far.key      # one at each end\n  \
    longwire tunnel far  --listen 0.0.0.0 --to 127.0.0.1:5432 --key far.key --peer near.key.pub\n  \
    longwire tunnel near --listen 5432 --to db1.example.net --key near.key --peer far.key.pub\n  \
    psql -h 127.0.0.1 -p 5432 shop\n\n\
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

/// Runs it.
///
/// # Errors
/// When an end cannot be started, or the two ends turn out not to fit each other.
pub fn run(args: &Args) -> Result<Status> {
    match &args.what {
        What::Near(args) => near::run(args),
        What::Far(args) => far::run(args),
        What::Keygen(args) => keygen::run(args),
        What::Advise(args) => advise::run(args),
    }
}

/// Where a far end listens unless another port is given.
const FAR_PORT: u16 = 7718;

/// What compression may not cross.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Isolate {
    /// All that went the same way on the lane helps to compress what follows.
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

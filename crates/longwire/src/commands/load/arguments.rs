//! Arguments of `longwire load`, spelled as pgbench and ab spell them.

use crate::commands::all_flag::AllArgument;
use crate::commands::cleartext_flag::CleartextArgument;
use crate::commands::driver::DriverArgs;
use crate::commands::record_args::RecordArgs;
use crate::commands::scripts::Mode;
use crate::commands::seconds;
use anyhow::{Context, Result, bail};
use clap::{Args as ClapArgs, ValueEnum};
use load::Rate;
use report::text::LoadStyle;
use std::path::PathBuf;
use std::time::Duration;

/// Put load on a server with any number of clients: scripts in pgbench's language, or HTTP
/// requests.
///
/// A transaction is one run of a script, chosen by weight. The default script is pgbench's
/// tpcb-like, with the tables of --initialize. Every figure covers successful operations; failed
/// ones are counted with their reason. Ends after -T or -t, or on Ctrl-C, with a summary in the
/// words of pgbench, ab or JMeter.
#[derive(Debug, ClapArgs)]
#[command(after_help = r"Examples:
  longwire load --initialize -s 10 postgres://app@db1/bench
  longwire load -c 8 -T 30 -M prepared -b select-only postgres://app@db1/bench
  longwire load -c 4 -t 1000 -f read.sql@9 -f write.sql mysql://app@db1/shop
  longwire load --arrival-rate 200 --ramp 5s -T 60 -f page.sql -o run.lwr \
    postgres://app@db1/shop
  longwire load jdbc:derby://db1/shop --driver derbyclient.jar:derbyshared.jar \
    --statement 'values 1' -c 4 -T 10
  longwire load http://web1/ -n 1000 -c 10 --summary jmeter")]
pub struct Args {
    /// The server: a URL (postgres, mysql, mariadb, http), a jdbc: URL or a libpq key=value string.
    #[arg(value_name = "TARGET")]
    target: Option<String>,
    /// Create the tables of the built-in scripts instead of running: drops tables with these names.
    #[arg(long = "initialize", short_alias = 'i')]
    pub initialise: bool,
    /// Steps of --initialize: d drop, t tables, g rows, v vacuum, p primary keys, f foreign keys.
    #[arg(
        short = 'I',
        long = "init-steps",
        value_name = "STEPS",
        requires = "initialise"
    )]
    pub steps: Option<String>,
    /// Size of the tables: 100,000 accounts for each 1. In a run, the value of :scale.
    #[arg(short, long, value_name = "SCALE")]
    pub scale: Option<u32>,
    /// A built-in script and its weight: tpcb-like, simple-update or select-only. `list` lists
    /// them.
    #[arg(short, long = "builtin", value_name = "NAME[@WEIGHT]")]
    pub builtins: Vec<String>,
    /// Same as -b select-only.
    #[arg(short = 'S', long)]
    pub select_only: bool,
    /// Same as -b simple-update.
    #[arg(short = 'N', long)]
    pub skip_some_updates: bool,
    /// A script in pgbench's language and its weight; `-` reads stdin.
    #[arg(
        short = 'f',
        long = "script",
        visible_alias = "file",
        value_name = "FILE[@WEIGHT]"
    )]
    pub scripts: Vec<String>,
    /// A script of this one statement; can be repeated.
    #[arg(long = "statement", alias = "sql", value_name = "SQL")]
    pub statements: Vec<String>,
    /// Set a variable for all scripts.
    #[arg(short = 'D', long = "define", value_name = "NAME=VALUE")]
    pub definitions: Vec<String>,
    #[command(flatten)]
    pub driver: DriverArgs,
    #[command(flatten)]
    pub cleartext: CleartextArgument,
    /// Concurrent clients; each number is a run.
    #[arg(short, long, alias = "client", default_value = "1", value_delimiter = ',', value_name = "COUNT,...", value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_CLIENTS)))]
    pub clients: Vec<u32>,
    /// Threads that run the clients. Default: one for each processor.
    #[arg(short = 'j', long, alias = "jobs", value_name = "COUNT", value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub threads: Option<u32>,
    /// Duration of the run in seconds, or with a unit: 500ms, 2m. Default without a number of
    /// operations: 10 seconds.
    #[arg(short = 'T', long = "time", value_name = "TIME", value_parser = seconds::time)]
    pub time: Option<Duration>,
    /// Transactions of each client.
    #[arg(short, long, value_name = "COUNT", value_parser = clap::value_parser!(u64).range(1..), conflicts_with = "time")]
    pub transactions: Option<u64>,
    /// Requests of all clients together. Without a number, as in pgbench: no vacuum with
    /// --initialize.
    #[arg(short = 'n', long = "requests", visible_alias = "no-vacuum", value_name = "COUNT", num_args = 0..=1, default_missing_value = "")]
    requests: Option<String>,
    /// Protocol for statements.
    #[arg(short = 'M', long = "protocol", value_enum, default_value_t = Mode::Simple, value_name = "MODE")]
    pub mode: Mode,
    /// Open a new connection for each transaction.
    #[arg(short = 'C', long)]
    pub connect: bool,
    /// HTTP: open a new connection for each request.
    #[arg(long)]
    pub no_keep_alive: bool,
    /// Open loop: start this many operations per second at random times, whether or not earlier
    /// ones have ended.
    #[arg(short = 'R', long = "arrival-rate", alias = "rate", value_name = "PER-SECOND")]
    pub rate: Option<Rate>,
    /// Start the clients evenly over this time.
    #[arg(long, default_value = "0s", value_name = "TIME", value_parser = seconds::with_unit)]
    pub ramp: Duration,
    /// Count an operation as failed after this time.
    #[arg(long, default_value = "60s", value_name = "TIME", value_parser = seconds::with_unit)]
    pub timeout: Duration,
    /// Seed of random values: same values as pgbench with the same seed.
    #[arg(long, visible_alias = "random-seed", default_value_t = 1, value_name = "SEED")]
    pub seed: u64,
    /// Seconds between lines of progress; 0 for none. Default: 1, on a terminal in the same line.
    #[arg(short = 'P', long, value_name = "SECONDS")]
    pub progress: Option<u32>,
    /// Report the time, round trips and errors of each statement, without literals. Decoding the
    /// bytes costs time.
    #[arg(short = 'r', long = "report-per-command")]
    pub per_statement: bool,
    /// Write the run to a recording, for read and predict. Decoding the bytes costs time.
    #[arg(short = 'o', long = "output", value_name = "FILE")]
    pub output: Option<PathBuf>,
    #[command(flatten)]
    pub all: AllArgument,
    #[command(flatten)]
    pub records: RecordArgs,
    /// Also write a page with distributions and the rate over time: one HTML file.
    #[arg(long, value_name = "FILE", conflicts_with = "initialise")]
    pub html: Option<PathBuf>,
    /// Style of the summary. Default: pgbench for SQL, ab for HTTP.
    #[arg(long, value_enum, value_name = "TOOL")]
    pub summary: Option<Words>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Words {
    /// Style of pgbench.
    Pgbench,
    /// Style of ApacheBench.
    Ab,
    /// Style of JMeter.
    Jmeter,
}

impl Words {
    pub fn style(self) -> LoadStyle {
        match self {
            Self::Pgbench => LoadStyle::Pgbench,
            Self::Ab => LoadStyle::Ab,
            Self::Jmeter => LoadStyle::Jmeter,
        }
    }
}

impl Args {
    /// The target. It may stand behind a `-n` without a number.
    pub fn target(&self) -> Result<&str> {
        match (&self.target, &self.requests) {
            (Some(target), _) => Ok(target),
            (None, Some(behind)) if number(behind).is_none() && !behind.is_empty() => Ok(behind),
            (None, _) => bail!("TARGET is missing: which server? For example postgres://app@db1/bench"),
        }
    }

    /// Whether `-n` was given without a number.
    pub fn no_vacuum(&self) -> bool {
        self.requests
            .as_deref()
            .is_some_and(|text| number(text).is_none())
    }

    /// A plan for each number of clients.
    ///
    /// # Errors
    /// When settings contradict each other.
    pub fn plans(&self) -> Result<Vec<load::Plan>> {
        if self.clients.len() > 1 && (self.output.is_some() || self.html.is_some()) {
            bail!("a recording or a page holds one run: give one number of clients");
        }
        self.clients.iter().map(|clients| self.plan(*clients)).collect()
    }

    fn plan(&self, clients: u32) -> Result<load::Plan> {
        let operations = match self.requests.as_deref().filter(|text| !text.is_empty()) {
            None => None,
            Some(text) => match number(text) {
                Some(0) => bail!("-n 0 asks for nothing: write how many requests"),
                Some(number) => Some(number),
                None if self.target.is_some() => bail!("-n takes a number of requests, not '{text}'"),
                None => None,
            },
        };
        if self.timeout.is_zero() {
            bail!("--timeout is zero: write more, such as 60s");
        }
        let endless = self.time.is_none() && self.transactions.is_none() && operations.is_none();
        Ok(load::Plan {
            clients,
            threads: self.threads,
            operations,
            operations_per_client: self.transactions,
            duration: self.time.or(endless.then_some(USUAL_TIME)),
            timeout: self.timeout,
            rate: self.rate,
            ramp: self.ramp,
            seed: self.seed,
            ..load::Plan::default()
        })
    }

    /// Names and values of `-D`.
    ///
    /// # Errors
    /// When one has no value.
    pub fn defined(&self) -> Result<Vec<(&str, &str)>> {
        self.definitions
            .iter()
            .map(|text| {
                text.split_once('=')
                    .with_context(|| format!("-D takes NAME=VALUE, not '{text}'"))
            })
            .collect()
    }
}

fn number(text: &str) -> Option<u64> {
    text.parse().ok()
}

const USUAL_TIME: Duration = Duration::from_secs(10);
/// Ports and memory end before.
const MAX_CLIENTS: u32 = 50_000;

//! `longwire tune`: the best method and setting for bulk work, or for a program, at each distance.

mod jobs;
mod program;

use crate::commands::all_flag::AllArgument;
use crate::commands::cleartext_flag::CleartextArgument;
use crate::commands::distance::DistanceArgs;
use crate::commands::driver::DriverArgs;
use crate::commands::record_args::RecordArgs;
use anyhow::Result;
use clap::Args as ClapArgs;
use model::{Job, parse_duration};
use pipeline::output::Status;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;
use sys::arguments::CommandLine;

/// Find the fastest way to insert, select and update many rows, and the smallest setting that is
/// nearly as good.
///
/// Runs each job by every available method: row by row, multi-row statement, batch, pipeline, COPY
/// or LOAD DATA; fetch sizes of cursors. Works in a scratch schema, which it removes. Recommends
/// one method and setting for each distance. With --set, runs a program with each setting instead.
#[derive(Debug, ClapArgs)]
#[command(after_help = r"Examples:
  longwire tune postgres://app@localhost/shop --rtt 10ms,40ms
  longwire tune mysql://app@db1/shop --jobs insert --rows 100000 \
    --row-bytes 120 --yes --html tune.html
  longwire tune postgres://app@db1/shop --like article --jobs select \
    --rtt 40ms --rate 100mbit --yes
  longwire tune jdbc:postgresql://db1/shop \
    --driver org.postgresql:postgresql:42.7.7 --yes
  longwire tune postgres://db1/shop \
    --set 'URL:defaultRowFetchSize=10,100,1000' -- ./report.sh {url}")]
pub struct Args {
    /// The database: a URL, a jdbc: URL or a libpq key=value string.
    #[arg(value_name = "TARGET")]
    pub target: String,
    /// Rows of an insert or update, all in one transaction.
    #[arg(long, default_value = "32000", value_parser = clap::value_parser!(u64).range(1..=MAX_ROWS), value_name = "COUNT")]
    pub rows: u64,
    /// Bytes of a row's columns together.
    #[arg(long, default_value = "322", value_parser = clap::value_parser!(u32).range(1..=MAX_ROW_BYTES), value_name = "BYTES")]
    pub row_bytes: u32,
    /// Rows of a select.
    #[arg(long, default_value = "117158", value_parser = clap::value_parser!(u64).range(1..=MAX_ROWS), value_name = "COUNT")]
    pub select_rows: u64,
    /// Use this table's columns and sample values (read-only).
    #[arg(long, conflicts_with = "row_bytes", value_name = "TABLE")]
    pub like: Option<String>,
    /// Jobs to run with the rows: insert, select, update.
    #[arg(
        long,
        default_value = "insert,select,update",
        value_delimiter = ',',
        value_name = "JOB,..."
    )]
    pub jobs: Vec<Job>,
    /// Only these methods, by name. An unknown name lists the valid ones.
    #[arg(long, value_delimiter = ',', value_name = "METHOD,...")]
    pub ways: Vec<String>,
    #[command(flatten)]
    pub distances: DistanceArgs,
    /// Predict the cost of the links from runs at the present distance, instead of emulating them.
    #[arg(long)]
    pub predict: bool,
    /// Runs of each competing setting; their median counts.
    #[arg(long, alias = "runs", default_value = "5", value_parser = clap::value_parser!(u32).range(1..=1000), value_name = "COUNT")]
    pub rounds: u32,
    /// Time limit of one run. Slower runs are predicted (over a link) or skipped (locally).
    #[arg(long, default_value = "60s", value_parser = parse_duration, value_name = "TIME")]
    pub patience: Duration,
    /// Run every method with every setting --rounds times, instead of searching.
    #[arg(long)]
    pub exhaustive: bool,
    /// Write to a server that is not on this machine. The rows of the scratch schema load its disks
    /// and replicas.
    #[arg(long)]
    pub yes: bool,
    #[command(flatten)]
    pub cleartext: CleartextArgument,
    #[command(flatten)]
    pub driver: DriverArgs,
    /// Settings of a program: NAME=VALUE,... for its environment, URL:NAME=VALUE,... for parameters
    /// of its URL. Can be repeated.
    #[arg(
        long,
        requires = "command",
        conflicts_with_all = ["rows", "row_bytes", "select_rows", "like", "jobs", "ways", "predict", "patience", "exhaustive", "yes", "driver"],
        value_name = "SETTING"
    )]
    pub set: Vec<String>,
    #[command(flatten)]
    pub all: AllArgument,
    #[command(flatten)]
    pub records: RecordArgs,
    /// Also write a page with charts: one HTML file.
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// The program for --set, behind `--`.
    #[arg(last = true, requires = "set", value_name = "COMMAND")]
    pub command: Vec<OsString>,
}

pub fn run(args: &Args, typed: &CommandLine) -> Result<Status> {
    args.cleartext.allow_for([args.target.as_str()])?;
    match args.set.is_empty() {
        true => jobs::run(args, typed),
        false => program::run(args, typed),
    }
}

/// Beyond this, one run would take hours.
const MAX_ROWS: u64 = 100_000_000;
const MAX_ROW_BYTES: i64 = 1 << 20;

//! `longwire tune`: the best way and setting for bulk work on a database, or for a program, at each distance.

use crate::commands::driver::DriverArgs;
use crate::password;
use crate::tune::campaign::{self, CampaignPlan};
use crate::tune::distance::{self, Limits};
use crate::tune::program::{self, ProgramRequest};
use crate::tune::scratch::{self, Scratch};
use crate::tune::search::Thoroughness;
use anyhow::Result;
use clap::Args as ClapArgs;
use link::LinkDescription;
use model::{ByteCount, Conditions, Job, Method, Summary, Warning, format_duration, parse_duration};
use pipeline::output::{self, Status};
use pipeline::page::PageFile;
use report::JsonWriter;
use report::outcome::{TuneDetail, TuneReport};
use report::text::tune_view;
use std::ffi::OsString;
use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use sys::Target;
use tune::jdbc::JdbcBench;
use tune::{Prepared, Shape, TuneError, Workbench};

/// Find the fastest way to insert, select and update many rows, and the smallest setting that is as good as the best.
///
/// Does each job in every way that there is (row by row, multi-row statement, batch, pipeline, COPY or LOAD DATA; fetch sizes of
/// cursors), in a scratch schema that it makes and removes, and recommends one way and setting for each distance. With --set,
/// runs a program of yours with each setting instead.
#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Examples:\n  longwire tune postgres://app@localhost/shop --at rtt=1ms --at rtt=40ms\n  \
                        longwire tune mysql://app@db1/shop --jobs insert --rows 100000 --row-bytes 120 --yes --html tune.html\n  \
                        longwire tune postgres://app@db1/shop --like article --jobs select --at 'rtt=20ms rate=100mbit' --yes\n  \
                        longwire tune jdbc:postgresql://db1/shop --driver org.postgresql:postgresql:42.7.7 --yes\n  \
                        longwire tune postgres://db1/shop --set 'URL:defaultRowFetchSize=10,100,1000' -- ./report.sh {url}"
)]
pub struct Args {
    /// The database: a URL, a jdbc: URL or a libpq key=value string.
    #[arg(value_name = "TARGET")]
    pub target: String,
    /// Rows of an insert or update, all in one transaction.
    #[arg(long, default_value = "32000", value_parser = clap::value_parser!(u64).range(1..=MOST_ROWS), value_name = "COUNT")]
    pub rows: u64,
    /// Bytes of a row's columns together.
    #[arg(long, default_value = "322", value_parser = clap::value_parser!(u32).range(1..=MOST_ROW_BYTES), value_name = "BYTES")]
    pub row_bytes: u32,
    /// Rows of a select.
    #[arg(long, default_value = "117158", value_parser = clap::value_parser!(u64).range(1..=MOST_ROWS), value_name = "COUNT")]
    pub select_rows: u64,
    /// Take the columns of this table, and values from its rows, instead of made ones; it is only read.
    #[arg(long, conflicts_with = "row_bytes", value_name = "TABLE")]
    pub like: Option<String>,
    /// What is done with the rows: insert, select, update.
    #[arg(
        long,
        default_value = "insert,select,update",
        value_delimiter = ',',
        value_name = "JOB,..."
    )]
    pub jobs: Vec<Job>,
    /// Only these ways, by name; a name that the target does not have lists those it has.
    #[arg(long, value_delimiter = ',', value_name = "WAY,...")]
    pub ways: Vec<String>,
    /// Tune for this link too, in front of the distance that is there: 'rtt=10ms rate=100mbit'; may be repeated.
    #[arg(long, value_name = "LINK")]
    pub at: Vec<LinkDescription>,
    /// Predict what the links cost from runs at the distance that is there, instead of emulating them.
    #[arg(long)]
    pub predict: bool,
    /// Runs of each setting that is in question; their median counts.
    #[arg(long, default_value = "5", value_parser = clap::value_parser!(u32).range(1..=1000), value_name = "COUNT")]
    pub runs: u32,
    /// The longest that one run may take: over a link, what would take longer is predicted; here, it is given up.
    #[arg(long, default_value = "60s", value_parser = parse_duration, value_name = "TIME")]
    pub patience: Duration,
    /// Run every way with every setting as often as --runs says, instead of searching.
    #[arg(long)]
    pub exhaustive: bool,
    /// Write to a server that is not on this machine: a scratch schema, whose rows load its disks and replicas.
    #[arg(long)]
    pub yes: bool,
    /// Through a driver.
    #[command(flatten)]
    pub driver: DriverArgs,
    /// Settings of a program: NAME=VALUE,... of its environment, or URL:NAME=VALUE,... of its URL's parameters; may be repeated.
    #[arg(
        long,
        requires = "command",
        conflicts_with_all = ["rows", "row_bytes", "select_rows", "like", "jobs", "ways", "predict", "patience", "exhaustive", "yes", "driver", "all"],
        value_name = "SETTING"
    )]
    pub set: Vec<String>,
    /// Show every setting that was tried, not only the best of each way.
    #[arg(long)]
    pub all: bool,
    /// Write records (JSON Lines) instead of the view.
    #[arg(long)]
    pub json: bool,
    /// Write a page with charts too: one HTML file.
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// The program that --set is about, behind `--`.
    #[arg(last = true, requires = "set", value_name = "COMMAND")]
    pub command: Vec<OsString>,
}

/// Runs it.
///
/// # Errors
/// When the target cannot be used, or the scratch schema not be made.
pub fn run(args: &Args) -> Result<Status> {
    if !args.set.is_empty() {
        return program::run(&ProgramRequest {
            target: &args.target,
            settings: &args.set,
            command: &args.command,
            at: &args.at,
            runs: args.runs,
            json: args.json,
            html: args.html.as_deref(),
        });
    }
    let began = Instant::now();
    let stop = output::stop_on_signals()?;
    let login = match args.driver.is_given() {
        true => Some(args.driver.login(&args.target)?),
        false => None,
    };
    let target = match &login {
        Some(login) => login.url.target()?,
        None => password::completed(Target::parse(&args.target)?),
    };
    agree(args, &target)?;
    let page = args.html.as_deref().map(PageFile::create).transpose()?;
    let halt = AtomicBool::new(false);
    let suffix = scratch::suffix();
    let workbench: Box<dyn Workbench + '_> = match login {
        Some(login) => Box::new(JdbcBench::new(args.driver.options()?, login, &suffix, &halt)),
        None => tune::native(&target, &suffix, &halt)?,
    };
    let mut report = TuneReport {
        server: target.server(),
        rows: args.rows,
        select_rows: args.select_rows,
        row_bytes: args.like.is_none().then_some(args.row_bytes),
        like: args.like.clone(),
        ..TuneReport::default()
    };
    let fault = tune(args, &target, workbench, [&stop, &halt], &mut report)?;
    let interrupted = stop.load(Ordering::Relaxed);
    if interrupted {
        let text = "the run was ended before everything was tried".to_owned();
        report.warnings.push(Warning { text });
    }
    tell(args, &target, &report, began)?;
    if let Some(page) = page {
        page.write_tune(&report, &conditions(args, &target))?;
    }
    match fault {
        _ if interrupted => Ok(Status::Interrupted),
        Some(fault) => Err(fault.into()),
        None if report.recommendations.is_empty() => Ok(Status::Negative),
        None => Ok(Status::Done),
    }
}

/// Makes the scratch schema, runs everything, removes it. Gives what went wrong after the first run.
fn tune<'a>(
    args: &Args,
    target: &Target,
    workbench: Box<dyn Workbench + 'a>,
    [stop, halt]: [&'a AtomicBool; 2],
    report: &mut TuneReport,
) -> Result<Option<TuneError>> {
    let (mut scratch, prepared) = Scratch::prepare(workbench, &args.shape())?;
    output::note(&format!(
        "working in the scratch schema {}, which is removed at the end",
        prepared.scratch
    ));
    report.ways = args.chosen(&prepared)?;
    report.product = prepared.server;
    report.scratch = prepared.scratch;
    let absent = prepared.absent.iter().filter(|way| args.jobs.contains(&way.job));
    report.warnings.extend(absent.map(|way| Warning {
        text: format!("no {} by {}: {}", way.job, way.name, way.reason),
    }));
    let plan = CampaignPlan {
        target,
        ways: report.ways.clone(),
        links: &args.at,
        predict: args.predict,
        runs: args.runs,
        thoroughness: match args.exhaustive {
            true => Thoroughness::FullSweep,
            false => Thoroughness::Search,
        },
        limits: Limits {
            stop,
            halt,
            patience: args.patience,
        },
    };
    let found = campaign::run(&plan, scratch.workbench(), &mut progress);
    progress("");
    let removed = scratch.remove();
    report.is_removed = removed.is_ok();
    if let Err(left) = &removed {
        // Whatever else went wrong: somebody has to remove it by hand.
        report.warnings.push(Warning {
            text: scratch::left(left),
        });
    }
    let (found, left) = match (found, removed.err()) {
        (Ok(found), left) => (found, left),
        (Err(fault), left) => {
            left.iter().for_each(|left| output::note(&scratch::left(left)));
            return Err(fault);
        }
    };
    report.tuned = found.tuned;
    report.recommendations = found.recommendations;
    report.runs = found.runs;
    report
        .warnings
        .extend(found.links.iter().flat_map(report::text::link_warnings));
    report.links = found.links;
    report.warnings.extend(found.warnings);
    Ok(found.fault.or(left))
}

impl Args {
    fn shape(&self) -> Shape {
        Shape {
            rows: self.rows,
            select_rows: self.select_rows,
            row_bytes: self.row_bytes,
            like: self.like.clone(),
        }
    }

    /// What was asked for besides the target, for the conditions.
    fn words(&self) -> String {
        let mut words = format!(
            " --rows {} --select-rows {} --row-bytes {} --runs {} --patience {}",
            self.rows,
            self.select_rows,
            self.row_bytes,
            self.runs,
            format_duration(self.patience)
        );
        let links = self.at.iter().map(|link| format!(" --at '{link}'"));
        let like = self.like.iter().map(|table| format!(" --like {table}"));
        let flags = [(self.predict, " --predict"), (self.exhaustive, " --exhaustive")];
        let flags = flags.into_iter().filter(|(given, _)| *given);
        words.extend(links.chain(like).chain(flags.map(|(_, flag)| flag.to_owned())));
        words
    }

    /// Of the ways that there are, those asked for.
    fn chosen(&self, prepared: &Prepared) -> Result<Vec<Method>> {
        let of_jobs = || prepared.methods.iter().filter(|way| self.jobs.contains(&way.job));
        for name in &self.ways {
            if of_jobs().any(|way| *way.name == **name) {
                continue;
            }
            let mut absent = prepared.absent.iter();
            if let Some(absent) = absent.find(|absent| *absent.name == **name) {
                anyhow::bail!("there is no way '{name}' here: {}", absent.reason);
            }
            let mut names: Vec<&str> = of_jobs().map(|way| &*way.name).collect();
            names.dedup();
            anyhow::bail!("there is no way '{name}' here; there are: {}", names.join(", "));
        }
        let is_asked =
            |way: &&Method| self.ways.is_empty() || self.ways.iter().any(|name| **name == *way.name);
        Ok(of_jobs().filter(is_asked).cloned().collect())
    }
}

/// Nobody else's server is written to unasked.
fn agree(args: &Args, target: &Target) -> Result<()> {
    if args.yes || distance::is_here(target)? {
        return Ok(());
    }
    let bytes = args.rows.max(args.select_rows) * u64::from(args.row_bytes);
    anyhow::bail!(
        "{} is not on this machine: tune would write tables of up to {} there again and again, in a scratch schema that it \
         removes; say --yes if that is what you want",
        target.server(),
        ByteCount::from_bytes(bytes)
    );
}

fn conditions(args: &Args, target: &Target) -> Conditions {
    output::conditions(
        format!(
            "longwire tune {}{}",
            args.driver.shown(&args.target, target),
            args.words()
        ),
        match args.driver.is_given() {
            true => "System.nanoTime in Java, around the driver's calls",
            false => "the monotonic clock of the client",
        },
        format!("clients of {}", target.server()),
    )
}

fn tell(args: &Args, target: &Target, report: &TuneReport, began: Instant) -> Result<()> {
    if !args.json {
        let detail = match args.all {
            true => TuneDetail::All,
            false => TuneDetail::Best,
        };
        return Ok(output::print(&tune_view(report, detail, &output::style()))?);
    }
    output::warn(&report.warnings);
    let mut records = JsonWriter::new(io::stdout().lock());
    records.conditions(&conditions(args, target))?;
    records.tune(report)?;
    report.links.iter().try_for_each(|link| records.link(link))?;
    let mut warnings = report.warnings.iter();
    warnings.try_for_each(|warning| records.warning(warning))?;
    records.summary(&Summary {
        operations: report.runs.taken,
        duration: began.elapsed(),
        ..Summary::default()
    })?;
    Ok(records.flush()?)
}

/// What is going on, on one line of a terminal.
fn progress(text: &str) {
    let mut stderr = io::stderr().lock();
    if stderr.is_terminal() {
        let text = report::text::escape::printable(text);
        // Nobody misses a line about progress.
        let _ = write!(stderr, "\r\x1b[K{text}");
        let _ = stderr.flush();
    }
}

/// Beyond, one run would take hours.
const MOST_ROWS: u64 = 100_000_000;
/// Of a row: a MiB.
const MOST_ROW_BYTES: i64 = 1 << 20;

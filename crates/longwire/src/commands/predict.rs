//! `longwire predict`: the operations of a capture or recording on other links.

use super::distance::DistanceArgs;
use super::emulation_level::{self, Level};
use super::grouping::Grouping;
use super::keys_flag::KeyLogArgument;
use super::moved_flag::MovedArgument;
use super::per_file::PerFileArg;
use crate::commands::all_flag::AllArgument;
use crate::commands::calibration_flag::CalibrationArgument;
use crate::commands::record_args::RecordArgs;
use anyhow::{Context, Result, bail, ensure};
use clap::Args as ClapArgs;
use link::LinkDescription;
use model::{DEFAULT_RTTS, Pattern};
use pipeline::aggregator::{Aggregator, AggregatorConfig};
use pipeline::calibration::Allowance;
use pipeline::explain::explain;
use pipeline::input::{self, Reading};
use pipeline::output::{self, Status};
use pipeline::page::{PageFile, PageRun, Samples};
use pipeline::private_file;
use pipeline::progress::StderrProgress;
use pipeline::sinks::LongestOperation;
use predict::{Computing, ComputingByClients, PredictionTarget, WakeUp, Workers};
use proof::{Backend, BackendSearch, Claim};
use report::ReadOutcome;
use report::RunFile;
use report::outcome::ExplainOutcome;
use std::convert::Infallible;
use std::io::Write;
use std::path::{Path, PathBuf};
use sys::StopToken;
use sys::arguments::CommandLine;

/// Predict operations of a capture or recording on other links.
///
/// Replays each operation in virtual time. Each request still waits for the same replies, and
/// client and server times stay. The bytes of moved connections cross the target link under Linux
/// TCP.
#[derive(Debug, Clone, ClapArgs)]
#[command(after_help = r"Examples:
  longwire predict app.pcap --rtt 10ms,40ms,120ms
  longwire predict run.lwr --rtt 40ms --rate 10mbit --on postgres --explain
  longwire predict run.lwr --link 'rtt=40ms loss=0.1%' --clients 1,8,64 \
    --server-cores 4
  longwire predict app.pcap --rtt 10ms,40ms --verify")]
pub struct Args {
    /// Capture or recording files, or folders of them; `-` reads stdin. Links may stand between them:
    /// app.pcap 40ms.
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    #[command(flatten)]
    pub distances: DistanceArgs,
    /// Concurrent clients, each with one operation after another.
    #[arg(long, default_value = "1", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=MAX_CLIENTS), value_name = "COUNT,...")]
    pub clients: Vec<u32>,
    /// Processor cores of all servers together, when measured and on the target. Default with
    /// several clients: this system's cores.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=MAX_CORES), value_name = "COUNT")]
    pub server_cores: Option<u32>,
    /// Processor cores of all clients together, in the same way.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=MAX_CORES), value_name = "COUNT")]
    pub client_cores: Option<u32>,
    /// Concurrent requests of a server that queries the database: a count, "all" for no limit, or
    /// "inferred" from waits in the measurement. Matters only with several clients; --verify
    /// ignores it.
    #[arg(long, default_value = "inferred", value_parser = parse_workers, value_name = "COUNT")]
    pub workers: Workers,
    /// Allowance for client and server being slower after longer rests than measured. Default: as
    /// calibrated, else assumed.
    #[arg(long, value_enum, value_name = "ALLOWANCE", conflicts_with = "calibration")]
    pub wake_up: Option<WakeUpChoice>,
    #[command(flatten)]
    pub calibration: CalibrationArgument,
    #[command(flatten)]
    pub moved: MovedArgument,
    #[command(flatten)]
    pub grouping: Grouping,
    #[command(flatten)]
    pub keys: KeyLogArgument,
    /// Show the assumptions of the prediction, the parts of its interval, and the replay of the
    /// longest operation (of these names; * is any text).
    #[arg(long, conflicts_with = "records", num_args = 0..=1, require_equals = true, default_missing_value = "*", value_parser = pattern, value_name = "NAMES")]
    pub explain: Option<Pattern>,
    /// Write the replay of that operation as a Chrome trace, for chrome://tracing or
    /// ui.perfetto.dev.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["records", "per_file"])]
    pub trace: Option<PathBuf>,
    /// Replay the median operation of the longest names over an emulated link, and show it next to
    /// its prediction. Takes about a minute. Clients and servers then share no cores, in the
    /// prediction too.
    #[arg(long, conflicts_with_all = ["server_cores", "client_cores", "per_file"])]
    pub verify: bool,
    /// Level of the emulated link: packet if namespaces are available, else stream.
    #[arg(long, requires = "verify", value_name = "LEVEL")]
    pub level: Option<Level>,
    #[command(flatten)]
    pub all: AllArgument,
    #[command(flatten)]
    pub records: RecordArgs,
    #[command(flatten)]
    pub per_file: PerFileArg,
    /// Also write a page: one HTML file with the prediction over round-trip time and rate, and its
    /// basis.
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum WakeUpChoice {
    /// Allowance from measurements of other programs; see --explain.
    Assumed,
    /// No allowance: durations as measured.
    None,
}

pub fn run(args: &Args, typed: &CommandLine) -> Result<Status> {
    let args = &with_links_between_files(args.clone());
    if args.files.is_empty() {
        bail!("no file to predict from: name a capture or recording beside the link");
    }
    let backend = match emulation_level::backend(args.verify, args.level)? {
        Some(BackendSearch::Finished(status)) => return Ok(Status::Child(status)),
        Some(BackendSearch::Here(backend)) => Some(backend),
        None => None,
    };
    let files = input::with_folders(&args.files)?;
    args.per_file.run(&files, args.records.is_given(), |files, file| {
        predict(args, files, file, backend.as_ref(), typed)
    })
}

fn predict(
    args: &Args,
    files: &[PathBuf],
    file: Option<RunFile>,
    backend: Option<&Backend>,
    typed: &CommandLine,
) -> Result<Status> {
    for output in [&args.html, &args.trace] {
        input::ensure_not_read(files, output.as_deref())?;
    }
    ensure!(
        args.trace.is_none() || args.trace != args.html,
        "--trace and --html name the same file"
    );
    let page = args.html.as_deref().map(PageFile::create).transpose()?;
    let samples = page.as_ref().map(PageFile::samples);
    let samples = samples.or_else(|| backend.map(|_| Samples::default()));
    let wanted = AggregatorConfig {
        file,
        ..wanted(args, files, samples.clone())?
    };
    let mut aggregator = Aggregator::new(&wanted, input::conditions(files, typed))?;
    let reading = Reading {
        files: wanted.files.clone().unwrap_or_default(),
        ..args.keys.reading()?
    };
    let input = input::read_files(files, reading, &mut |fact| aggregator.fact(fact))?;
    let moved = aggregator.moved();
    let stop = match args.verify {
        true => output::stop_on_signals()?,
        false => StopToken::never(),
    };
    let mut status = Status::Done;
    let outcome = aggregator.finish_amended(input.warnings, input.packets, |outcome| {
        if let (Some(backend), Some(samples)) = (backend, &samples) {
            let claim = Claim {
                targets: &wanted.targets,
                samples,
                moved: &moved,
            };
            proof::verify(outcome, &claim, backend, &StderrProgress, &stop);
            if stop.is_stopped() {
                status = Status::Interrupted;
            }
        }
    })?;
    if !args.records.is_given() {
        let longest = wanted.longest.as_ref().and_then(LongestOperation::take_operation);
        if let (Some(names), None) = (&args.explain, &longest) {
            ensure_named(names, &outcome)?;
        }
        let explained = longest
            .zip(wanted.targets.last())
            .map(|(longest, target)| explain(&longest, target, &wanted, &moved, &outcome.predictions));
        output::print(&view(args, &outcome, &wanted, explained.as_ref()))?;
        if let Some(path) = &args.trace {
            write_trace(path, explained.as_ref())?;
        }
    }
    output::warn(&outcome.warnings);
    if let Some(page) = page {
        page.write(&PageRun {
            title: &input::title(files),
            outcome: &outcome,
            moved: &moved,
            asked: &wanted.targets,
            computing: wanted.computing,
            wake_up: wanted.wake_up,
            links: &outcome.links,
        })?;
    }
    Ok(status)
}

fn write_trace(path: &Path, explained: Option<&ExplainOutcome>) -> Result<()> {
    let explained = explained.context("no operation was seen, so there is nothing to trace")?;
    let trace = report::trace::chrome_trace(explained);
    private_file::create(path)
        .and_then(|mut file| file.write_all(trace.as_bytes()))
        .with_context(|| format!("could not write the trace {}", path.display()))
}

fn view(
    args: &Args,
    outcome: &ReadOutcome,
    wanted: &AggregatorConfig,
    explained: Option<&ExplainOutcome>,
) -> String {
    let style = args.all.style();
    let mut text = report::text::prediction_view(&outcome.predictions, &outcome.unmoved, &style);
    text.push_str(&report::text::held_view(
        &outcome.held,
        &outcome.held_predictions,
        &style,
    ));
    if wanted.computing != ComputingByClients::default() {
        let several = wanted.computing.several;
        let cores = [several.client, several.server];
        text.push_str(&report::text::cores_line(cores));
    }
    if let Some(explained) = explained.filter(|_| args.explain.is_some()) {
        text.push_str(&report::text::explain_view(explained, &style));
    }
    text.extend(outcome.links.iter().map(report::text::link_line));
    text
}

/// Moves links among the files to the links.
fn with_links_between_files(mut args: Args) -> Args {
    let (mut files, mut links) = (Vec::new(), Vec::new());
    for file in args.files {
        let link = file
            .to_str()
            .and_then(|text| text.parse::<LinkDescription>().ok());
        match link.filter(|_| !file.exists()) {
            Some(link) => links.push(link),
            None => files.push(file),
        }
    }
    args.files = files;
    args.distances.link.extend(links);
    args
}

fn wanted(args: &Args, files: &[PathBuf], samples: Option<Samples>) -> Result<AggregatorConfig> {
    let Allowance { wake_up, calibration } = allowance(args, files)?;
    Ok(AggregatorConfig {
        targets: PredictionTarget::grid(&args.distances.links(&DEFAULT_RTTS), &args.clients),
        computing: computing(args),
        wake_up,
        calibration,
        workers: if args.verify {
            Workers::Unlimited
        } else {
            args.workers
        },
        moved: args.moved.on.clone(),
        records: args.records.format(),
        longest: (args.explain.is_some() || args.trace.is_some())
            .then(|| LongestOperation::with_names(args.explain.clone())),
        samples,
        ..args.grouping.config_for(files)
    })
}

/// Cores shared by clients and servers. Several clients default to this system's. A replay over
/// sockets sleeps instead of computing, so the prediction that it proves shares none.
fn computing(args: &Args) -> ComputingByClients {
    let usual = if args.clients.iter().any(|clients| *clients > 1) && !args.verify {
        pipeline::computing::on_this_system()
    } else {
        Computing::default()
    };
    ComputingByClients {
        one: Computing {
            client: args.client_cores,
            server: args.server_cores,
        },
        several: Computing {
            client: args.client_cores.or(usual.client),
            server: args.server_cores.or(usual.server),
        },
    }
}

fn pattern(text: &str) -> Result<Pattern, Infallible> {
    Ok(Pattern::new(text))
}

/// Without any operation the view says so.
fn ensure_named(names: &Pattern, outcome: &ReadOutcome) -> Result<()> {
    let seen: Vec<&str> = outcome.operations.iter().map(|group| &*group.name).collect();
    ensure!(
        seen.is_empty(),
        "--explain={names}: no operation has such a name. Seen: {}",
        seen.join(", ")
    );
    Ok(())
}

fn parse_workers(text: &str) -> Result<Workers, String> {
    match text {
        "inferred" => Ok(Workers::Inferred),
        "all" => Ok(Workers::Unlimited),
        count => match count.parse() {
            Ok(count) if count > 0 => Ok(Workers::Count(count)),
            _ => Err("a number from 1 on, inferred, or all".to_owned()),
        },
    }
}

/// A replay over sockets sleeps instead of computing, so the prediction that it proves has no
/// allowance.
fn allowance(args: &Args, files: &[PathBuf]) -> Result<Allowance> {
    match (args.wake_up, args.verify) {
        (Some(WakeUpChoice::None), _) | (_, true) => Ok(Allowance {
            wake_up: WakeUp::None,
            calibration: None,
        }),
        (Some(WakeUpChoice::Assumed), false) => Ok(Allowance::default()),
        (None, false) => args.calibration.of_files(files),
    }
}

const MAX_CLIENTS: i64 = 10_000;
const MAX_CORES: i64 = 1_000_000;

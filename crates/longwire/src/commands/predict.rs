//! `longwire predict`: the operations of a capture or recording on other links.

use super::distance::DistanceArgs;
use super::grouping::Grouping;
use super::keys_flag::KeyLogArgument;
use crate::verify::{self, BackendSearch, Claim, EmulationLevel, ReplayBackend};
use anyhow::Result;
use clap::Args as ClapArgs;
use link::LinkDescription;
use model::{DEFAULT_RTTS, Operation, OperationStep};
use pipeline::aggregator::{Aggregator, AggregatorConfig};
use pipeline::input;
use pipeline::moved::ConnectionChoice;
use pipeline::output::{self, Status};
use pipeline::page::{PageFile, PageRun, Samples};
use pipeline::progress::StderrProgress;
use predict::{Assumption, Computing, PredictionTarget, WakeUp, Workers};
use report::ReadOutcome;
use report::outcome::{ExplainOutcome, ExplainedExchange};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Predict what the operations of a capture or recording would take on another link.
///
/// Each operation is replayed in virtual time: what waited for what stays, client and server times stay, and
/// the bytes of the moved connections cross the target link under Linux TCP.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:\n  longwire predict app.pcap --rtt 1ms,10ms,40ms\n  \
                        longwire predict run.lwr --rtt 40ms --rate 10mbit --on postgres --explain\n  \
                        longwire predict run.lwr --link 'rtt=40ms loss=0.1%' --clients 1,8,64 --server-cores 4\n  \
                        longwire predict app.pcap --rtt 10ms,40ms --verify")]
pub struct Args {
    /// Capture or recording files; `-` reads stdin.
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// The links to predict for; round trips of 0, 10, 40 and 120 ms when none is given.
    #[command(flatten)]
    pub distances: DistanceArgs,
    /// Clients at once, each with one operation after another.
    #[arg(long, default_value = "1", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=MAX_CLIENTS), value_name = "COUNT,...")]
    pub clients: Vec<u32>,
    /// Cores that all servers compute on, when measured and on the target; with several clients this system's
    /// count when left out.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=MAX_CORES), value_name = "COUNT")]
    pub server_cores: Option<u32>,
    /// Cores that all clients compute on, likewise.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=MAX_CORES), value_name = "COUNT")]
    pub client_cores: Option<u32>,
    /// Requests that a server works on at once, whose pages ask the database: a count, "all" (whatever
    /// comes), or "inferred" from how requests waited in the measurement. Matters with several clients, and
    /// not to what --verify replays.
    #[arg(long, default_value = "inferred", value_parser = parse_workers, value_name = "COUNT")]
    pub workers: Workers,
    /// Whether to allow for client and server being slower after they have rested longer than measured.
    #[arg(long, value_enum, default_value = "assumed", value_name = "WHAT")]
    pub wake_up: WakeUpChoice,
    /// Connections that move: mysql, postgres, http, fastcgi, tls or HOST:PORT. All database connections when
    /// left out.
    #[arg(long, value_delimiter = ',', value_parser = ConnectionChoice::parse, value_name = "WHICH,...")]
    pub on: Vec<ConnectionChoice>,
    /// How operations are found.
    #[command(flatten)]
    pub grouping: Grouping,
    /// What opens TLS.
    #[command(flatten)]
    pub keys: KeyLogArgument,
    /// Say what the prediction assumes, and how the longest operation was replayed.
    #[arg(long, conflicts_with = "json")]
    pub explain: bool,
    /// Replay the median operation of the names with most time over an emulated link, and show what it took
    /// next to what was predicted: a minute or so. Clients and servers then share no cores, in the prediction
    /// either.
    #[arg(long, conflicts_with_all = ["server_cores", "client_cores"])]
    pub verify: bool,
    /// At which level the link is emulated: packet where namespaces can be had, else stream.
    #[arg(long, requires = "verify", value_name = "LEVEL")]
    pub level: Option<EmulationLevel>,
    /// All names and columns, in lines as long as they need to be.
    #[arg(long, conflicts_with = "json")]
    pub all: bool,
    /// Write records (JSON Lines) instead of the table.
    #[arg(long)]
    pub json: bool,
    /// Also write a page: one HTML file with the prediction over round trip and rate, and what it was made
    /// from.
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
}

/// What to allow for client and server waking up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum WakeUpChoice {
    /// A figure that measurements of other programs gave; see --explain.
    Assumed,
    /// Nothing: they take as long as measured.
    None,
}

/// Runs it.
///
/// # Errors
/// When a file cannot be read or is neither a capture nor a recording.
pub fn run(args: &Args) -> Result<Status> {
    let backend = match args.verify.then(|| ReplayBackend::find(args.level)).transpose()? {
        Some(BackendSearch::Finished(status)) => return Ok(Status::Child(status)),
        Some(BackendSearch::Here(backend, why)) => {
            why.iter().for_each(|why| output::print_note(why));
            Some(backend)
        }
        None => None,
    };
    let page = args.html.as_deref().map(PageFile::create).transpose()?;
    let samples = page.as_ref().map(PageFile::samples);
    let samples = samples.or_else(|| backend.as_ref().map(|_| Samples::default()));
    let wanted = wanted(args, samples.clone());
    let mut aggregator = Aggregator::new(&wanted, input::conditions(&args.files))?;
    let input = input::read_files(&args.files, args.keys.reading()?, &mut |fact| {
        aggregator.fact(fact)
    })?;
    let moved = aggregator.moved();
    let stop = match args.verify {
        true => output::stop_on_signals()?,
        false => Arc::default(),
    };
    let mut status = Status::Done;
    let (outcome, longest) = aggregator.finish_amended(input.warnings, input.packets, |outcome| {
        if let (Some(backend), Some(samples)) = (&backend, &samples) {
            let claim = Claim {
                targets: &wanted.targets,
                samples,
                moved: &moved,
            };
            status = prove(outcome, &claim, backend, &stop);
        }
    })?;
    if !args.json {
        let style = output::style_of(args.all);
        let mut text = report::text::prediction_view(&outcome.predictions, &outcome.unmoved, &style);
        text.push_str(&report::text::held_view(
            &outcome.held,
            &outcome.held_predictions,
            &style,
        ));
        if wanted.computing != Computing::default() {
            let cores = [wanted.computing.client, wanted.computing.server];
            text.push_str(&report::text::cores_line(cores));
        }
        if let (Some(longest), Some(target)) = (longest, wanted.targets.last()) {
            let explained = explain(&longest, target, &wanted, &|step| moved.moves(step));
            text.push_str(&report::text::explain_view(&explained, &style));
        }
        text.extend(outcome.links.iter().map(report::text::link_line));
        output::print(&text)?;
    }
    output::warn(&outcome.warnings);
    if let Some(page) = page {
        page.write(&PageRun {
            title: &input::title(&args.files),
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

/// What is to be predicted, from what.
fn wanted(args: &Args, samples: Option<Samples>) -> AggregatorConfig {
    AggregatorConfig {
        rule: args.grouping.operations,
        hosts: args.grouping.hosts_in(&args.files),
        statements_alone: input::are_of_load(&args.files),
        targets: targets(&args.distances.links(&DEFAULT_RTTS), &args.clients),
        computing: computing(args),
        wake_up: wake_up(args),
        workers: if args.verify {
            Workers::Unlimited
        } else {
            args.workers
        },
        moved: args.on.clone(),
        json: args.json,
        longest: args.explain,
        samples,
        ..AggregatorConfig::default()
    }
}

/// Proves the predictions; interrupted when Ctrl-C ended that.
fn prove(outcome: &mut ReadOutcome, claim: &Claim<'_>, backend: &ReplayBackend, stop: &AtomicBool) -> Status {
    let proof = verify::verify(outcome, claim, backend, &StderrProgress, stop);
    outcome.links = proof.links;
    outcome
        .warnings
        .extend(outcome.links.iter().flat_map(report::text::link_warnings));
    outcome.warnings.extend(proof.warnings);
    match stop.load(Ordering::Relaxed) {
        true => Status::Interrupted,
        false => Status::Done,
    }
}

/// One operation on one link, as the report shows it.
fn explain(
    operation: &Operation,
    target: &PredictionTarget,
    wanted: &AggregatorConfig,
    moved: &dyn Fn(&OperationStep) -> bool,
) -> ExplainOutcome {
    let explanation = predict::explain(operation, target, wanted.computing, wanted.wake_up, moved);
    let steps = explanation.steps.iter().map(|step| ExplainedExchange {
        name: match &step.fingerprint {
            Some(fingerprint) => fingerprint.to_string(),
            None => step.phase.name().to_owned(),
        },
        moved: step.moved,
        turns: step.turns,
        bytes: [step.request_bytes, step.reply_bytes],
        assigned: step.assigned,
        probability: step.probability,
        started: step.times.started,
        completed: step.times.completed,
    });
    let assumption = |assumption: &Assumption| (assumption.text.to_string(), assumption.source.to_owned());
    ExplainOutcome {
        operation_name: operation.name.to_string(),
        measured: operation.duration,
        unexplained_ns: explanation.unexplained_ns,
        predicted: explanation.replayed.duration,
        link: match target.clients {
            1 => target.link.to_string(),
            _ => format!("{}, by one client alone", target.link),
        },
        assumptions: explanation.assumptions.iter().map(assumption).collect(),
        steps: steps.collect(),
    }
}

/// Every link with every number of clients.
pub fn targets(links: &[LinkDescription], clients: &[u32]) -> Vec<PredictionTarget> {
    let targets = links.iter().flat_map(|link| {
        clients
            .iter()
            .map(|&clients| PredictionTarget { link: *link, clients })
    });
    targets.collect()
}

/// Links of these round trips, without limit of rate, for one client.
pub fn distances(rtts: &[Duration]) -> Vec<PredictionTarget> {
    let links: Vec<_> = rtts.iter().map(|rtt| LinkDescription::with_rtt(*rtt)).collect();
    targets(&links, &[1])
}

/// The cores that clients and servers share: those named, and for several clients this system's where none
/// are. A replay over sockets waits where clients and servers computed, so the prediction that it proves
/// shares none.
fn computing(args: &Args) -> Computing {
    let usual = if args.clients.iter().any(|clients| *clients > 1) && !args.verify {
        pipeline::computing::on_this_system()
    } else {
        Computing::default()
    };
    Computing {
        client: args.client_cores.or(usual.client),
        server: args.server_cores.or(usual.server),
    }
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

/// The requested allowance. A replay over sockets waits where client and server computed: the prediction that
/// it proves has none.
fn wake_up(args: &Args) -> WakeUp {
    match (args.wake_up, args.verify) {
        (WakeUpChoice::None, _) | (_, true) => WakeUp::None,
        (WakeUpChoice::Assumed, false) => WakeUp::Assumed,
    }
}

const MAX_CLIENTS: i64 = 10_000;
const MAX_CORES: i64 = 1_000_000;

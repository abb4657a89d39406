//! `longwire echo`: TCP round trips and rates between two longwires.

mod sweep;

use super::address::one_to_listen;
use anyhow::{Context, Result};
use clap::Args as ClapArgs;
use model::{
    Conditions, Direction, SampleTotals, Summary, Warning, WarningKind, counted, format_duration,
    parse_duration,
};
use pipeline::output::{self, Status};
use pipeline::page::PageFile;
use pipeline::progress::{ProgressSink, StderrProgress};
use probe::echo;
use probe::echo::{BulkPlan, Echo, EchoError, EchoPlan, Listener, ListenerOptions, Spin};
use report::JsonWriter;
use report::outcome::EchoReport;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};
use sweep::ConnectionCounts;
use sys::Target;

/// TCP round trips of messages of given sizes, and rates, between two longwires: the network without a database.
///
/// One side listens, the other asks. Round trips are whole ones: from before the request is sent until its reply is there, both
/// one ways. Sizes and numbers of streams may be swept: 8..64:*2 is 8, 16, 32, 64; every combination is measured.
#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Examples:\n  longwire echo --listen 0.0.0.0           # on the server, port 7717\n  \
                        longwire echo db1                        # on the client: 16 bytes each way\n  \
                        longwire echo db1 --request 8..64:*2 --reply 1KiB --streams 1,64 -T 2s\n  \
                        longwire echo db1 --bulk                 # rate each way, and the queue's delay\n\n\
                        The listener answers anybody who reaches it, with bytes it makes up: choose its address."
)]
pub struct Args {
    /// Where a longwire listens: HOST or HOST:PORT.
    #[arg(value_name = "ADDRESS", required_unless_present = "listen")]
    pub address: Option<String>,
    /// Answer others: at PORT of 127.0.0.1, ADDRESS or ADDRESS:PORT [default: 127.0.0.1:7717].
    #[arg(long, value_name = "ADDRESS", num_args = 0..=1, default_missing_value = "127.0.0.1", conflicts_with = "address")]
    pub listen: Option<String>,
    /// With --listen: end with the first client.
    #[arg(long, requires = "listen")]
    pub once: bool,
    /// Payload bytes of a request: 16, 4KiB, a list, or a range: 8..64:*2, 100..500:+100.
    #[arg(long, default_value = "16", value_parser = sweep::sizes, value_name = "BYTES")]
    pub request: ConnectionCounts,
    /// Payload bytes of a reply, likewise.
    #[arg(long, default_value = "16", value_parser = sweep::sizes, value_name = "BYTES")]
    pub reply: ConnectionCounts,
    /// Streams at once, each a connection with one request under way: 64, 1,64 or 1..256:*4.
    #[arg(long, default_value = "1", value_parser = sweep::streams, value_name = "COUNT", conflicts_with = "bulk")]
    pub streams: ConnectionCounts,
    /// How long each combination is measured.
    #[arg(short = 'T', long = "time", default_value = "2s", value_parser = parse_duration, value_name = "TIME")]
    pub time: Duration,
    /// Poll for messages instead of sleeping: the network without wake-ups. Uses a whole processor. With --listen: do so
    /// for clients that ask for it.
    #[arg(long, conflicts_with = "bulk")]
    pub spin: bool,
    /// Sleep until messages come, on both sides: wake-ups as an application has them. Otherwise they poll up to 50 us first while that pays.
    #[arg(long, conflicts_with_all = ["bulk", "spin", "listen"])]
    pub no_spin: bool,
    /// Measure the rate each way instead, with round trips before and during it.
    #[arg(long)]
    pub bulk: bool,
    /// Write records (JSON Lines) instead of the table.
    #[arg(long)]
    pub json: bool,
    /// Write a page with distributions too: one HTML file.
    #[arg(long, value_name = "FILE", conflicts_with = "listen")]
    pub html: Option<PathBuf>,
}

impl Args {
    const fn waits(&self) -> Spin {
        match (self.spin, self.no_spin) {
            (true, _) => Spin::Always,
            (false, true) => Spin::Never,
            (false, false) => Spin::WhilePaying,
        }
    }
}

/// Runs it.
///
/// # Errors
/// When nothing listens there, or this side cannot listen.
pub fn run(args: &Args) -> Result<Status> {
    let stop = output::stop_on_signals()?;
    match (&args.listen, &args.address) {
        (Some(listen), _) => answer(args, listen, &stop),
        (None, address) => ask(args, address.as_deref().unwrap_or_default(), &stop),
    }
}

/// The side that answers.
fn answer(args: &Args, listen: &str, stop: &AtomicBool) -> Result<Status> {
    let options = ListenerOptions {
        once: args.once,
        spin: args.spin,
        ..ListenerOptions::default()
    };
    let listener = Listener::bind(one_to_listen(listen, Some(echo::DEFAULT_PORT))?, options)?;
    let address = listener.address();
    output::note(&format!("echo listens on {address}; Ctrl-C ends it"));
    let clients = listener.serve(stop)?;
    output::note(&format!("{} served", counted(clients, "client", "clients")));
    Ok(match stop.load(Ordering::Relaxed) {
        true => Status::Interrupted,
        false => Status::Done,
    })
}

/// The side that asks.
fn ask(args: &Args, address: &str, stop: &AtomicBool) -> Result<Status> {
    let page = args.html.as_deref().map(PageFile::create).transpose()?;
    let began = Instant::now();
    let target = Target::tcp_at(address, echo::DEFAULT_PORT)?;
    let plans = plans(args)?;
    let first = EchoPlan {
        duration: args.time,
        ..plans.first().copied().context("nothing to measure")?
    };
    let floor = echo::floor(&first, stop).ok().flatten();
    let echo = Echo::connect(&target)?;
    let mut report = EchoReport {
        server: target.server(),
        same_host: echo.is_here(),
        processors: Some(echo.processors()),
        time: args.time,
        floor,
        echoes: Vec::new(),
        bulks: Vec::new(),
        warnings: Vec::new(),
    };
    if args.spin && !echo.spins() {
        report.warn(WarningKind::RoundTripBiased, SLEEPS);
    }
    let ended = match args.bulk {
        true => fill(args, &echo, &first, &mut report, stop),
        false => trips(&echo, &plans, &mut report, stop),
    };
    let nothing = report.echoes.is_empty() && report.bulks.is_empty();
    match ended {
        Err(error @ (EchoError::NoReply { .. } | EchoError::Closed { .. })) => {
            report.warn(WarningKind::ConnectionsFailed, error.to_string());
        }
        Err(EchoError::Stopped) | Ok(()) => {}
        Err(error) if nothing => return Err(error.into()),
        Err(error) => report.warn(WarningKind::ConnectionsFailed, error.to_string()),
    }
    report.note_other_clients();
    let conditions = conditions(&target);
    tell(args, &conditions, &report, began.elapsed())?;
    if let Some(page) = page {
        page.write_made(|out| report::html::write_echo(&report, &conditions, out))?;
    }
    Ok(match stop.load(Ordering::Relaxed) {
        true => Status::Interrupted,
        false if report.has_failures() => Status::Negative,
        false => Status::Done,
    })
}

fn trips(
    echo: &Echo,
    plans: &[EchoPlan],
    report: &mut EchoReport,
    stop: &AtomicBool,
) -> Result<(), EchoError> {
    for (done, plan) in plans.iter().enumerate() {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        StderrProgress.status(&format!(
            "{} of {}: {} and {} bytes, {} at once",
            done + 1,
            plans.len(),
            plan.request,
            plan.reply,
            plan.streams
        ));
        let measured = echo::measure(echo, plan, stop);
        StderrProgress.status("");
        report.echoes.push(measured?);
    }
    Ok(())
}

fn fill(
    args: &Args,
    echo: &Echo,
    sizes: &EchoPlan,
    report: &mut EchoReport,
    stop: &AtomicBool,
) -> Result<(), EchoError> {
    for direction in [Direction::ClientToServer, Direction::ServerToClient] {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        let plan = BulkPlan {
            direction,
            duration: args.time,
            request: sizes.request,
            reply: sizes.reply,
        };
        StderrProgress.status(match direction {
            Direction::ClientToServer => "filling the way there",
            Direction::ServerToClient => "filling the way back",
        });
        let measured = echo::bulk(echo, &plan, stop);
        StderrProgress.status("");
        report.bulks.push(measured?);
    }
    Ok(())
}

/// Every combination, in the order of the flags.
fn plans(args: &Args) -> Result<Vec<EchoPlan>> {
    let count = args.request.0.len() * args.reply.0.len() * args.streams.0.len();
    anyhow::ensure!(
        count <= MOST_COMBINATIONS,
        "{count} combinations to measure are more than {MOST_COMBINATIONS}: sweep less at once"
    );
    anyhow::ensure!(
        args.time >= SHORTEST,
        "-T must be at least {}",
        format_duration(SHORTEST)
    );
    let mut plans = Vec::new();
    for &request in &args.request.0 {
        for &reply in &args.reply.0 {
            plans.extend(args.streams.0.iter().map(|&streams| EchoPlan {
                request,
                reply,
                streams,
                duration: args.time,
                spin: args.waits(),
            }));
        }
    }
    Ok(plans)
}

fn conditions(target: &Target) -> Conditions {
    output::conditions(
        format!("longwire echo {}", target.server()),
        "the monotonic clock, right before a request is sent and right after its reply was read",
        format!("client of {}", target.server()),
    )
}

fn tell(args: &Args, conditions: &Conditions, report: &EchoReport, elapsed: Duration) -> Result<()> {
    output::warn(&report.warnings);
    if !args.json {
        return Ok(output::print(&report::text::echo_view(report, &output::style()))?);
    }
    let mut records = JsonWriter::new(io::stdout().lock());
    records.conditions(conditions)?;
    report.echoes.iter().try_for_each(|echo| records.echo(echo))?;
    report.bulks.iter().try_for_each(|bulk| records.bulk(bulk))?;
    let warnings: &[Warning] = &report.warnings;
    warnings.iter().try_for_each(|warning| records.warning(warning))?;
    records.summary(&summary(report, elapsed))?;
    Ok(records.flush()?)
}

/// The totals; a spread only where one combination was measured: those of several mean nothing together.
fn summary(report: &EchoReport, elapsed: Duration) -> Summary {
    let all = || report.echoes.iter();
    let answered: u64 = all().map(|echo| echo.spread.count).sum();
    let errors: u64 = all().map(|echo| echo.errors).sum();
    let bytes = |of: fn(&model::EchoOutcome) -> u64| all().map(|echo| echo.spread.count * of(echo)).sum();
    let one = match report.echoes.as_slice() {
        [one] => Some(one),
        _ => None,
    };
    let measured: Duration = all().map(|echo| echo.elapsed).sum();
    Summary {
        turns: answered,
        exchanges: answered,
        connections: all().map(|echo| u64::from(echo.streams)).sum(),
        payload_bytes: [bytes(|echo| echo.request_bytes), bytes(|echo| echo.reply_bytes)],
        duration: elapsed,
        spread: one.map(|one| one.spread).unwrap_or_default(),
        samples: (!report.echoes.is_empty()).then(|| SampleTotals {
            sent: answered + errors,
            answered,
            lost: errors,
            errors: 0,
            per_second: answered as f64 / measured.as_secs_f64().max(f64::MIN_POSITIVE),
            mdev: None,
            floor: report.floor,
        }),
        ..Summary::default()
    }
}

const SLEEPS: &str = "the listener polls for a short time at most: its wake-ups may be in the round trips; start it with --listen ... --spin";
const MOST_COMBINATIONS: usize = 1000;
const SHORTEST: Duration = Duration::from_millis(10);

//! `longwire top`: a screen of the measurements of `watch` while it runs, or of a recording at any
//! moment.

mod run;
pub mod terminal;

use super::grouping::Grouping;
use super::moved_flag::MovedArgument;
use super::observing::{InterfaceArgs, PlainClientsArg, RelayArgs};
use analysis::findings::Distances;
use anyhow::{Result, bail, ensure};
use clap::Args as ClapArgs;
use live::top::forecasts::Forecasts;
use live::top::page;
use live::top::recorded::RecordedRun;
use live::top::source::{ScreenSource, snapshot};
use pipeline::aggregator::AggregatorConfig;
use pipeline::input::Reading;
use pipeline::output::{self, EndRequest, Status};
use pipeline::output_health::OutputHealth;
use pipeline::page::PagePlace;
use screen::{COST_RTT, Screen, ScreenRequest};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use sys::arguments::CommandLine;
use terminal::{Reported, ScreenTerminal};

/// Show on one screen where an application's time goes, and where it would go further away.
///
/// Relays as `longwire watch` does; the application connects to the address on the screen. `+` and
/// `-` move the database away: every column is predicted there, by the same code as `longwire
/// predict`. With --interface nothing is relayed: packets of the targets, or of all TCP, are
/// captured (docs/interface.md). With FILEs, recordings or captures, the arrow keys move through
/// their time. `?` lists the keys.
#[derive(Debug, ClapArgs)]
#[command(after_help = "Examples:
  longwire top postgres://app@db1/shop --listen 127.0.0.1:5433
  longwire top http://127.0.0.1:8000 postgres://db1/shop redis://cache1
  longwire top postgres://app@db1/shop -o run.lwr -- ./report.py
  longwire top --interface eth0 --port 5432
  longwire top run.lwr
  longwire top app.pcap --operations transaction")]
pub struct Args {
    /// The servers, each with its own relay, as for `longwire watch`; or recordings and captures.
    #[arg(required_unless_present = "interface", value_name = "TARGET|FILE")]
    pub sources: Vec<String>,
    #[command(flatten)]
    pub interface: InterfaceArgs,
    /// Listening address for the application. Repeat it for several targets, in their order or by
    /// name (redis=127.0.0.1:6380). Default: a free port of 127.0.0.1.
    #[arg(long, value_name = "[NAME=]ADDRESS")]
    pub listen: Vec<String>,
    /// Add this delay to every target except http: 'rtt=40ms rate=10mbit'. 'postgres=rtt=40ms' is
    /// for one target. See docs/links.md.
    #[arg(long, value_name = "[NAME=]LINK")]
    pub link: Vec<String>,
    #[command(flatten)]
    pub plain_clients: PlainClientsArg,
    /// Write the run to a recording.
    #[arg(short = 'o', long = "output", value_name = "FILE")]
    pub output: Option<PathBuf>,
    #[command(flatten)]
    pub grouping: Grouping,
    #[command(flatten)]
    pub moved: MovedArgument,
    /// File for the page that key h writes.
    #[arg(long, default_value = "longwire-top.html", value_name = "FILE")]
    pub html: PathBuf,
    /// Draw with ASCII characters only, as in a locale without UTF-8.
    #[arg(long)]
    pub ascii: bool,
    /// The command to run, behind `--`. Its output goes to a file, which the screen names.
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
}

impl Args {
    fn relays(&self) -> RelayArgs {
        RelayArgs {
            targets: self.sources.clone(),
            listen: self.listen.clone(),
            link: self.link.clone(),
            plain_clients: self.plain_clients,
        }
    }
}

/// # Errors
/// When there is no terminal, or a target, an address or a file cannot be used.
pub fn run(args: &Args, typed: &CommandLine) -> Result<Status> {
    ensure!(
        terminal::is_there(),
        "top shows a screen, and its output is no terminal: use longwire watch for targets, longwire read for files"
    );
    match files(args)? {
        Some(files) => run_recorded(args, typed, files),
        None => run::live(args, typed),
    }
}

/// `None` if targets were named.
fn files(args: &Args) -> Result<Option<Vec<PathBuf>>> {
    let is_file = |source: &&String| !source.contains("://") && Path::new(source).exists();
    let files: Vec<PathBuf> = args.sources.iter().filter(is_file).map(PathBuf::from).collect();
    if files.is_empty() {
        if let Some(missing) = args.sources.iter().find(|source| is_meant_as_file(source)) {
            bail!("could not open {missing}: no such file; a server is named as a URL, postgres://HOST");
        }
        return Ok(None);
    }
    ensure!(
        files.len() == args.sources.len(),
        "targets and files cannot be shown together: top shows a run that goes on, or recordings and captures"
    );
    let only_live = [
        ("--interface", args.interface.is_given()),
        ("--listen", !args.listen.is_empty()),
        ("--allow-plain-clients", args.plain_clients.allow_plain_clients),
        ("--link", !args.link.is_empty()),
        ("--output", args.output.is_some()),
        ("a command", !args.command.is_empty()),
    ];
    if let Some((name, _)) = only_live.iter().find(|(_, given)| *given) {
        bail!("{name} is for targets, and {} is a file", args.sources[0]);
    }
    Ok(Some(files))
}

/// Whether a text that names no file was meant as one.
fn is_meant_as_file(source: &str) -> bool {
    let is_target = source.contains("://") || source.starts_with("jdbc:") || source.contains('=');
    !is_target
        && (source == "-"
            || source.contains('/')
            || [".lwr", ".pcap", ".pcapng", ".gz", ".zst"]
                .iter()
                .any(|end| source.ends_with(end)))
}

fn wanted(args: &Args, output_health: Option<OutputHealth>) -> AggregatorConfig {
    AggregatorConfig {
        rule: args.grouping.operations,
        hosts: args.grouping.hosts_here(),
        moved: args.moved.on.clone(),
        live: true,
        findings: Some(Distances {
            rtts: vec![COST_RTT],
            rate: None,
        }),
        output_health,
        ..AggregatorConfig::default()
    }
}

fn run_recorded(args: &Args, typed: &CommandLine, files: Vec<PathBuf>) -> Result<Status> {
    let asked = EndRequest::on_signals()?;
    output::print_note(&format!("reading {}", pipeline::input::title(&files)));
    let reading = Reading {
        keys: args.interface.keys.open()?,
        ..Reading::default()
    };
    let wanted = AggregatorConfig {
        hosts: args.grouping.hosts_in(&files),
        statements_alone: pipeline::input::are_of_load(&files),
        ..wanted(args, None)
    };
    let mut run = RecordedRun::open(files, reading, wanted, asked, typed)?;
    let mut screen = Screen::new(terminal::screen_look(args.ascii));
    run.travel(screen::TimeStep::End, &mut screen)?;
    let status = show(&PagePlace::new(args.html.clone()), &mut run, &mut screen)?;
    Ok(status)
}

/// Runs until a key, a signal or the end of the source, then restores the terminal.
fn show(place: &PagePlace, source: &mut dyn ScreenSource, screen: &mut Screen) -> Result<Status> {
    let mut terminal = ScreenTerminal::open_terminal()?;
    source.asked().wake_on(terminal::SIGNALS)?;
    let mut forecasts = Forecasts::default();
    let mut looked: Option<Instant> = None;
    loop {
        let waits = source.moment().position.is_some();
        let longest = match looked {
            None => Duration::ZERO,
            Some(_) if waits => A_DAY,
            Some(looked) => REFRESH.saturating_sub(looked.elapsed()),
        };
        if let Some(status) = source.gather(screen, terminal.keys(), longest)? {
            return Ok(status);
        }
        let mut changed = false;
        while let Some(reported) = terminal.next_reported()? {
            changed = true;
            let Reported::Key(key) = reported else { continue };
            match screen.key(key) {
                Some(ScreenRequest::Suspend) => terminal.suspend()?,
                Some(request) => {
                    if let Some(status) = carry_out(request, place, source, screen)? {
                        return Ok(status);
                    }
                }
                None => {}
            }
        }
        changed |= terminal.follow_signals()?;
        let is_due = looked.is_none_or(|looked| looked.elapsed() >= REFRESH);
        // A recording changes only by keys.
        if (is_due && !waits) || (changed && waits) || looked.is_none() {
            looked = Some(Instant::now());
            let shown = snapshot(source, &screen.wants());
            screen.show(forecasts.kept_in(shown));
            changed = true;
        }
        if changed {
            forecasts.renew(source, screen);
            terminal.show(screen)?;
        }
    }
}

fn carry_out(
    request: ScreenRequest,
    place: &PagePlace,
    source: &mut dyn ScreenSource,
    screen: &mut Screen,
) -> Result<Option<Status>> {
    match request {
        ScreenRequest::Quit => return Ok(Some(Status::Done)),
        ScreenRequest::Interrupt => return Ok(Some(Status::Interrupted)),
        ScreenRequest::WritePage => {
            let written = page::write(source, place, &[COST_RTT]);
            screen.show_message(match written {
                Ok(path) => format!("the page is in {}", path.display()),
                Err(fault) => format!("{fault:#}"),
            });
        }
        ScreenRequest::SetBaseline => source.baseline(true),
        ScreenRequest::RemoveBaseline => source.baseline(false),
        // The terminal handles it.
        ScreenRequest::Suspend => {}
        ScreenRequest::Move(step) => source.travel(step, screen)?,
    }
    Ok(None)
}

const REFRESH: Duration = Duration::from_millis(500);
const A_DAY: Duration = Duration::from_secs(24 * 3600);

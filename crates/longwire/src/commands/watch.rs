//! `longwire watch`: a relay in front of the database that measures while the application runs.

use super::child::CommandOutput;
use super::relaying;
use super::relays::{self, EndedRelay, Relays};
use super::reporting::Reporting;
use super::targets::{PlannedRelay, RelayArgs};
use super::unused::UnusedRelays;
use crate::advise::source;
use crate::relayed_command::TlsPlan;
use anyhow::Result;
use clap::Args as ClapArgs;
use pipeline::aggregator::{Aggregator, Wanted};
use pipeline::compression::CompressionMeter;
use pipeline::delivery::Delivery;
use pipeline::fact_channel::{FactChannel, Posted};
use pipeline::output::{self, EndRequest, Status};
use pipeline::page::{PRICES, PageFile};
use pipeline::progress::ShownProgress;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Relay an application's database traffic and measure it while the application runs.
///
/// Point the application at the address that is printed, or let longwire start it: `{host}`, `{port}` and `{url}` in
/// its arguments are replaced, and LONGWIRE_HOST, LONGWIRE_PORT, LONGWIRE_URL, DATABASE_URL, PGHOST, PGPORT, MYSQL_HOST and
/// MYSQL_TCP_PORT are set. Ends with the command, whose exit status passes through, or on Ctrl-C.
///
/// Several targets are relayed at once, in one analysis. With http://HOST:PORT, the application itself, among them, an HTTP request is one
/// operation with the statements and cache calls that it caused. Each target has `{NAME.port}`, ... and LONGWIRE_NAME_PORT, ..., where NAME is its
/// scheme (postgres, redis, http; postgres2 for a second one); `{port}` is of the first. See docs/watch.md.
#[derive(Debug, ClapArgs)]
#[command(
    after_help = "Examples:\n  longwire watch postgres://app@db1/shop -- ./report.py\n  \
                        longwire watch 'mysql://app@db1/shop?sslmode=require' --listen 127.0.0.1:3307 -o run.lwr\n  \
                        longwire watch postgres://db1 -- psql -h {host} -p {port} -c 'select 1'\n  \
                        longwire watch postgres://app@db1/shop --link 'rtt=40ms rate=10mbit' -- ./report.py\n  \
                        longwire watch http://127.0.0.1:8000 postgres://app@db1/shop redis://cache1 -- ./shop --port 8000\n  \
                        longwire watch postgres://db1 redis://cache1 --link redis=rtt=5ms -- ./app {port} {redis.port}"
)]
pub struct Args {
    /// The servers and their links.
    #[command(flatten)]
    pub relays: RelayArgs,
    /// Keep the run as a recording.
    #[arg(short = 'o', long = "output", value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// What is reported. With --json the command's own output goes to stderr.
    #[command(flatten)]
    pub reporting: Reporting,
    /// Print no progress lines.
    #[arg(short, long)]
    pub quiet: bool,
    /// The command to run, behind `--`.
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
}

/// Runs it.
///
/// # Errors
/// When the target or the listening address cannot be used, or the command cannot be started.
pub fn run(args: &Args) -> Result<Status> {
    let planned = args.relays.plan()?;
    let with_tls = with_tls(&planned, !args.command.is_empty())?;
    let asked = EndRequest::on_signals()?;
    let mut channel = FactChannel::new(args.reporting.keep_literals);
    if args.reporting.levels {
        channel = channel.with_payload();
    }
    let channel = Arc::new(channel);
    let relays = Relays::start(with_tls, &channel)?;
    let mut run = Run::new(args, &planned, channel)?;
    let delivery = run.delivery.clone();
    let end = match super::top::terminal::is_there() && !args.reporting.json {
        true => format!("{}; longwire top shows a screen meanwhile", relays::ENDS),
        false => relays::ENDS.to_owned(),
    };
    relays.announce(&delivery, !args.command.is_empty(), &end);
    let status = if args.command.is_empty() {
        run.until(&relays, |wanted| match asked.take() {
            Some(_) => Some(Status::Interrupted),
            None => (!wanted && relays.open_connections() == 0).then_some(Status::Done),
        })
    } else {
        let mut child = relays.child(&args.command, CommandOutput::beside_records(args.reporting.json))?;
        run.until(&relays, |_| child.ended(asked.take()))
    };
    let ended = relays.stop(status);
    let unused = UnusedRelays::among(&ended, &args.command);
    run.finish(args, &ended, &unused)?;
    Ok(delivery.status(unused.status(status)))
}

/// Which side speaks TLS with each server, all of which must be there.
pub(super) fn with_tls(planned: &[PlannedRelay], has_command: bool) -> Result<Vec<(PlannedRelay, TlsPlan)>> {
    let each = planned.iter().map(|planned| {
        relaying::check_server(planned, REACH)?;
        let tls = match has_command {
            false => relaying::tls_as_asked(&planned.target)?,
            true => relaying::tls_to_be_seen(&planned.target, planned.link.is_some(), REACH)?,
        };
        Ok((planned.clone(), tls))
    });
    each.collect()
}

/// How long the server may take to accept a connection before the run is refused.
const REACH: Duration = Duration::from_secs(10);

/// How often it is checked whether the command or the user has ended the run, while nothing passes.
const LOOK: Duration = Duration::from_millis(50);

/// How often what was collected is passed on.
const CHECKPOINT: Duration = Duration::from_secs(1);

/// What a run of `watch` collects.
struct Run {
    aggregator: Aggregator,
    meter: Option<CompressionMeter>,
    channel: Arc<FactChannel>,
    began: Instant,
    progress: ShownProgress,
    asked: Vec<predict::PredictionTarget>,
    page: Option<PageFile>,
    delivery: Delivery,
    /// The reason why it gave up on levels.
    fault: Option<anyhow::Error>,
}

impl Run {
    fn new(args: &Args, planned: &[PlannedRelay], channel: Arc<FactChannel>) -> Result<Self> {
        let page = args.reporting.html.as_deref().map(PageFile::create).transpose()?;
        let delivery = Delivery::default();
        let prices = if page.is_some() { &PRICES[..] } else { &PRICE };
        let wanted = Wanted {
            rule: args.reporting.grouping.operations,
            hosts: args.reporting.grouping.hosts(),
            targets: super::predict::distances(prices),
            json: args.reporting.json,
            exchanges: args.reporting.exchanges,
            findings: Some(args.reporting.distances()),
            samples: page.as_ref().map(PageFile::samples),
            delivery: Some(delivery.clone()),
            ..Wanted::default()
        };
        let conditions = output::conditions(
            command_line(args, planned),
            "kernel receive timestamps where the socket gives them, else the monotonic clock",
            relaying::observation_point(planned),
        );
        let conditions = relaying::with_links(conditions, planned);
        let mut aggregator = Aggregator::new(&wanted, conditions)?;
        if let Some(path) = &args.output {
            aggregator.record(path)?;
        }
        Ok(Self {
            aggregator,
            meter: args.reporting.compressing().map(CompressionMeter::new),
            channel,
            began: Instant::now(),
            progress: ShownProgress::new(!args.command.is_empty(), args.quiet),
            asked: wanted.targets,
            page,
            delivery,
            fault: None,
        })
    }

    /// Collects until `ended` returns a status; `ended` learns whether more is wanted. A fault of an output does not end the run.
    fn until(&mut self, relays: &Relays, mut ended: impl FnMut(bool) -> Option<Status>) -> Status {
        let mut last = Instant::now();
        loop {
            if let Some(status) = ended(!self.aggregator.is_over()) {
                return status;
            }
            let posted = self.channel.wait(LOOK);
            self.collect(posted);
            if last.elapsed() >= CHECKPOINT {
                last = Instant::now();
                let written = self.aggregator.checkpoint();
                self.delivery.of("the recording is", written);
            }
            self.show_progress(relays);
        }
    }

    fn collect(&mut self, posted: Vec<Posted>) {
        let aggregator = &mut self.aggregator;
        let Some(meter) = &mut self.meter else {
            return posted.into_iter().for_each(|posted| match posted {
                Posted::Fact(fact) => aggregator.fact(fact),
                Posted::Payload(_) => {}
            });
        };
        if let Err(fault) = meter.take(posted, &mut |fact| aggregator.fact(fact)) {
            self.meter = None;
            self.fault = Some(fault);
        }
    }

    fn show_progress(&mut self, relays: &Relays) {
        let Some(interval) = self.progress.due() else {
            return;
        };
        let elapsed = self.began.elapsed();
        let progress = self
            .aggregator
            .progress(elapsed, interval, relays.open_connections());
        let text = report::text::progress_line(&progress);
        self.progress.show(&self.delivery, &text, progress.exchanges == 0);
    }

    fn finish(mut self, args: &Args, ended: &[EndedRelay], unused: &UnusedRelays) -> Result<()> {
        self.delivery.show_status("");
        let posted = self.channel.take_all();
        self.collect(posted);
        let mut warnings = relays::warnings(ended);
        warnings.extend(unused.warnings.iter().cloned());
        if let Some(meter) = self.meter.take() {
            match meter.finish(&mut |fact| self.aggregator.fact(fact)) {
                Ok(compressed) => warnings.extend(source::missed(&compressed)),
                Err(fault) => self.fault = Some(fault),
            }
        }
        let links = relays::links(ended);
        links.iter().for_each(|link| self.aggregator.link(link));
        let moved = self.aggregator.moved();
        let (outcome, _) = self.aggregator.finish(warnings, None)?;
        if args.reporting.json {
            output::warn(&outcome.warnings);
        } else {
            let style = output::style_of(args.reporting.all);
            let printed = output::print(&report::text::read_view(&outcome, &style));
            self.delivery.of("the view on stdout is", printed);
        }
        if let Some(page) = self.page {
            let written = page.write(&pipeline::page::PageRun {
                title: &outcome.conditions.observation_point,
                outcome: &outcome,
                moved: &moved,
                asked: &self.asked,
                computing: predict::Computing::default(),
                wake_up: predict::WakeUp::default(),
                links: &links,
            });
            self.delivery
                .of("the page is", written.map_err(|fault| format!("{fault:#}")));
        }
        for link in &links {
            self.delivery
                .of("what the link did is", relaying::tell_link(link));
        }
        if let Some(hint) = &unused.hint {
            self.delivery.hint(hint);
        }
        self.fault.map_or(Ok(()), Err)
    }
}

/// The distances for which every run reports the price.
const PRICE: [Duration; 2] = [Duration::from_millis(10), Duration::from_millis(40)];

/// The command line without the targets' passwords and without the arguments of the command, which may hold one.
fn command_line(args: &Args, planned: &[PlannedRelay]) -> String {
    let command = match args.command.first() {
        Some(program) if args.command.len() > 1 => format!(" -- {} ...", program.display()),
        Some(program) => format!(" -- {}", program.display()),
        None => String::new(),
    };
    format!(
        "longwire watch{} --operations {}{command}",
        relaying::asked(planned),
        args.reporting.grouping.operations
    )
}

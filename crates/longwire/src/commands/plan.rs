//! `longwire plan`: operations and costs of services in other places, and the best first move.

mod asked;

use super::grouping::Grouping;
use super::keys_flag::KeyLogArgument;
use crate::commands::all_flag::AllArgument;
use crate::commands::calibration_flag::CalibrationArgument;
use crate::commands::record_args::RecordArgs;
use analysis::findings::Distances;
use analysis::hosts::HostChoice;
use anyhow::{Context, Result, ensure};
use clap::Args as ClapArgs;
use model::{Conditions, PlanOutcome, Summary, Warning, WarningKind, counted};
use pipeline::aggregator::{Aggregator, AggregatorConfig};
use pipeline::calibration::Allowance;
use pipeline::input;
use pipeline::output::{self, Status};
use pipeline::page::PageFile;
use pipeline::sinks::KeptOperations;
use plan::{Data, Estate, EstateTraffic};
use predict::WakeUp;
use report::RecordFormat;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use sys::arguments::CommandLine;
use sys::files::{MAX_CONFIG_BYTES, read_small_text};

/// Plan moves of services and databases: operation times, costs, and obstacles in other places.
///
/// The file names services, places, the links between places, prices and budgets: docs/plan.md.
/// Operations found in the data are predicted in each placement, all links at once.
#[derive(Debug, Clone, ClapArgs)]
#[command(after_help = r"Examples:
  longwire plan estate.toml app.pcap
  longwire plan estate.toml app.pcap \
    --placement shop=frankfurt,orders=frankfurt --html plan.html")]
pub struct Args {
    /// The estate (TOML): services, places, links, prices, budgets.
    #[arg(value_name = "ESTATE")]
    pub estate: PathBuf,
    /// Capture or recording files, or folders of them; `-` reads stdin.
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// A placement to show, given as the services that move: shop=frankfurt,orders=frankfurt. Can
    /// be repeated.
    #[arg(long, value_name = "SERVICE=PLACE,...")]
    pub placement: Vec<String>,
    #[command(flatten)]
    pub grouping: Grouping,
    #[command(flatten)]
    pub keys: KeyLogArgument,
    #[command(flatten)]
    pub calibration: CalibrationArgument,
    #[command(flatten)]
    pub all: AllArgument,
    #[command(flatten)]
    pub records: RecordArgs,
    /// Also write a page: one HTML file with a map and a table.
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
}

/// # Errors
/// When the estate or a file cannot be read, or holds nothing to plan with.
pub fn run(args: &Args, typed: &CommandLine) -> Result<Status> {
    let args = &Args {
        files: input::with_folders(&args.files)?,
        ..args.clone()
    };
    let estate = read_estate(&args.estate)?;
    let asked = asked::placements(&estate, &args.placement)?;
    input::ensure_not_read(&args.files, args.html.as_deref())?;
    let page = args.html.as_deref().map(PageFile::create).transpose()?;
    let Allowance { wake_up, calibration } = args.calibration.of_files(&args.files)?;
    let data = read_data(args, typed, &estate, wake_up)?;
    ensure!(
        !data.traffic.pairs.is_empty(),
        "no connection between two services of {}: their hosts are matched by address, and longwire read shows the addresses of {}",
        args.estate.display(),
        input::title(&args.files)
    );
    let plan = plan::plan(&estate, data, &asked, input::title(&args.files));
    let conditions = Conditions {
        calibration,
        ..input::conditions(&args.files, typed)
    };
    if let Some(format) = args.records.format() {
        write_records(format, &plan, &conditions).context("could not write all records")?;
    } else {
        output::print(&report::text::plan_view(&plan, &args.all.style()))?;
    }
    output::warn(&plan.warnings);
    if let Some(page) = page {
        page.write_made(|out| report::html::write_plan(&plan, &conditions, out))?;
    }
    Ok(match plan.cheapest {
        Some(_) => Status::Done,
        None => Status::Negative,
    })
}

fn read_estate(path: &Path) -> Result<Estate> {
    let text = read_small_text(path, MAX_CONFIG_BYTES)
        .with_context(|| format!("could not read {}", path.display()))?;
    let directory = path.parent().unwrap_or(Path::new(""));
    let measurement = |name: &str| read_measurement(&directory.join(name)).map_err(|fault| fault.to_string());
    Ok(Estate::parse(path, &text, &measurement)?)
}

/// The text of a measurement that the estate's file names. Returns an error for files beyond any
/// useful length, to bound memory.
fn read_measurement(path: &Path) -> io::Result<String> {
    read_small_text(path, MAX_MEASURED_BYTES).map_err(|error| match error.kind() {
        io::ErrorKind::FileTooLarge => {
            let what = "it has more than 64 MiB: measure for a shorter time";
            io::Error::new(io::ErrorKind::FileTooLarge, what)
        }
        _ => error,
    })
}

/// Bytes of a measurement: about 300,000 pings.
const MAX_MEASURED_BYTES: u64 = 64 << 20;

fn read_data(args: &Args, typed: &CommandLine, estate: &Estate, wake_up: WakeUp) -> Result<Data> {
    let mut grouping = args.grouping.clone();
    let hosts = estate.services.iter().flat_map(|service| &service.hosts);
    grouping.host.extend(hosts.cloned().map(HostChoice::Given));
    let kept = KeptOperations::default();
    let wanted = AggregatorConfig {
        findings: Some(Distances::ascending(
            estate.links.iter().map(|link| link.link.rtt),
            None,
        )),
        kept: Some(kept.clone()),
        ..grouping.config_for(&args.files)
    };
    let mut aggregator = Aggregator::new(&wanted, input::conditions(&args.files, typed))?;
    let mut traffic = EstateTraffic::default();
    let input = input::read_files(&args.files, args.keys.reading()?, &mut |fact| {
        match &fact {
            analysis::fact::Fact::Opened {
                connection,
                client,
                server,
                ..
            } => traffic.opened(estate, *connection, *client, *server),
            analysis::fact::Fact::Closed(outcome) => traffic.closed(outcome),
            _ => {}
        }
        aggregator.fact(fact);
    })?;
    let outcome = aggregator.finish(input.warnings, input.packets)?;
    let (operations, left_out) = kept.finish();
    let mut warnings = outcome.warnings;
    if left_out > 0 {
        let text = format!(
            "{} left out, because there was no room for all: predictions are of the first {}; bytes are of all",
            counted(left_out, "operation was", "operations were"),
            operations.len()
        );
        warnings.push(Warning::new(WarningKind::LeftOut, text));
    }
    Ok(Data {
        traffic: Arc::new(traffic),
        operations,
        findings: outcome.findings,
        warnings,
        wake_up,
    })
}

fn write_records(format: RecordFormat, plan: &PlanOutcome, conditions: &Conditions) -> io::Result<()> {
    let summary = Summary {
        operations: plan.today.operations.iter().map(|one| one.operations).sum(),
        ..Summary::default()
    };
    output::print_records(format, conditions, &plan.warnings, &summary, |records| {
        records.plan(plan)
    })
}

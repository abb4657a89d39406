//! `longwire check`: budgets for captures and recordings.

use crate::commands::all_flag::AllArgument;
use crate::commands::calibration_flag::CalibrationArgument;
use crate::commands::grouping::Grouping;
use crate::commands::keys_flag::KeyLogArgument;
use crate::commands::moved_flag::MovedArgument;
use crate::commands::record_args::RecordArgs;
use crate::failure;
use analysis::findings::Distances;
use anyhow::{Context, Result, bail, ensure};
use check::{Budget, BudgetFile, budget};
use clap::Args as ClapArgs;
use link::LinkDescription;
use model::{Conditions, Judgement};
use pipeline::aggregator::{Aggregator, AggregatorConfig};
use pipeline::calibration::Allowance;
use pipeline::input;
use pipeline::output::{self, Status};
use pipeline::page::PageFile;
use predict::PredictionTarget;
use report::ReadOutcome;
use report::outcome::CheckReport;
use std::io::Write;
use std::path::{Path, PathBuf};
use sys::arguments::CommandLine;
use sys::files::{MAX_CONFIG_BYTES, read_small_text};

/// Check captures or recordings against budgets: round trips, predicted time, open transactions,
/// findings.
///
/// A budget covers every operation, or those of some names: 'NAMES=BUDGET', with * for any text.
/// The one for names replaces the general one. Status 0: all budgets are kept. 1: one is broken. 2:
/// nothing could be checked, or a budget could not be judged, or it names operations that do not
/// occur.
#[derive(Debug, Clone, ClapArgs)]
#[command(after_help = r"Examples:
  longwire check app.pcap --max-round-trips 20 --max-predicted 200ms@40ms \
    --forbid n+1,row-by-row
  longwire check run.lwr --max-round-trips 20 \
    --max-round-trips 'GET /checkout*=35' --junit longwire.xml
  longwire check run.lwr --baseline main.lwr --max-round-trips +0 --github
  longwire check run.lwr --budgets longwire.toml --operations transaction")]
pub struct Args {
    /// Capture or recording files, or folders of them; `-` reads stdin.
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Maximum round trips of an operation: 20, or +2 more than in the baseline.
    #[arg(long, alias = "max-turns", value_parser = round_trips, value_name = "[NAMES=]COUNT")]
    pub max_round_trips: Vec<Budget>,
    /// Maximum predicted median over a link: 200ms@40ms (round-trip time) or '200ms@rtt=40ms
    /// rate=10mbit'. +10ms@40ms is relative to the baseline's prediction.
    #[arg(long, value_parser = predicted, value_name = "[NAMES=]TIME@LINK")]
    pub max_predicted: Vec<Budget>,
    /// Maximum median time that transactions stay open at their server: 100ms@40ms over a link, or
    /// 100ms as measured.
    #[arg(long, value_parser = held, value_name = "[NAMES=]TIME[@LINK]")]
    pub max_held: Vec<Budget>,
    /// Forbid findings of these kinds: n+1, row-by-row, unrewritten-batch, ... (docs/findings.md).
    #[arg(long, value_name = "[NAMES=]KIND,...")]
    pub forbid: Vec<String>,
    /// File with budgets, before those of the command line. See docs/check.md.
    #[arg(long, value_name = "FILE")]
    pub budgets: Option<PathBuf>,
    /// Report changes since this capture or recording, or those of this folder.
    #[arg(long, value_name = "FILE")]
    pub baseline: Option<PathBuf>,
    #[command(flatten)]
    pub grouping: Grouping,
    #[command(flatten)]
    pub moved: MovedArgument,
    #[command(flatten)]
    pub keys: KeyLogArgument,
    #[command(flatten)]
    pub calibration: CalibrationArgument,
    /// Also judge budgets without enough evidence: encrypted statements, statements prepared
    /// earlier, or statements assigned to requests by a guess. Otherwise these are not judged, and
    /// the status is 2.
    #[arg(long, alias = "allow-guesses")]
    pub allow_unseen: bool,
    #[command(flatten)]
    pub all: AllArgument,
    /// Also write a JUnit report with one test case for each operation name.
    #[arg(long, value_name = "FILE")]
    pub junit: Option<PathBuf>,
    /// Also write broken budgets as GitHub workflow annotations.
    #[arg(long, conflicts_with = "records")]
    pub github: bool,
    #[command(flatten)]
    pub records: RecordArgs,
    /// Also write a page with budgets and changes: one HTML file.
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
}

/// # Errors
/// When a file cannot be read, or a budget cannot be checked against the data.
pub fn run(args: &Args, typed: &CommandLine) -> Result<Status> {
    let args = &Args {
        files: input::with_folders(&args.files)?,
        ..args.clone()
    };
    input::ensure_not_read(&args.files, args.html.as_deref())?;
    let page = args.html.as_deref().map(PageFile::create).transpose()?;
    let file = args.budgets.as_deref().map(read_budgets).transpose()?;
    let BudgetFile { budgets, hosts } = file.unwrap_or_default();
    let budgets = with_those_of_the_command_line(budgets, args)?;
    let mut grouping = args.grouping.clone();
    grouping.host.extend(hosts);
    let links = budget::links(&budgets);
    // One for both runs, so that a change is theirs.
    let both: Vec<PathBuf> = args.files.iter().chain(&args.baseline).cloned().collect();
    let allowance = args.calibration.of_files(&both)?;
    let read = |files: &[PathBuf]| {
        read_outcome(
            files,
            &grouping,
            &args.moved,
            &links,
            &args.keys,
            &allowance,
            typed,
        )
    };
    let now = read(&args.files)?;
    let before = args
        .baseline
        .as_ref()
        .map(|file| read(&input::with_folders(std::slice::from_ref(file))?))
        .transpose()?;
    let conditions = now.conditions.clone();
    let title = input::title(&args.files);
    let report = check::outcome(title, &budgets, &links[0], now, before, args.allow_unseen)?;
    if let Some(path) = &args.junit {
        pipeline::private_file::create(path)
            .and_then(|mut file| file.write_all(report::text::junit_view(&report).as_bytes()))
            .with_context(|| format!("could not write {}", path.display()))?;
    }
    if let Some(page) = page {
        page.write_made(|out| report::html::write_check(&report, &conditions, out))?;
    }
    match print_report(args, &conditions, &report) {
        // The reader of the output has left: the answer is the same.
        Err(error) if failure::is_broken_pipe(&error) => {}
        told => told?,
    }
    let is_compared = !report.verdicts.is_empty() || !report.has_nothing_to_compare();
    let mut not_judged = report.verdicts_with(Judgement::NotJudged);
    let is_judged = match args.allow_unseen {
        // Between the bounds of a prediction nothing is unseen.
        true => not_judged.all(|verdict| !verdict.has_bounds()),
        false => not_judged.next().is_none() && is_compared,
    };
    Ok(match (report.broken().next(), is_judged) {
        (Some(_), _) => Status::Negative,
        (None, true) => Status::Done,
        (None, false) => Status::NotJudged,
    })
}

fn read_budgets(path: &Path) -> Result<BudgetFile> {
    let text = read_small_text(path, MAX_CONFIG_BYTES)
        .with_context(|| format!("could not read {}", path.display()))?;
    Ok(check::file::parse(path, &text)?)
}

fn round_trips(text: &str) -> Result<Budget, String> {
    Budget::turns(text).map_err(|fault| format!("{fault:#}"))
}

pub fn predicted(text: &str) -> Result<Budget, String> {
    Budget::predicted(text).map_err(|fault| format!("{fault:#}"))
}

pub fn held(text: &str) -> Result<Budget, String> {
    Budget::held(text).map_err(|fault| format!("{fault:#}"))
}

/// The file's budgets first, then those of the command line.
fn with_those_of_the_command_line(mut budgets: Vec<Budget>, args: &Args) -> Result<Vec<Budget>> {
    budgets.extend(args.max_round_trips.iter().cloned());
    budgets.extend(args.max_predicted.iter().cloned());
    budgets.extend(args.max_held.iter().cloned());
    for text in &args.forbid {
        budgets.extend(Budget::forbid(text)?);
    }
    ensure!(
        !budgets.is_empty() || args.baseline.is_some(),
        "nothing to check: give --max-round-trips, --max-predicted, --max-held, --forbid, --budgets or --baseline"
    );
    Ok(budgets)
}

fn read_outcome(
    files: &[PathBuf],
    grouping: &Grouping,
    moved: &MovedArgument,
    links: &[LinkDescription],
    keys: &KeyLogArgument,
    allowance: &Allowance,
    typed: &CommandLine,
) -> Result<ReadOutcome> {
    let wanted = AggregatorConfig {
        targets: PredictionTarget::grid(links, &[1]),
        wake_up: allowance.wake_up,
        calibration: allowance.calibration.clone(),
        moved: moved.on.clone(),
        findings: Some(Distances::ascending(
            links.iter().map(|link| link.rtt),
            links.iter().flat_map(|link| link.rate).flatten().min(),
        )),
        ..grouping.config_for(files)
    };
    let mut aggregator = Aggregator::new(&wanted, input::conditions(files, typed))?;
    let input = input::read_files(files, keys.reading()?, &mut |fact| aggregator.fact(fact))?;
    if let Some(fault) = input.faults.first() {
        bail!("nothing can be checked: {fault}");
    }
    let outcome = aggregator.finish(input.warnings, input.packets)?;
    Ok(outcome)
}

fn print_report(args: &Args, conditions: &Conditions, report: &CheckReport) -> Result<()> {
    let Some(format) = args.records.format() else {
        let style = args.all.style();
        output::print(&report::text::check_view(report, &style))?;
        if args.github {
            output::print_commands(&report::text::github_view(report))?;
        }
        return Ok(());
    };
    output::warn(&report.warnings);
    Ok(output::print_records(
        format,
        conditions,
        &report.warnings,
        &report.summary,
        |records| records.check(report),
    )?)
}

//! `longwire read`: the report of captures and recordings.

mod comparing;
mod script_output;

use super::keys_flag::KeyLogArgument;
use super::per_file::PerFileArg;
use super::reporting::Reporting;
use crate::commands::calibration_flag::CalibrationArgument;
use analysis::exchange_pool::ExchangePool;
use anyhow::{Result, ensure};
use clap::Args as ClapArgs;
use pipeline::aggregator::{Aggregator, AggregatorConfig, TablesInput};
use pipeline::calibration::Allowance;
use pipeline::input::{self, Reading};
use pipeline::output::{self, Status};
use pipeline::page::{PageFile, PageRun};
use report::RunFile;
use std::path::PathBuf;
use sys::arguments::CommandLine;

/// Read captures or recordings: where the time goes, by round trip.
///
/// Files are pcap or pcapng (plain, gzip or zstd), or recordings of `watch`. Several files are
/// merged by their times, so that requests in one get the statements in another. Output of the
/// script of `ping --print-script` can be read too. Statements are shown without their literals.
#[derive(Debug, ClapArgs)]
#[command(after_help = r#"Examples:
  longwire read app.pcap
  longwire read app.pcap --html report.html
  longwire read http.lwr database.lwr
  longwire read after.pcap --baseline before.pcap --html compared.html
  longwire read captures/ --per-file --csv summary
  tcpdump -i any -w - port 5432 | longwire read -
  longwire read --json --exchanges app.pcap | jq 'select(.type=="exchange")'"#)]
pub struct Args {
    /// Capture or recording files, or folders of them or of tables; `-` reads stdin.
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// Compare with this earlier capture, recording or folder: response time, round trips and share
    /// of network of each operation name in both runs.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["per_file", "exchanges", "compressed_sizes", "parquet", "rtt", "rate"])]
    pub baseline: Option<PathBuf>,
    #[command(flatten)]
    pub keys: KeyLogArgument,
    #[command(flatten)]
    pub calibration: CalibrationArgument,
    #[command(flatten)]
    pub reporting: Reporting,
    #[command(flatten)]
    pub per_file: PerFileArg,
}

pub fn run(args: &Args, typed: &CommandLine) -> Result<Status> {
    if let [file] = args.files.as_slice()
        && let Some(outcome) = script_output::find(file)?
    {
        ensure!(
            args.baseline.is_none(),
            "--baseline compares captures and recordings; {} is the output of a script",
            file.display()
        );
        return script_output::show(&outcome, args.reporting.records.format(), typed);
    }
    sys::memory::keep_freed();
    if let Some(baseline) = &args.baseline {
        return comparing::run(args, baseline, typed);
    }
    let files = input::with_folders(&args.files)?;
    let has_records = args.reporting.records.is_given();
    let each = |files: &[PathBuf], file| read(args, files, file, typed);
    args.per_file.run(&files, has_records, each)
}

fn read(args: &Args, files: &[PathBuf], file: Option<RunFile>, typed: &CommandLine) -> Result<Status> {
    input::ensure_not_read(files, args.reporting.html.as_deref())?;
    let page = args.reporting.html.as_deref().map(PageFile::create).transpose()?;
    let boxes = ExchangePool::default();
    let Allowance { wake_up, calibration } = args.calibration.of_files(files)?;
    let wanted = AggregatorConfig {
        targets: args.reporting.targets(page.is_some()),
        moved: args.reporting.moved.on.clone(),
        wake_up,
        calibration,
        records: args.reporting.records.format(),
        file,
        exchanges: args.reporting.has_exchanges(),
        findings: Some(args.reporting.distances()),
        samples: page.as_ref().map(PageFile::samples),
        boxes: Some(boxes.clone()),
        ..args.reporting.grouping.config_for(files)
    };
    let mut aggregator = Aggregator::new(&wanted, input::conditions(files, typed))?;
    args.reporting
        .write_tables(&mut aggregator, TablesInput::Files(files))?;
    let reading = Reading {
        keep_literals: args.reporting.keep_literals,
        compressing: args.reporting.compressing(),
        keys: args.keys.open()?,
        boxes,
        fingerprints: aggregator.fingerprints(),
        files: wanted.files.clone().unwrap_or_default(),
    };
    let input = input::read_files(files, reading, &mut |fact| aggregator.fact(fact))?;
    let moved = aggregator.moved();
    let outcome = aggregator.finish(input.warnings, input.packets)?;
    if args.reporting.records.is_given() {
        output::warn(&outcome.warnings);
    } else {
        output::print(&report::text::read_view(&outcome, &args.reporting.all.style()))?;
    }
    if let Some(page) = page {
        page.write(&PageRun {
            title: &input::title(files),
            outcome: &outcome,
            moved: &moved,
            asked: &wanted.targets,
            computing: predict::ComputingByClients::default(),
            wake_up: wanted.wake_up,
            links: &[],
        })?;
    }
    Ok(Status::Done)
}

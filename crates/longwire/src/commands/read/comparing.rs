//! `read --baseline`: two runs next to each other.

use super::Args;
use anyhow::{Result, ensure};
use pipeline::aggregator::Aggregator;
use pipeline::input;
use pipeline::output::{self, Status};
use pipeline::page::PageFile;
use report::outcome::ComparisonReport;
use report::{ReadOutcome, RecordFormat};
use std::path::{Path, PathBuf};
use sys::arguments::CommandLine;

pub fn run(args: &Args, baseline: &Path, typed: &CommandLine) -> Result<Status> {
    if let Some(RecordFormat::Csv(table) | RecordFormat::Markdown(table)) = args.reporting.records.format() {
        ensure!(
            TABLES.contains(&table.name),
            "a comparison has no table {}; it has {}",
            table.name,
            TABLES.join(", ")
        );
    }
    let [before, now] = [&[baseline.to_owned()][..], &args.files].map(input::with_folders);
    let files = [before?, now?];
    for files in &files {
        input::ensure_not_read(files, args.reporting.html.as_deref())?;
    }
    let page = args.reporting.html.as_deref().map(PageFile::create).transpose()?;
    let [before, now] = files.each_ref().map(|files| outcome(args, files, typed));
    let titles = files.each_ref().map(|files| input::title(files));
    let report = ComparisonReport::new(titles, [before?, now?]);
    let conditions = input::conditions(&files[1], typed);
    if let Some(page) = page {
        page.write_made(|out| report::html::write_comparison(&report, &conditions, out))?;
    }
    let Some(format) = args.reporting.records.format() else {
        let style = args.reporting.all.style();
        output::print(&report::text::comparison_view(&report, &style))?;
        return Ok(Status::Done);
    };
    output::warn(&report.warnings);
    output::print_records(
        format,
        &conditions,
        &report.warnings,
        &report.summaries[1],
        |records| {
            report
                .operations
                .iter()
                .try_for_each(|pair| records.comparison(pair))
        },
    )?;
    Ok(Status::Done)
}

const TABLES: [&str; 4] = ["comparison", "summary", "warning", "conditions"];

fn outcome(args: &Args, files: &[PathBuf], typed: &CommandLine) -> Result<ReadOutcome> {
    let wanted = args.reporting.grouping.config_for(files);
    let mut aggregator = Aggregator::new(&wanted, input::conditions(files, typed))?;
    let input = input::read_files(files, args.keys.reading()?, &mut |fact| aggregator.fact(fact))?;
    aggregator.finish(input.warnings, input.packets)
}

//! Clients that query a server repeatedly.

mod arguments;
mod initialise;
mod observed;
mod outcome;
mod running;
mod work;

pub use arguments::Args;

use crate::password;
use anyhow::{Context, Result, bail};
use load::script::builtin::BUILTINS;
use model::Protocol;
use observed::ObservedLoad;
use pipeline::output::{self, Status};
use pipeline::page::PageFile;
use pipeline::progress::{ProgressSink, StderrProgress};
use report::html::LoadCourse;
use report::outcome::{LoadInterval, LoadReport, LoadWork};
use report::text::LoadStyle;
use report::{RecordPrinter, Style};
use std::io::{self, IsTerminal, Stdout, Write};
use std::time::Duration;
use sys::StopToken;
use sys::Target;
use sys::arguments::CommandLine;
use work::ClientWork;

pub fn run(args: &Args, typed: &CommandLine) -> Result<Status> {
    if args.builtins.iter().any(|name| name == "list") {
        return list_builtins();
    }
    let url = args.target()?;
    args.cleartext.allow_for([url])?;
    let stop = output::stop_on_signals()?;
    if args.driver.is_given() {
        let plans = args.plans()?;
        let (work, shown) = work::driver(args, url, &stop)?;
        let clock = "System.nanoTime in Java, around the driver's calls";
        return carry_out(args, typed, &plans, &work, &shown, clock, &stop);
    }
    let target = password::completed(Target::parse(url)?);
    if args.initialise {
        return initialise::run(args, &target, &stop);
    }
    let plans = args.plans()?;
    let work = match target.scheme.protocol() {
        Protocol::Http => work::http(args, url, &target, &stop)?,
        Protocol::Postgres | Protocol::Mysql => work::sql(args, &target, &stop)?,
        _ => bail!(
            "there is no load for {}:// targets: use postgres://, mysql://, mariadb:// or http://, or a jdbc: URL with --driver",
            target.scheme.name()
        ),
    };
    let shown = Shown {
        target: target.to_string(),
        server: target.server(),
    };
    let clock = "monotonic clock; kernel receive timestamps where the socket gives them";
    carry_out(args, typed, &plans, &work, &shown, clock, &stop)
}

pub struct Shown {
    pub target: String,
    pub server: String,
}

fn carry_out(
    args: &Args,
    typed: &CommandLine,
    plans: &[load::Plan],
    work: &ClientWork,
    shown: &Shown,
    clock: &'static str,
    stop: &StopToken,
) -> Result<Status> {
    let conditions = output::conditions(typed, clock, format!("clients of {}", shown.server));
    let conditions = model::Conditions {
        seed: Some(args.seed),
        generated: true,
        ..conditions
    };
    let mut told = Told::begin(args, &conditions)?;
    told.is_table = plans.len() > 1 && args.summary.is_none() && !args.per_statement && !args.all.all;
    let mut status = Status::Done;
    for plan in plans {
        match run_once(args, &conditions, plan, work, &shown.target, &mut told, stop)? {
            Status::Done => {}
            Status::Interrupted => {
                status = Status::Interrupted;
                break;
            }
            other => status = other,
        }
    }
    told.print_table(&args.all.style())?;
    Ok(status)
}

fn run_once(
    args: &Args,
    conditions: &model::Conditions,
    plan: &load::Plan,
    work: &ClientWork,
    target: &str,
    told: &mut Told,
    stop: &StopToken,
) -> Result<Status> {
    let page = args.html.as_deref().map(PageFile::create).transpose()?;
    let mut course = LoadCourse::default();
    let progress = args.progress.unwrap_or(1);
    let progress = (progress > 0).then(|| Duration::from_secs(u64::from(progress)));
    let mut observed = ObservedLoad::begin(args, conditions)?;
    let ran = running::run(work, plan, progress, stop, &mut observed, &mut |interval| {
        course.add(interval);
        told.interval(interval)
    })?;
    let mut report = outcome::report(work, plan, &ran, target);
    if let Some(observed) = observed {
        let (statements, warnings) = observed.finish()?;
        output::warn(&warnings);
        if args.per_statement {
            report.statements = statements;
        }
    }
    if let Some(page) = page {
        page.write_made(|out| report::html::write_load(&report, &course, conditions, out))?;
    }
    let status = if ran.interrupted {
        Status::Interrupted
    } else if report.failed > 0 || report.succeeded == 0 {
        Status::Negative
    } else {
        Status::Done
    };
    told.end(report, tool(args, work), &args.all.style())?;
    Ok(status)
}

struct Told {
    records: Option<RecordPrinter<Stdout>>,
    /// Keeps each line of progress.
    lines: bool,
    /// Whether runs are rows of a table.
    is_table: bool,
    rows: Vec<LoadReport>,
}

impl Told {
    fn begin(args: &Args, conditions: &model::Conditions) -> Result<Self> {
        let mut records = args.records.printer();
        if let Some(records) = &mut records {
            records.conditions(conditions)?;
            records.flush()?;
        }
        let lines = args.progress.is_some() || !io::stderr().is_terminal();
        Ok(Self {
            records,
            lines,
            is_table: false,
            rows: Vec::new(),
        })
    }

    fn interval(&mut self, interval: &LoadInterval) -> Result<()> {
        match &mut self.records {
            Some(records) => {
                records.load_interval(interval)?;
                records.flush()?;
            }
            None if output::is_quiet() => {}
            None if self.lines => writeln!(
                io::stderr().lock(),
                "{}",
                report::text::load_progress_line(interval)
            )?,
            None => StderrProgress.status(&report::text::load_progress_line(interval)),
        }
        Ok(())
    }

    /// Prints a run, unless it is a row without failures.
    fn end(&mut self, report: LoadReport, tool: LoadStyle, style: &Style) -> Result<()> {
        if !self.lines {
            StderrProgress.status("");
        }
        match &mut self.records {
            Some(records) => {
                records.load(&report)?;
                records.summary(&report.summary())?;
                records.flush()?;
            }
            None => {
                if !self.is_table || report.failed > 0 {
                    output::print(&report::text::load_view(&report, tool, style))?;
                }
                self.rows.push(report);
            }
        }
        Ok(())
    }

    fn print_table(&self, style: &Style) -> Result<()> {
        match self.is_table && !self.rows.is_empty() {
            true => Ok(output::print(&report::text::load_table(&self.rows, style))?),
            false => Ok(()),
        }
    }
}

fn tool(args: &Args, work: &ClientWork) -> LoadStyle {
    match (args.summary, &work.told) {
        (Some(summary), _) => summary.style(),
        (None, LoadWork::Sql { .. }) => LoadStyle::Pgbench,
        (None, LoadWork::Http { .. }) => LoadStyle::Ab,
    }
}

fn list_builtins() -> Result<Status> {
    let names: Vec<String> = BUILTINS
        .iter()
        .map(|builtin| format!("{:>14}: {}", builtin.name, builtin.title))
        .collect();
    output::print(&names.join("\n")).context("could not write the list")?;
    Ok(Status::Done)
}

//! Finds the best setting of a program.

use super::Args;
use anyhow::{Result, ensure};
use lab::progress::LabProgress;
use live::relaying;
use model::{Summary, counted};
use pipeline::output::{self, Status};
use pipeline::progress::LINE_INTERVAL;
use std::time::Instant;
use sys::Target;
use sys::arguments::CommandLine;
use tune::program::{ProgramOutcome, ProgramPlan, grid};

pub fn run(args: &Args, typed: &CommandLine) -> Result<Status> {
    ensure!(
        args.html.is_none(),
        "--html draws the ways of a job; there is no page of a program's settings: leave it out, or keep --json"
    );
    let target = Target::parse(&args.target)?;
    let links = args.distances.links(&[]);
    for link in &links {
        relaying::check_link(&target, Some(link))?;
    }
    let settings = grid(&args.set)?;
    for setting in &settings {
        setting.target(&target)?;
    }
    announce(args, settings.len(), links.len() + 1)?;
    relay::probe(&target, relaying::REACH)?;
    let tls = relaying::tls_to_be_seen(&target, !links.is_empty(), relaying::REACH)?;
    let stop = output::stop_on_signals()?;
    let began = Instant::now();
    let progress = LabProgress::new(LINE_INTERVAL);
    let plan = ProgramPlan {
        target,
        tls,
        settings: &settings,
        command: &args.command,
        at: &links,
        runs: args.rounds,
        stop: &stop,
    };
    let ran = plan.run(&progress);
    progress.finish();
    let outcome = ran?;
    print_outcome(args, typed, &plan.target, &outcome, began)?;
    Ok(match outcome.interrupted {
        Some(_) => Status::Interrupted,
        None if outcome.report.failed() > 0 || !outcome.connected => Status::Negative,
        None => Status::Done,
    })
}

fn announce(args: &Args, settings: usize, distances: usize) -> Result<()> {
    let runs = args.rounds;
    let all = settings as u64 * distances as u64 * u64::from(runs);
    ensure!(
        all <= MAX_RUNS,
        "{settings} settings at {distances} distances, {runs} runs of each: {all} runs, {MAX_RUNS} at most; give fewer values or --rounds"
    );
    if settings < 2 {
        output::print_note("one setting alone: there is nothing to compare it with");
    }
    let at = match distances {
        1 => String::new(),
        distances => format!(" at {distances} distances"),
    };
    output::print_note(&format!(
        "{}{at}, {} of each: {}, and one before that is not counted",
        counted(settings as u64, "setting", "settings"),
        counted(runs.into(), "run", "runs"),
        counted(all, "run", "runs")
    ));
    Ok(())
}

fn print_outcome(
    args: &Args,
    typed: &CommandLine,
    target: &Target,
    outcome: &ProgramOutcome,
    began: Instant,
) -> Result<()> {
    let report = &outcome.report;
    let Some(format) = args.records.format() else {
        let text = report::text::program_view(report, &args.all.style());
        return Ok(output::print(&text)?);
    };
    output::warn(&report.warnings);
    let conditions = output::conditions(
        typed,
        "the monotonic clock; kernel receive timestamps where the socket gives them",
        format!("relay in front of {}", target.server()),
    );
    let summary = Summary {
        duration: began.elapsed(),
        ..outcome.totals.clone()
    };
    Ok(output::print_records(
        format,
        &conditions,
        &report.warnings,
        &summary,
        |records| records.program(report),
    )?)
}

/// More would take longer than any user waits.
const MAX_RUNS: u64 = 10_000;

//! Tuning a program of the user's own: run behind a relay with each setting in turn.

mod compare;
mod setting;
mod trial;

use crate::commands::relaying;
use anyhow::{Result, ensure};
use compare::Cell;
use lab::order::shuffled;
use lab::progress::LabProgress;
use link::LinkDescription;
use model::{Summary, Warning, format_duration};
use pipeline::output::{self, Status};
use report::JsonWriter;
use report::outcome::ProgramReport;
use setting::ProgramSetting;
use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use sys::Target;
use trial::{TrialBench, Tried};

/// What is asked for.
#[derive(Debug, Clone, Copy)]
pub struct ProgramRequest<'a> {
    /// The database that the program talks to.
    pub target: &'a str,
    /// `NAME=VALUE,...` or `URL:NAME=VALUE,...`, as given.
    pub settings: &'a [String],
    /// The program and its arguments.
    pub command: &'a [OsString],
    /// Links in front of the distance that is there.
    pub at: &'a [LinkDescription],
    /// Runs of each setting.
    pub runs: u32,
    /// Whether records are written.
    pub json: bool,
    /// Where a page is written.
    pub html: Option<&'a Path>,
}

/// Runs the program with each setting.
///
/// # Errors
/// When it cannot be run.
pub fn run(asked: &ProgramRequest<'_>) -> Result<Status> {
    ensure!(
        asked.html.is_none(),
        "--html draws the ways of a job; there is no page of a program's settings: leave it out, or keep --json"
    );
    let target = Target::parse(asked.target)?;
    for link in asked.at {
        relaying::check(&target, Some(link))?;
    }
    let settings = setting::grid(asked.settings)?;
    for setting in &settings {
        setting.target(&target)?;
    }
    let all = announce(asked, settings.len())?;
    relay::probe(&target, REACH)?;
    let bench = TrialBench {
        tls: relaying::tls_to_be_seen(&target, !asked.at.is_empty(), REACH)?,
        target,
        command: asked.command,
        stop: output::stop_on_signals()?,
    };
    let began = Instant::now();
    let mut cells = cells(&settings, asked.at);
    let progress = LabProgress::new();
    let tried = rounds(&bench, asked.runs, &mut cells, &progress, all);
    progress.finish();
    tried?;
    let report = summed_up(asked, &bench, &settings, &cells);
    tell(asked, &bench, &report, &cells, began)?;
    Ok(match bench.stop.load(Ordering::Relaxed) {
        true => Status::Interrupted,
        false if report.failed() > 0 || !connected(&cells) => Status::Negative,
        false => Status::Done,
    })
}

/// Says how many runs there will be, and gives their number.
fn announce(asked: &ProgramRequest<'_>, settings: usize) -> Result<u64> {
    let distances = asked.at.len() + 1;
    let all = settings as u64 * distances as u64 * u64::from(asked.runs);
    ensure!(
        all <= MOST_RUNS,
        "{settings} settings at {distances} distances, {} runs of each: {all} runs, {MOST_RUNS} at most; give fewer values or --runs",
        asked.runs
    );
    if settings < 2 {
        output::note("one setting alone: there is nothing to compare it with");
    }
    let at = match distances {
        1 => String::new(),
        distances => format!(" at {distances} distances"),
    };
    let runs = asked.runs;
    output::note(&format!(
        "{settings} settings{at}, {runs} runs of each: {all} runs, and one before that is not counted"
    ));
    Ok(all)
}

fn cells<'a>(settings: &'a [ProgramSetting], at: &[LinkDescription]) -> Vec<Cell<'a>> {
    let links = std::iter::once(None).chain(at.iter().copied().map(Some));
    let cells = links.flat_map(|link| {
        settings.iter().map(move |setting| Cell {
            setting,
            link,
            runs: Vec::new(),
            failed: 0,
        })
    });
    cells.collect()
}

/// Runs everything once a round, in another order each round, until the user asks for the end.
fn rounds(
    bench: &TrialBench<'_>,
    rounds: u32,
    cells: &mut [Cell<'_>],
    progress: &LabProgress,
    all: u64,
) -> Result<()> {
    progress.say("a run before all others, so that none of them has to fill caches");
    let mut expected = Duration::ZERO;
    if let Some(first) = cells.first() {
        match bench.run(first.setting, first.link)? {
            Tried::Succeeded(run) => expected = run.duration,
            Tried::Failed { how, said } => progress.tell(&failure(&first.setting.label(), &how, &said)),
            Tried::Interrupted => return Ok(()),
        }
    }
    progress.add(all, expected * u32::try_from(all).unwrap_or(u32::MAX));
    for round in 0..rounds {
        for index in shuffled(cells.len(), round.into()) {
            let Some(cell) = cells.get_mut(index) else {
                continue;
            };
            if !attempt(bench, cell, progress, expected)? {
                return Ok(());
            }
        }
    }
    Ok(())
}

/// Runs one setting once; false when the user asked for the end.
fn attempt(
    bench: &TrialBench<'_>,
    cell: &mut Cell<'_>,
    progress: &LabProgress,
    expected: Duration,
) -> Result<bool> {
    let label = cell.setting.label();
    progress.begin(&label, expected);
    match bench.run(cell.setting, cell.link)? {
        Tried::Succeeded(run) => {
            let over = cell.link.map_or_else(String::new, |link| format!(" over {link}"));
            progress.done(&format!("{label}{over}: {}", format_duration(run.duration)));
            cell.runs.push(run);
        }
        Tried::Failed { how, said } => {
            if cell.failed == 0 {
                progress.tell(&failure(&label, &how, &said));
            }
            progress.done(&format!("{label}: failed"));
            cell.failed += 1;
        }
        Tried::Interrupted => return Ok(false),
    }
    Ok(true)
}

fn failure(label: &str, how: &str, said: &str) -> String {
    let said = match said {
        "" => String::new(),
        said => format!(": {said}"),
    };
    format!("with {label} the program ended with {how}{said}")
}

/// Whether any run that succeeded made a connection.
fn connected(cells: &[Cell<'_>]) -> bool {
    let mut runs = cells.iter().flat_map(|cell| &cell.runs).peekable();
    runs.peek().is_none() || runs.any(|run| run.connections > 0)
}

fn summed_up(
    asked: &ProgramRequest<'_>,
    bench: &TrialBench<'_>,
    settings: &[ProgramSetting],
    cells: &[Cell<'_>],
) -> ProgramReport {
    let tuned: Vec<_> = cells.iter().map(Cell::tuned).collect();
    let unchanged = compare::unchanged(cells);
    let mut warnings = Vec::new();
    let mut warn = |text: String| warnings.push(Warning { text });
    if !connected(cells) {
        warn(
            "the program made no connection through longwire: let it use {url} or {host} and {port} in its arguments, or LONGWIRE_URL \
             or DATABASE_URL of its environment"
                .to_owned(),
        );
    }
    if !unchanged.is_empty() {
        if let Some((written, known)) = settings.iter().find_map(ProgramSetting::misspelt) {
            warn(format!(
                "KingbaseES's driver knows {known}, in this spelling only, and ignores {written} without a word"
            ));
        } else if settings.iter().any(ProgramSetting::is_of_url) {
            warn(
                "drivers ignore parameters that they do not know, and many tell upper from lower case; and the program has to take its URL \
                 from {url}, LONGWIRE_URL or DATABASE_URL"
                    .to_owned(),
            );
        }
    }
    ProgramReport {
        program: asked
            .command
            .first()
            .map(|program| program.to_string_lossy().into_owned())
            .unwrap_or_default(),
        server: bench.target.server(),
        rounds: asked.runs,
        best: compare::best(&tuned),
        tuned,
        unchanged,
        warnings,
    }
}

fn tell(
    asked: &ProgramRequest<'_>,
    bench: &TrialBench<'_>,
    report: &ProgramReport,
    cells: &[Cell<'_>],
    began: Instant,
) -> Result<()> {
    if !asked.json {
        let text = report::text::program_view(report, &output::style());
        return Ok(output::print(&text)?);
    }
    output::warn(&report.warnings);
    let settings: Vec<String> = asked
        .settings
        .iter()
        .map(|text| format!("--set '{text}'"))
        .collect();
    let command_line = format!(
        "longwire tune {} {} --runs {} -- {} ...",
        bench.target,
        settings.join(" "),
        asked.runs,
        report.program
    );
    let conditions = output::conditions(
        command_line,
        "the monotonic clock; kernel receive timestamps where the socket gives them",
        format!("relay in front of {}", bench.target.server()),
    );
    let mut records = JsonWriter::new(io::stdout().lock());
    records.conditions(&conditions)?;
    records.program(report)?;
    for warning in &report.warnings {
        records.warning(warning)?;
    }
    records.summary(&Summary {
        duration: began.elapsed(),
        ..totals(cells)
    })?;
    Ok(records.flush()?)
}

/// All runs that succeeded together; an operation is a run.
fn totals(cells: &[Cell<'_>]) -> Summary {
    let runs = cells.iter().flat_map(|cell| &cell.runs);
    runs.fold(Summary::default(), |mut sum, run| {
        sum.operations += 1;
        sum.connections += run.connections;
        sum.turns += run.turns;
        for (sum, bytes) in sum.payload_bytes.iter_mut().zip(run.payload_bytes) {
            *sum += bytes;
        }
        sum
    })
}

/// How long the server may take to accept a connection before the run is refused.
const REACH: Duration = Duration::from_secs(10);

/// Beyond, nobody would wait for the end.
const MOST_RUNS: u64 = 10_000;

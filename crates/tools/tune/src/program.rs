//! Tunes a user's program: runs it behind a relay with each setting.

mod compare;
mod setting;
mod trial;

use anyhow::Result;
use compare::Cell;
use link::LinkDescription;
use model::{Summary, Warning, WarningKind, format_duration};
use pipeline::interruption::{Interrupted, is_interruption};
use pipeline::order::shuffled;
use pipeline::progress::ProgressSink;
use relay::command::TlsPlan;
use report::outcome::ProgramReport;
use std::ffi::OsString;
use std::time::Duration;
use sys::StopToken;
use sys::Target;
use trial::Tried;

pub use setting::{ProgramSetting, grid};

#[derive(Debug)]
pub struct ProgramPlan<'a> {
    pub target: Target,
    /// TLS side towards the server.
    pub tls: TlsPlan,
    pub settings: &'a [ProgramSetting],
    pub command: &'a [OsString],
    /// In addition to the existing distance.
    pub at: &'a [LinkDescription],
    /// Per setting and distance.
    pub runs: u32,
    pub stop: &'a StopToken,
}

#[derive(Debug)]
pub struct ProgramOutcome {
    pub report: ProgramReport,
    /// Over all successful runs, each counted as one operation.
    pub totals: Summary,
    /// False if runs succeeded but none connected through longwire.
    pub connected: bool,
    pub interrupted: Option<Interrupted>,
}

impl ProgramPlan<'_> {
    pub const fn all_runs(&self) -> u64 {
        self.settings.len() as u64 * (self.at.len() as u64 + 1) * self.runs as u64
    }

    pub fn run(&self, progress: &dyn ProgressSink) -> Result<ProgramOutcome> {
        let mut cells = cells(self.settings, self.at);
        match self.rounds(&mut cells, progress) {
            Err(error) if !is_interruption(&error) => return Err(error),
            _ => {}
        }
        Ok(ProgramOutcome {
            report: self.summed_up(&cells),
            totals: totals(&cells),
            connected: connected(&cells),
            interrupted: Interrupted::check(self.stop).err(),
        })
    }

    /// Runs each setting once per round, in a different order each round.
    fn rounds(&self, cells: &mut [Cell<'_>], progress: &dyn ProgressSink) -> Result<()> {
        progress.status("a run before all others, so that none of them has to fill caches");
        let mut expected = Duration::ZERO;
        if let Some(first) = cells.first() {
            match self.trial(first.setting, first.link)? {
                Tried::Succeeded(run) => expected = run.duration,
                Tried::Failed { how, said } => {
                    progress.show_note(&failure(&first.setting.label(), &how, &said))
                }
            }
        }
        let all = self.all_runs();
        progress.expect(all, expected * u32::try_from(all).unwrap_or(u32::MAX));
        for round in 0..self.runs {
            for index in shuffled(cells.len(), round.into()) {
                if let Some(cell) = cells.get_mut(index) {
                    self.attempt(cell, progress, expected)?;
                }
            }
        }
        Ok(())
    }

    fn attempt(&self, cell: &mut Cell<'_>, progress: &dyn ProgressSink, expected: Duration) -> Result<()> {
        let label = cell.setting.label();
        progress.begin(&label, expected);
        match self.trial(cell.setting, cell.link)? {
            Tried::Succeeded(run) => {
                let over = cell.link.map_or_else(String::new, |link| format!(" over {link}"));
                progress.done(&format!("{label}{over}: {}", format_duration(run.duration)));
                cell.runs.push(run);
            }
            Tried::Failed { how, said } => {
                if cell.failed == 0 {
                    progress.show_note(&failure(&label, &how, &said));
                }
                progress.done(&format!("{label}: failed"));
                cell.failed += 1;
            }
        }
        Ok(())
    }

    fn summed_up(&self, cells: &[Cell<'_>]) -> ProgramReport {
        let tuned: Vec<_> = cells.iter().map(Cell::tuned).collect();
        let unchanged = compare::unchanged(cells);
        let program = self.command.first();
        ProgramReport {
            program: program.map_or_else(String::new, |program| program.to_string_lossy().into_owned()),
            server: self.target.server(),
            rounds: self.runs,
            best: compare::best(&tuned),
            tuned,
            warnings: warnings(self.settings, connected(cells), !unchanged.is_empty()),
            unchanged,
        }
    }
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

fn failure(label: &str, how: &str, said: &str) -> String {
    let said = match said {
        "" => String::new(),
        said => format!(": {said}"),
    };
    format!("with {label} the program ended with {how}{said}")
}

fn connected(cells: &[Cell<'_>]) -> bool {
    let mut runs = cells.iter().flat_map(|cell| &cell.runs).peekable();
    runs.peek().is_none() || runs.any(|run| run.connections > 0)
}

/// `unchanged` means that some settings had no effect.
fn warnings(settings: &[ProgramSetting], connected: bool, unchanged: bool) -> Vec<Warning> {
    let mut warnings = Vec::new();
    if !connected {
        warnings.push(Warning::new(
            WarningKind::NothingSeen,
            "the program made no connection through longwire: let it use {url} or {host} and {port} in its arguments, or LONGWIRE_URL \
             or DATABASE_URL of its environment",
        ));
    }
    if unchanged {
        if let Some((written, known)) = settings.iter().find_map(ProgramSetting::misspelt) {
            let text = format!(
                "KingbaseES's driver knows {known}, in this spelling only, and ignores {written} silently"
            );
            warnings.push(Warning::new(WarningKind::NoEffect, text));
        } else if settings.iter().any(ProgramSetting::is_of_url) {
            warnings.push(Warning::new(
                WarningKind::NoEffect,
                "drivers ignore parameters that they do not know, and many distinguish upper and lower case. The program has to take its \
                 URL from {url}, LONGWIRE_URL or DATABASE_URL",
            ));
        }
    }
    warnings
}

/// Over all successful runs, each counted as one operation.
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

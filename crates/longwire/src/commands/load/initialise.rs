//! Creates the tables of the built-in scripts.

use super::Args;
use anyhow::{Context, Result, bail};
use load::tables;
use load::tables::{InitStep, Making};
use pipeline::output::{self, Status};
use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};
use sys::StopToken;
use sys::Target;

pub fn run(args: &Args, target: &Target, stop: &StopToken) -> Result<Status> {
    let mut steps = InitStep::parse_steps(args.steps.as_deref().unwrap_or(InitStep::USUAL))?;
    if args.no_vacuum() {
        steps.retain(|step| *step != InitStep::Vacuum);
    }
    let scale = args.scale.unwrap_or(1);
    if !(1..=MAX_SCALE).contains(&scale) {
        bail!("-s {scale} is no size of tables: write 1 to {MAX_SCALE}");
    }
    let began = Instant::now();
    let mut told = Progress::default();
    match tables::initialise(target, &steps, scale, stop, &mut |making| {
        told.show_progress(making)
    }) {
        Ok(()) => {
            told.end();
            output::print_note(&format!(
                "tables of scale {scale} are ready after {:.1} s",
                began.elapsed().as_secs_f64()
            ));
            Ok(Status::Done)
        }
        Err(load::Error::Stopped) => {
            told.end();
            output::print_note("stopped; tables that were begun are not complete");
            Ok(Status::Interrupted)
        }
        Err(error) => {
            told.end();
            Err(error).with_context(|| format!("could not make the tables at {}", target.server()))
        }
    }
}

/// One line per step; on a terminal, also the progress of a long one.
#[derive(Default)]
struct Progress {
    step: Option<InitStep>,
    told: Option<Instant>,
}

impl Progress {
    fn show_progress(&mut self, making: Making) {
        if output::is_quiet() {
            return;
        }
        let mut stderr = io::stderr().lock();
        // A failed write is harmless.
        if self.step != Some(making.step) {
            self.step = Some(making.step);
            let _ = writeln!(stderr, "{}...", making.step.title());
        } else if io::stderr().is_terminal() && self.told.is_none_or(|told| told.elapsed() > A_LINE) {
            self.told = Some(Instant::now());
            let percent = 100 * u64::from(making.done) / u64::from(making.of.max(1));
            let _ = write!(stderr, "\r{percent:>3} %  ");
        }
    }

    fn end(&self) {
        if self.told.is_some() {
            let _ = writeln!(io::stderr().lock());
        }
    }
}

const A_LINE: Duration = Duration::from_millis(200);
/// pgbench's account numbers have the same limit.
const MAX_SCALE: u32 = 21_474;

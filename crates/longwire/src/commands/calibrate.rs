//! `longwire calibrate`: how much longer client and server compute after longer rests.

use crate::commands::all_flag::AllArgument;
use crate::commands::cleartext_flag::CleartextArgument;
use crate::commands::record_args::RecordArgs;
use anyhow::{Context, Result};
use clap::Args as ClapArgs;
use live::relaying;
use model::{Calibration, format_duration, parse_duration};
use pipeline::calibration::FILE;
use pipeline::output::{self, Status};
use pipeline::private_file;
use pipeline::progress::StderrProgress;
use proof::calibrate::{CalibrationPlan, MeasuredRests};
use std::ffi::OsString;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;
use sys::Target;
use sys::arguments::CommandLine;

/// Measure how much longer client and server compute after longer rests, for predictions.
///
/// Over a longer link both rest longer, and need longer for the same work. Runs the command as `watch`
/// does, and holds replies back by 0, 1, 5 and 20 ms in turn. Each statement is compared with itself.
/// predict, read, check, plan and lab use the file next to their input.
#[derive(Debug, ClapArgs)]
#[command(after_help = r"Examples:
  longwire calibrate postgres://app@db1/shop -- ./report.py
  longwire calibrate mysql://app@db1/shop
  longwire calibrate --json")]
pub struct Args {
    /// The database: a URL, a jdbc: URL or a libpq key=value string. Without one, an echo on this
    /// machine.
    #[arg(value_name = "TARGET")]
    pub target: Option<String>,
    /// How long it measures.
    #[arg(short = 'T', long, default_value = "40s", value_parser = measurable, value_name = "TIME")]
    pub time: Duration,
    /// The file.
    #[arg(short = 'o', long = "output", default_value = FILE, value_name = "FILE")]
    pub output: PathBuf,
    #[command(flatten)]
    pub cleartext: CleartextArgument,
    #[command(flatten)]
    pub all: AllArgument,
    #[command(flatten)]
    pub records: RecordArgs,
    /// The command to run, behind `--`. Without one, statements that read no table.
    #[arg(last = true, requires = "target", value_name = "COMMAND")]
    pub command: Vec<OsString>,
}

fn measurable(text: &str) -> Result<Duration, String> {
    let time = parse_duration(text).map_err(|error| error.to_string())?;
    if time < MIN_TIME {
        return Err(format!(
            "use at least {}: rounds would be too short",
            format_duration(MIN_TIME)
        ));
    }
    Ok(time)
}

/// # Errors
/// When the server cannot be reached, the command fails, or the file cannot be written.
pub fn run(args: &Args, typed: &CommandLine) -> Result<Status> {
    args.cleartext.allow_for(args.target.as_deref())?;
    ensure_writable(&args.output)?;
    let target = args.target.as_deref().map(Target::parse).transpose()?;
    if let Some(target) = &target {
        relaying::tls_to_be_seen(target, true, relaying::REACH)?;
        relay::probe(target, relaying::REACH)?;
    }
    let work = work(args, target.as_ref());
    let stop = output::stop_on_signals()?;
    let plan = CalibrationPlan {
        target,
        command: &args.command,
        duration: args.time,
    };
    let measured = proof::calibrate::calibrate(&plan, &StderrProgress, &stop)?;
    let is_seen = measured.totals.exchanges > 0;
    let calibration = print_outcome(args, typed, work, measured)?;
    let is_usable = calibration.rests.iter().any(|rest| rest.factor.is_some());
    if is_usable {
        let text = report::calibration::to_text(&calibration)?;
        private_file::create(&args.output)
            .and_then(|mut file| file.write_all(text.as_bytes()))
            .with_context(|| could_not_write(&args.output))?;
        output::print_note(&format!("written to {}", args.output.display()));
    } else {
        output::warning(match is_seen {
            true => "nothing usable was measured, so no file is written",
            false => NOTHING_SEEN,
        });
    }
    Ok(match (stop.is_stopped(), is_usable) {
        (true, _) => Status::Interrupted,
        (false, true) => Status::Done,
        (false, false) => Status::Negative,
    })
}

/// Before the measurement, which would be lost. Leaves no new file.
fn ensure_writable(path: &Path) -> Result<()> {
    let is_new = !path.exists();
    private_file::open(path)
        .and_then(|_| if is_new { fs::remove_file(path) } else { Ok(()) })
        .with_context(|| could_not_write(path))
}

fn could_not_write(path: &Path) -> String {
    format!("could not write {}", path.display())
}

fn work(args: &Args, target: Option<&Target>) -> String {
    match (args.command.first(), target) {
        (Some(program), _) => program.to_string_lossy().into_owned(),
        (None, Some(target)) => format!("statements to {}", target.server()),
        (None, None) => "an echo".to_owned(),
    }
}

fn print_outcome(
    args: &Args,
    typed: &CommandLine,
    work: String,
    measured: MeasuredRests,
) -> Result<Calibration> {
    let conditions = output::conditions(
        typed,
        "kernel receive timestamps, and the monotonic clock at sending",
        format!("relay between both sides of {work}"),
    );
    let calibration = Calibration {
        calibration: Calibration::VERSION,
        host: conditions.host.clone(),
        kernel: conditions.kernel.clone(),
        work,
        rests: measured.rests,
    };
    match args.records.format() {
        None => output::print(&report::text::calibration_view(&calibration, &args.all.style()))?,
        Some(format) => output::print_records(format, &conditions, &[], &measured.totals, |records| {
            calibration
                .rests
                .iter()
                .try_for_each(|rest| records.calibrated(rest))
        })?,
    }
    Ok(calibration)
}

const MIN_TIME: Duration = Duration::from_secs(5);
const NOTHING_SEEN: &str = "no request passed longwire, and no file is written. Let the command take {url}, or {host} and {port}, \
                            as arguments, or LONGWIRE_URL of its environment";

//! Output to the terminal, and the exit status.

use anyhow::{Context, Result};
use model::{Conditions, LinkOutcome, Summary, Warning};
use report::{Colour, Extent, RecordFormat, RecordPrinter, Style};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
use std::io::{self, IsTerminal, StdoutLock, Write};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock};
use sys::StopToken;
use sys::arguments::CommandLine;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    Done,
    /// The command ran, but the answer is negative: no reply, a broken budget, failed requests.
    Negative,
    /// The command ran, but saw too little for an answer.
    NotJudged,
    Interrupted,
    /// The command succeeded, but not all output could be written.
    OutputLost,
    /// The command that longwire ran exited with this status.
    Child(u8),
}

impl From<Status> for ExitCode {
    fn from(status: Status) -> Self {
        match status {
            Status::Done => Self::SUCCESS,
            Status::Negative => Self::from(1),
            Status::NotJudged | Status::OutputLost => Self::from(2),
            Status::Interrupted => Self::from(interrupted_status(ENDING_SIGNAL.load(Ordering::Relaxed))),
            Status::Child(code) => Self::from(code),
        }
    }
}

/// As in shells, 130 for Ctrl-C, 143 for SIGTERM. A key that ends a run (Ctrl-C on a screen) is not
/// a signal.
fn interrupted_status(signal: usize) -> u8 {
    let signal = match signal {
        NO_SIGNAL => SIGINT,
        signal => i32::try_from(signal).unwrap_or(SIGINT),
    };
    u8::try_from(128 + signal).unwrap_or(u8::MAX)
}

static ENDING_SIGNAL: LazyLock<Arc<AtomicUsize>> = LazyLock::new(Arc::default);

/// The style of stdout: its width if it is a terminal, and colour unless `NO_COLOR` is set.
pub fn style() -> Style {
    let mut style = Style::default();
    if io::stdout().is_terminal() {
        if let Some((terminal_size::Width(width), _)) = terminal_size::terminal_size() {
            style.width = usize::from(width);
        }
        let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        if !no_color && std::env::var_os("TERM").is_none_or(|term| term != "dumb") {
            style.colour = Colour::Ansi;
        }
    }
    style
}

/// Like [`style`], with all rows and columns if `all` is set.
pub fn style_of(all: bool) -> Style {
    Style {
        extent: if all { Extent::All } else { Extent::First },
        ..style()
    }
}

/// Writes a finished view to stdout. Escapes everything that a terminal or a CI interprets as
/// commands.
///
/// # Errors
/// If stdout cannot be written.
pub fn print(text: &str) -> io::Result<()> {
    let text = report::text::escape::inert(text);
    write(if text.is_empty() { "\n" } else { &text })
}

/// Writes lines to stdout unchanged, because they are commands for a CI.
///
/// # Errors
/// If stdout cannot be written.
pub fn print_commands(text: &str) -> io::Result<()> {
    if text.is_empty() { Ok(()) } else { write(text) }
}

fn write(text: &str) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(text.as_bytes())?;
    if !text.ends_with('\n') {
        stdout.write_all(b"\n")?;
    }
    stdout.flush()
}

/// Stops on Ctrl-C or a signal with the same meaning.
///
/// # Errors
/// If the system refuses the handlers.
pub fn stop_on_signals() -> Result<StopToken> {
    for signal in ENDING_SIGNALS {
        note_signal(signal, &ENDING_SIGNAL)?;
    }
    StopToken::on_signals(&ENDING_SIGNALS).context(NO_HANDLER)
}

fn note_signal(signal: i32, noted: &Arc<AtomicUsize>) -> Result<()> {
    let number = usize::try_from(signal).unwrap_or(NO_SIGNAL);
    signal_hook::flag::register_usize(signal, noted.clone(), number).context(NO_HANDLER)?;
    Ok(())
}

const ENDING_SIGNALS: [i32; 3] = [SIGINT, SIGTERM, SIGHUP];
const NO_HANDLER: &str = "could not watch for Ctrl-C";

/// Like [`stop_on_signals`], for a command that forwards the signals.
#[derive(Debug, Clone)]
pub struct EndRequest {
    signal: Arc<AtomicUsize>,
    bell: StopToken,
}

impl EndRequest {
    pub fn on_signals() -> Result<Self> {
        let signal = Arc::new(AtomicUsize::new(NO_SIGNAL));
        for number in ENDING_SIGNALS {
            note_signal(number, &signal)?;
        }
        Ok(Self {
            signal,
            bell: stop_on_signals()?,
        })
    }

    /// Other signals wake who waits for [`EndRequest::bell`], without a request.
    ///
    /// # Errors
    /// If the system refuses the handlers.
    pub fn wake_on(&self, signals: &[i32]) -> Result<()> {
        self.bell.stop_on_signals(signals).context(NO_HANDLER)
    }

    /// Waits for a signal.
    pub fn wait(&self) {
        self.bell.wait();
    }

    /// Stopped when a signal comes, until it is taken.
    pub const fn bell(&self) -> &StopToken {
        &self.bell
    }

    /// The last signal since the previous call.
    pub fn take_signal(&self) -> Option<i32> {
        self.bell.reset();
        match self.signal.swap(NO_SIGNAL, Ordering::Relaxed) {
            NO_SIGNAL => None,
            signal => i32::try_from(signal).ok(),
        }
    }
}

const NO_SIGNAL: usize = 0;

/// Turns a file at the size limit (`ulimit -f`) into a write error instead of killing this process.
///
/// # Errors
/// If the system refuses the handler.
pub fn survive_file_limit() -> Result<()> {
    // A handler rather than SIG_IGN: programs started from here then get the default action.
    let failed = "could not watch for SIGXFSZ";
    signal_hook::flag::register(SIGXFSZ, Arc::default()).context(failed)?;
    Ok(())
}

/// Set by `--quiet` for the entire process.
static QUIET: AtomicBool = AtomicBool::new(false);

/// Warnings and errors are still written.
pub fn be_quiet() {
    QUIET.store(true, Ordering::Relaxed);
}

pub fn is_quiet() -> bool {
    QUIET.load(Ordering::Relaxed)
}

pub fn print_note(text: &str) {
    if !is_quiet() {
        error(text);
    }
}

pub fn warning(text: &str) {
    error(&format!("warning: {text}"));
}

pub fn error(text: &str) {
    let text = report::text::escape::message(text);
    let _ = write!(
        io::stderr().lock(),
        "{}",
        for_stderr(&format!("longwire: {text}"))
    );
}

/// Wrapped to the terminal, if stderr is one.
fn for_stderr(message: &str) -> String {
    let stderr = io::stderr();
    let size = stderr
        .is_terminal()
        .then(|| terminal_size::terminal_size_of(&stderr));
    match size.flatten() {
        Some((terminal_size::Width(width), _)) => report::text::wrapped_message(message, width.into()),
        None => format!("{message}\n"),
    }
}

/// Writes warnings to stderr, one a line, for commands with records on stdout.
pub fn warn(warnings: &[Warning]) {
    let mut stderr = io::stderr().lock();
    for warning in warnings {
        let text = report::text::escape::printable(&warning.text);
        let _ = write!(stderr, "{}", for_stderr(&format!("longwire: warning: {text}")));
    }
}

pub fn print_link(link: &LinkOutcome) -> io::Result<()> {
    if is_quiet() {
        return Ok(());
    }
    io::stderr()
        .lock()
        .write_all(for_stderr(report::text::link_line(link).trim_end()).as_bytes())
}

/// Writes records of a run that has ended to stdout: its conditions, those of `write`, warnings and
/// the summary.
pub fn print_records(
    format: RecordFormat,
    conditions: &Conditions,
    warnings: &[Warning],
    summary: &Summary,
    write: impl FnOnce(&mut RecordPrinter<StdoutLock<'static>>) -> io::Result<()>,
) -> io::Result<()> {
    let mut records = RecordPrinter::new(format, io::stdout().lock());
    records.conditions(conditions)?;
    write(&mut records)?;
    warnings.iter().try_for_each(|warning| records.warning(warning))?;
    records.summary(summary)?;
    records.flush()
}

/// The conditions of this run.
pub fn conditions(typed: &CommandLine, clock: &str, observation_point: String) -> Conditions {
    Conditions {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        command_line: typed.to_string(),
        host: host_name(),
        kernel: read_line("/proc/sys/kernel/ostype")
            .zip(read_line("/proc/sys/kernel/osrelease"))
            .map(|(name, release)| format!("{name} {release}")),
        clock: clock.to_owned(),
        observation_point,
        link: None,
        seed: None,
        calibration: None,
        spared: None,
        generated: false,
    }
}

pub fn host_name() -> Option<String> {
    read_line("/proc/sys/kernel/hostname")
}

fn read_line(path: &str) -> Option<String> {
    std::fs::read_to_string(path)
        .ok()
        .map(|text| text.trim().to_owned())
}

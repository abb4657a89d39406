//! Progress reports of an engine: its command decides where they are shown.

use crate::output;
use crate::output_health::OutputHealth;
use std::io::{self, IsTerminal, Write};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Receives an engine's progress. Engines never write to the terminal themselves.
pub trait ProgressSink {
    fn show_note(&self, text: &str);

    /// Shows the current activity. The next text replaces it, an empty one clears it.
    fn status(&self, text: &str);

    /// Announces `runs` more runs and their total expected time.
    fn expect(&self, _runs: u64, _time: Duration) {}

    fn begin(&self, text: &str, _expected: Duration) {
        self.status(text);
    }

    fn done(&self, _text: &str) {}
}

/// Writes to stderr, sentences always, the current activity only on a terminal, on one line that
/// changes.
#[derive(Debug, Clone, Copy)]
pub struct StderrProgress;

impl ProgressSink for StderrProgress {
    fn show_note(&self, text: &str) {
        output::print_note(text);
    }

    fn status(&self, text: &str) {
        let mut stderr = io::stderr().lock();
        if stderr.is_terminal() && !output::is_quiet() {
            let width =
                terminal_size::terminal_size_of(&stderr).map_or(80, |(width, _)| usize::from(width.0));
            let text = report::text::escape::printable(text);
            let text = report::text::escape::cut(&text, width.saturating_sub(1));
            let _ = write!(stderr, "\r\x1b[K{text}");
            let _ = stderr.flush();
        }
    }
}

/// As [`StderrProgress`], and a line now and then where no line can be redrawn.
#[derive(Debug)]
pub struct LogProgress {
    interval: Duration,
    last: Mutex<Instant>,
}

impl LogProgress {
    pub fn every(interval: Duration) -> Self {
        Self {
            interval,
            last: Mutex::new(Instant::now()),
        }
    }

    /// Omitted if it is too soon after the last.
    pub fn line(&self, text: &str) {
        if self.is_due(Instant::now()) {
            output::print_note(text);
        }
    }

    fn is_due(&self, now: Instant) -> bool {
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let is_due = now.duration_since(*last) >= self.interval;
        if is_due {
            *last = now;
        }
        is_due
    }
}

impl ProgressSink for LogProgress {
    fn show_note(&self, text: &str) {
        output::print_note(text);
    }

    fn status(&self, text: &str) {
        if io::stderr().is_terminal() {
            StderrProgress.status(text);
        } else if !text.is_empty() {
            self.line(text);
        }
    }
}

/// Between lines of progress in a log.
pub const LINE_INTERVAL: Duration = Duration::from_secs(5);

/// Progress of a run without a planned end.
#[derive(Debug)]
pub struct ShownProgress {
    place: ProgressPlace,
    last: Instant,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ProgressPlace {
    Nowhere,
    StatusLine,
    Lines,
}

impl ShownProgress {
    /// Shows no progress next to a command at a terminal, because its output and input must not be
    /// mixed with other lines, or if [the user wants none](output::be_quiet).
    pub fn new(has_command: bool) -> Self {
        Self {
            place: ProgressPlace::new(io::stderr().is_terminal(), has_command, output::is_quiet()),
            last: Instant::now(),
        }
    }

    /// The time until [`ShownProgress::due`] returns it.
    pub fn due_in(&self) -> Duration {
        let interval = self.place.interval().unwrap_or(Duration::MAX);
        interval.saturating_sub(self.last.elapsed())
    }

    pub fn due(&mut self) -> Option<Duration> {
        let since = self.last.elapsed();
        let is_due = self.place.interval().is_some_and(|interval| since >= interval);
        is_due.then(|| {
            self.last = Instant::now();
            since
        })
    }

    /// Shows `text`. A log omits it if `is_idle`.
    pub fn show(&self, output_health: &OutputHealth, text: &str, is_idle: bool) {
        match self.place {
            ProgressPlace::StatusLine => output_health.show_status(text),
            ProgressPlace::Lines if !is_idle => output_health.print_line(text),
            ProgressPlace::Lines | ProgressPlace::Nowhere => {}
        }
    }
}

impl ProgressPlace {
    fn new(is_terminal: bool, has_command: bool, is_quiet: bool) -> Self {
        match (is_terminal, has_command) {
            _ if is_quiet => Self::Nowhere,
            (true, true) => Self::Nowhere,
            (true, false) => Self::StatusLine,
            (false, _) => Self::Lines,
        }
    }

    fn interval(self) -> Option<Duration> {
        match self {
            Self::Nowhere => None,
            Self::StatusLine => Some(Duration::from_secs(1)),
            Self::Lines => Some(Duration::from_secs(10)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_progress_waits_for_its_time() {
        let progress = LogProgress::every(LINE_INTERVAL);
        let begin = Instant::now();
        let due = [1, 6, 9, 12].map(|seconds| progress.is_due(begin + Duration::from_secs(seconds)));
        assert_eq!(due, [false, true, false, true]);
    }

    #[test]
    fn a_log_gets_a_line_every_ten_seconds_and_a_terminal_with_a_command_none() {
        let interval = |is_terminal, has_command, is_quiet| {
            ProgressPlace::new(is_terminal, has_command, is_quiet).interval()
        };
        let seconds = |number| Some(Duration::from_secs(number));
        assert_eq!(interval(true, true, false), None);
        assert_eq!(interval(true, false, false), seconds(1));
        assert_eq!(interval(false, true, false), seconds(10));
        assert_eq!(interval(false, false, false), seconds(10));
        assert_eq!(interval(false, false, true), None);
    }
}

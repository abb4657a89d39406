//! The progress of a run, as its engine reports it: the command that starts the engine decides where it is shown.

use crate::output;
use std::io::{self, IsTerminal, Write};
use std::time::Duration;

/// Where an engine reports the progress of its run. An engine never writes to the terminal itself.
pub trait ProgressSink {
    /// A sentence that stays on the screen.
    fn note(&self, text: &str);

    /// What is being done now; the next text replaces it, an empty one clears it.
    fn status(&self, text: &str);

    /// `runs` more will be made, and together they are expected to take this long.
    fn expect(&self, _runs: u64, _time: Duration) {}

    /// A run begins that is expected to take this long.
    fn begin(&self, text: &str, _expected: Duration) {
        self.status(text);
    }

    /// It is done: `text` is the result.
    fn done(&self, _text: &str) {}
}

/// On stderr: sentences always, what is being done only on a terminal, on one line that changes.
#[derive(Debug, Clone, Copy)]
pub struct StderrProgress;

impl ProgressSink for StderrProgress {
    fn note(&self, text: &str) {
        output::note(text);
    }

    fn status(&self, text: &str) {
        let mut stderr = io::stderr().lock();
        if stderr.is_terminal() {
            let text = report::text::escape::printable(text);
            // A lost line about progress does not matter.
            let _ = write!(stderr, "\r\x1b[K{text}");
            let _ = stderr.flush();
        }
    }
}

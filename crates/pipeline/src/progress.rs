//! How a run goes, as its engine says it: the command that starts the engine decides where that is shown.

use crate::output;
use std::io::{self, IsTerminal, Write};
use std::time::Duration;

/// Where an engine says how its run goes. An engine never writes to the terminal itself.
pub trait ProgressSink {
    /// A sentence to be read, which stays.
    fn note(&self, text: &str);

    /// What is being done now; the next text takes its place, an empty one clears it.
    fn status(&self, text: &str);

    /// `runs` more are to be made, and are expected to take so long together.
    fn expect(&self, _runs: u64, _time: Duration) {}

    /// A run begins that is expected to take so long.
    fn begin(&self, text: &str, _expected: Duration) {
        self.status(text);
    }

    /// It is done: `text` says what came out.
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
            // Nobody misses a line about progress.
            let _ = write!(stderr, "\r\x1b[K{text}");
            let _ = stderr.flush();
        }
    }
}

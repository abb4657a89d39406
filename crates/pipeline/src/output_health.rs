//! Whether the outputs of a run were written, where the run continues without them because an application
//! depends on it.

use crate::output::Status;
use std::cell::{Cell, RefCell};
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::rc::Rc;

/// The outcome of the outputs of a run; clones are of the same run.
#[derive(Debug, Clone, Default)]
pub struct OutputHealth {
    lost: Rc<Cell<bool>>,
    /// Whether the terminal's last line is a status that the next line replaces.
    has_status: Rc<Cell<bool>>,
    /// What was said while a screen is shown, which lines on stderr would break; `None` if none is.
    held: Option<Rc<RefCell<Vec<String>>>>,
}

impl OutputHealth {
    /// One that keeps what is said for [`OutputHealth::said`]: the terminal shows a screen.
    pub fn behind_a_screen() -> Self {
        Self {
            held: Some(Rc::default()),
            ..Self::default()
        }
    }

    /// What was said since the last call.
    pub fn said(&self) -> Vec<String> {
        let held = self.held.as_ref();
        held.map(|held| std::mem::take(&mut *held.borrow_mut()))
            .unwrap_or_default()
    }

    /// `what` is given up because of `error`: reports it on stderr, where that is still possible.
    pub fn gave_up(&self, what: &str, error: impl std::fmt::Display) {
        self.lost.set(true);
        self.print_line(&format!("warning: {what} given up: {error}"));
    }

    /// An output could not be written, as `error` says: reports it on stderr.
    pub fn lost_output(&self, error: &str) {
        self.lost.set(true);
        self.print_line(error);
    }

    /// Says on stderr what to do next.
    pub fn hint(&self, text: &str) {
        self.line("hint", text);
    }

    /// Writes a line to stderr, unless that would have to wait. A closed stderr counts as a lost output.
    pub fn print_line(&self, text: &str) {
        self.line("longwire", text);
    }

    /// What is being done now, on a line of a terminal that the next text replaces; an empty one clears it.
    pub fn show_status(&self, text: &str) {
        let mut stderr = io::stderr().lock();
        if !sys::terminal::takes_a_line(stderr.as_fd()) {
            return;
        }
        self.clear(&mut stderr);
        let text = report::text::escape::printable(text);
        let width =
            terminal_size::terminal_size_of(&stderr).map_or(usize::MAX, |(width, _)| usize::from(width.0));
        // A line that wraps could not be cleared.
        let text: String = text.chars().take(width.saturating_sub(1)).collect();
        // A lost line about progress does not matter.
        let _ = write!(stderr, "{text}");
        let _ = stderr.flush();
        self.has_status.set(!text.is_empty());
    }

    fn clear(&self, stderr: &mut impl Write) {
        if self.has_status.take() {
            let _ = write!(stderr, "\r\x1b[K");
        }
    }

    fn line(&self, by: &str, text: &str) {
        if let Some(held) = &self.held {
            let mut held = held.borrow_mut();
            if held.len() < MAX_BUFFERED_LINES {
                held.push(text.to_owned());
            }
            return;
        }
        let mut stderr = io::stderr().lock();
        if !sys::terminal::takes_a_line(stderr.as_fd()) {
            return;
        }
        self.clear(&mut stderr);
        let text = report::text::escape::printable(text);
        if writeln!(stderr, "{by}: {text}").is_err() {
            self.lost.set(true);
        }
    }

    /// Notes the outcome of `what`.
    pub fn record_written<E: std::fmt::Display>(&self, what: &str, written: Result<(), E>) {
        if let Err(error) = written {
            self.gave_up(what, error);
        }
    }

    /// Whether an output was lost.
    pub fn is_lost(&self) -> bool {
        self.lost.get()
    }

    /// The status of a run that ended with `status`: a failure of the command stays one, all else does not
    /// hide a loss.
    pub fn status(&self, status: Status) -> Status {
        match status {
            Status::Done | Status::Interrupted | Status::Child(0) if self.lost.get() => Status::OutputLost,
            status => status,
        }
    }
}

/// Lines that wait for a screen.
const MAX_BUFFERED_LINES: usize = 100;

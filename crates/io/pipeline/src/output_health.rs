//! Tracks lost outputs of a run that continues without them, because an application depends on it.

use crate::output::Status;
use std::cell::{Cell, RefCell};
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::rc::Rc;

#[derive(Debug, Clone, Default)]
pub struct OutputHealth {
    lost: Rc<Cell<bool>>,
    has_status: Rc<Cell<bool>>,
    /// Lines held back while a screen is shown, which stderr would break. `None` without a screen.
    held: Option<Rc<RefCell<Vec<String>>>>,
}

impl OutputHealth {
    /// Holds lines for [`OutputHealth::said`], because the terminal shows a screen.
    pub fn behind_a_screen() -> Self {
        Self {
            held: Some(Rc::default()),
            ..Self::default()
        }
    }

    pub fn said(&self) -> Vec<String> {
        let held = self.held.as_ref();
        held.map(|held| std::mem::take(&mut *held.borrow_mut()))
            .unwrap_or_default()
    }

    pub fn gave_up(&self, what: &str, error: impl std::fmt::Display) {
        self.lost.set(true);
        self.print_line(&format!("warning: {what} given up: {error}"));
    }

    pub fn lost_output(&self, error: &str) {
        self.lost.set(true);
        self.print_line(error);
    }

    pub fn hint(&self, text: &str) {
        self.line("hint", text);
    }

    /// As [`OutputHealth::print_line`], but not if [the user wants none](crate::output::be_quiet).
    pub fn print_unless_quiet(&self, text: &str) {
        if !crate::output::is_quiet() {
            self.print_line(text);
        }
    }

    /// Writes a line to stderr, unless that would block. A closed stderr counts as a lost output.
    pub fn print_line(&self, text: &str) {
        self.line("longwire", text);
    }

    /// Shows the current activity on a line that the next text replaces. An empty text clears it.
    pub fn show_status(&self, text: &str) {
        let mut stderr = io::stderr().lock();
        if !sys::terminal::takes_a_line(stderr.as_fd()) {
            return;
        }
        self.clear(&mut stderr);
        let text = report::text::escape::printable(text);
        let width =
            terminal_size::terminal_size_of(&stderr).map_or(usize::MAX, |(width, _)| usize::from(width.0));
        let text: String = text.chars().take(width.saturating_sub(1)).collect();
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

    pub fn record_written<E: std::fmt::Display>(&self, what: &str, written: Result<(), E>) {
        if let Err(error) = written {
            self.gave_up(what, error);
        }
    }

    pub fn is_lost(&self) -> bool {
        self.lost.get()
    }

    /// The status of a run that ended with `status`. Failures of the command keep their status;
    /// otherwise a loss is reported.
    pub fn status(&self, status: Status) -> Status {
        match status {
            Status::Done | Status::Interrupted | Status::Child(0) if self.lost.get() => Status::OutputLost,
            status => status,
        }
    }
}

const MAX_BUFFERED_LINES: usize = 100;

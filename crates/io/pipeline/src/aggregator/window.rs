//! Splits a run into separate windows, for a run of months with sums that would only grow.

use super::Aggregator;
use crate::sinks::Window;

impl Aggregator {
    /// Ends a window, completes the files of its tables, and returns results since the last call,
    /// or since the beginning. The run continues with zero totals.
    pub fn end_window(&mut self) -> Window {
        let mut window = Window::default();
        self.sinks.each(|sink| sink.end_window(&mut window));
        window
    }
}

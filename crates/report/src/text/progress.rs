//! The line that tells once a second how a run is going.

use super::counted;
use model::{Share, format_duration};
use std::time::Duration;

/// What happened since the last progress line.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct ProgressLine {
    /// Since the run began.
    pub elapsed: Duration,
    /// How long this line is about; never zero for a line with rates.
    pub interval: Duration,
    /// Connections open now.
    pub open_connections: u64,
    /// Exchanges completed in the interval.
    pub exchanges: u64,
    /// Turns in the interval.
    pub turns: u64,
    /// Share of the waiting time in the interval that was network; absent when nobody waited.
    pub network: Option<Share>,
}

/// One line without a line feed: elapsed time, connections, exchanges and turns a second, network share.
pub fn progress_line(progress: &ProgressLine) -> String {
    let rate = |count: u64| match progress.interval.is_zero() {
        true => super::DASH.to_owned(),
        false => format!("{:.0}", count as f64 / progress.interval.as_secs_f64()),
    };
    let network = progress
        .network
        .map_or_else(|| super::DASH.to_owned(), |share| share.to_string());
    format!(
        "{:>7}  {} open  {} exchanges/s  {} turns/s  network {network}",
        format_duration(progress.elapsed),
        counted(progress.open_connections, "connection"),
        rate(progress.exchanges),
        rate(progress.turns),
    )
}

//! The line of progress, printed once a second.

use super::counted;
use crate::outcome::ProgressLine;
use model::format_duration;

/// Without a line feed: elapsed time, connections, exchanges and round trips per second, network
/// share.
pub fn progress_line(progress: &ProgressLine) -> String {
    let rate = |count: u64| match progress.interval.is_zero() {
        true => super::DASH.to_owned(),
        false => format!("{:.0}", count as f64 / progress.interval.as_secs_f64()),
    };
    let network = progress
        .network
        .map_or_else(|| super::DASH.to_owned(), |share| share.to_string());
    format!(
        "{:>7}  {} open  {} exchanges/s  {} round trips/s  network {network}",
        format_duration(progress.elapsed),
        counted(progress.open_connections, "connection"),
        rate(progress.exchanges),
        rate(progress.turns),
    )
}

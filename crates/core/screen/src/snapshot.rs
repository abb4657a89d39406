//! The input of the screen: a run at one moment.

use analysis::current::{CurrentTotals, OpenConnection};
use analysis::paces::Paces;
use link::LinkDescription;
use model::{HeldPrediction, Prediction};
use report::ReadOutcome;
use std::time::Duration;

#[derive(Debug, Clone, Default)]
pub struct Snapshot {
    pub place: String,
    /// Further information, such as the output file, or empty.
    pub note: String,
    /// Time since the start.
    pub observed: Duration,
    /// The moment within a recording or capture; `None` for a live run.
    pub position: Option<Position>,
    /// Sums since the baseline, or else since the beginning, with at most [`Snapshot::most_rows`]
    /// of each kind. Predictions are in `forecast`.
    pub outcome: ReadOutcome,
    /// Maximum rows of each kind.
    pub most_rows: usize,
    /// Open connections, and totals since the beginning.
    pub current: CurrentTotals,
    pub ring: Option<RingCounts>,
    /// The open connections with most round trips.
    pub open: Vec<OpenConnection>,
    /// Age of the baseline, `None` without one.
    pub since_baseline: Option<Duration>,
    /// Prediction for another link, `None` while unknown.
    pub forecast: Option<LinkForecast>,
}

/// Packets of an interface since the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RingCounts {
    /// Packets that passed the filter.
    pub passed: u64,
    /// Of `passed`, dropped by the kernel for lack of buffer space; missing from all figures.
    pub dropped: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Position {
    /// From the beginning to this moment.
    pub at: Duration,
    pub of: Duration,
}

#[derive(Debug, Clone, Default)]
pub struct LinkForecast {
    /// `None` if there is no prediction.
    pub link: Option<LinkDescription>,
    pub operations: Vec<Prediction>,
    /// Single statements by fingerprint; empty if not requested.
    pub statements: Vec<Prediction>,
    pub held: Vec<HeldPrediction>,
    /// Call rates on the link.
    pub paces: Paces,
    /// Number of recent operations used.
    pub replayed: usize,
}

//! What the screen is told of the run, at one moment.

use analysis::current::{CurrentTotals, OpenConnection};
use analysis::paces::Paces;
use link::LinkDescription;
use model::{HeldPrediction, Prediction};
use report::ReadOutcome;
use std::time::Duration;

/// A run at one moment.
#[derive(Debug, Clone, Default)]
pub struct Snapshot {
    /// Where the traffic is seen.
    pub place: String,
    /// What is to be known of the run besides: where its command writes. May be empty.
    pub note: String,
    /// How long it has been.
    pub observed: Duration,
    /// Of a recording or capture: which moment of it this is; `None` while a run goes on.
    pub position: Option<Position>,
    /// What was summed up: since the baseline where there is one, else since the beginning. With at most
    /// [`Snapshot::most_rows`] of each kind; predictions are in `forecast`.
    pub outcome: ReadOutcome,
    /// Rows of each kind there can be.
    pub most_rows: usize,
    /// What is open, and what passed since the beginning.
    pub current: CurrentTotals,
    /// What the kernel counted where packets of an interface are observed.
    pub ring: Option<RingCounts>,
    /// The open connections with most round trips.
    pub open: Vec<OpenConnection>,
    /// How long ago the baseline was set; `None` without one.
    pub since_baseline: Option<Duration>,
    /// What operations would take on another link; `None` while that is not known.
    pub forecast: Option<LinkForecast>,
}

/// Packets of an interface, since the observation began.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct RingCounts {
    /// That passed the filter.
    pub passed: u64,
    /// Those of them that the kernel dropped, as there was no room for them: what was in them is in no
    /// figure.
    pub dropped: u64,
}

/// A moment of a recording or capture.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Position {
    /// From its beginning to this moment.
    pub at: Duration,
    /// From its beginning to its end.
    pub of: Duration,
}

/// Predictions for one link.
#[derive(Debug, Clone, Default)]
pub struct LinkForecast {
    /// The link; absent in one that predicts nothing.
    pub link: Option<LinkDescription>,
    /// Of operations, by name.
    pub operations: Vec<Prediction>,
    /// Of statements by themselves, by fingerprint; empty where they are not wanted.
    pub statements: Vec<Prediction>,
    /// Of transactions held open.
    pub held: Vec<HeldPrediction>,
    /// How often operations and statements are called there.
    pub paces: Paces,
    /// The last operations, which it was made from.
    pub replayed: usize,
}

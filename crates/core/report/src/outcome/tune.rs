//! Outcome of `tune` with the best method and setting for each job at each distance.

use model::{LinkOutcome, Method, Recommendation, Tuned, Warning};

#[derive(Debug, Clone, PartialEq, Default)]
pub struct TuneReport {
    /// `host:port` of the server.
    pub server: String,
    /// Product and version, or `None` if the server does not report them.
    pub product: Option<String>,
    pub scratch: String,
    /// Whether the scratch schema was dropped.
    pub is_removed: bool,
    pub rows: u64,
    pub select_rows: u64,
    /// `None` if rows imitate a table.
    pub row_bytes: Option<u32>,
    /// The table that rows imitate.
    pub like: Option<String>,
    pub methods: Vec<Method>,
    pub tuned: Vec<Tuned>,
    /// One per job and distance.
    pub recommendations: Vec<Recommendation>,
    pub links: Vec<LinkOutcome>,
    pub runs: TuneRuns,
    pub warnings: Vec<Warning>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TuneRuns {
    pub taken: u64,
    /// Runs that every method with every setting would need.
    pub full_sweep: u64,
    /// Runs observed for predictions and to count round trips.
    pub watched: u64,
    /// Runs that were discarded as warm-up.
    pub warm_ups: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TuneDetail {
    /// The best of each method.
    Best,
    All,
}

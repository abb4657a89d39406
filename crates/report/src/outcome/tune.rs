//! Which method and setting is best for each job at each distance.

use model::{LinkOutcome, Method, Recommendation, Tuned, Warning};

/// What `tune` has to say.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TuneReport {
    /// `host:port` of the server.
    pub server: String,
    /// Its product and version; `None` if it does not say.
    pub product: Option<String>,
    /// Name of the scratch schema.
    pub scratch: String,
    /// The outcome of the scratch schema.
    pub is_removed: bool,
    /// Rows of an insert or update.
    pub rows: u64,
    /// Rows of a select.
    pub select_rows: u64,
    /// Bytes of a row; `None` if rows are like those of a table.
    pub row_bytes: Option<u32>,
    /// The table that rows are like.
    pub like: Option<String>,
    /// The ways there are.
    pub ways: Vec<Method>,
    /// Everything that was run or predicted.
    pub tuned: Vec<Tuned>,
    /// One a job and distance.
    pub recommendations: Vec<Recommendation>,
    /// Emulated links: what was requested and what was realised.
    pub links: Vec<LinkOutcome>,
    /// Runs in all.
    pub runs: TuneRuns,
    /// What a reader of the figures must know.
    pub warnings: Vec<Warning>,
}

/// How much was run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TuneRuns {
    /// Runs that counted.
    pub taken: u64,
    /// Those that every way with every setting would have taken.
    pub full_sweep: u64,
    /// Runs that were watched: for predictions, and to count round trips.
    pub watched: u64,
    /// Runs before those that count.
    pub warm_ups: u64,
}

/// Which settings a view shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TuneDetail {
    /// The best of each way.
    Best,
    /// All.
    All,
}

//! Outcome of `demo`.

use super::ReadOutcome;
use model::LinkOutcome;
use std::sync::Arc;

#[derive(Debug, Clone, PartialEq)]
pub struct DemoOutcome {
    /// Measured pages of each variant.
    pub pages: usize,
    pub rows: usize,
    /// Operation name of the page with one query per row.
    pub chatty: Arc<str>,
    /// Operation name of the page with a join.
    pub joined: Arc<str>,
    /// Predictions that were verified contain their measurement.
    pub outcome: ReadOutcome,
    /// The emulated links of the verification.
    pub links: Vec<LinkOutcome>,
    /// The HTML file, or `None` if none was written.
    pub page: Option<String>,
}

//! What `demo` showed.

use super::ReadOutcome;
use model::LinkOutcome;
use std::sync::Arc;

/// What `demo` has to say.
#[derive(Debug, Clone, PartialEq)]
pub struct DemoOutcome {
    /// Pages of each variant that were measured.
    pub pages: usize,
    /// Products shown on a page.
    pub rows: usize,
    /// Operation name of the page that asks one by one.
    pub chatty: Arc<str>,
    /// Operation name of the page with a join.
    pub joined: Arc<str>,
    /// All that was measured and predicted; predictions that were proved have what was measured.
    pub outcome: ReadOutcome,
    /// The emulated links over which predictions were proved.
    pub links: Vec<LinkOutcome>,
    /// The file of the page, when one was written.
    pub page: Option<String>,
}

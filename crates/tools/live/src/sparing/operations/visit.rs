//! Requests of one database connection, and where its bursts end.

use super::super::reading::Request;
use super::Number;
use model::{Fingerprint, Timestamp};
use std::collections::HashMap;
use std::time::Duration;

/// Requests of a database connection for one operation, as far as known.
#[derive(Debug, Default)]
pub(super) struct Visit {
    /// The operation's connection, and its number.
    pub(super) owner: Option<(Number, u64)>,
    pub(super) executed: HashMap<Fingerprint, u32>,
    /// Operations begun by its first request.
    pub(super) begun: u64,
    /// Operations ended by its last request.
    pub(super) ended: u64,
    pub(super) transaction: bool,
    pub(super) pending_replies: u32,
    /// The server waits within the reply to the last request.
    pub(super) reply_paused: bool,
    pub(super) began: Timestamp,
    pub(super) replied: Timestamp,
    pub(super) pauses: u32,
    pub(super) paused: Duration,
    pub(super) is_spared: bool,
}

impl Visit {
    /// Whether a pause ends the burst, as in the analysis.
    pub(super) fn is_over(&self, at: Timestamp) -> bool {
        let mean = self.paused.checked_div(self.pauses).unwrap_or_default();
        let longest = (mean * TIMES_THE_MEAN).clamp(MIN_PAUSE, MAX_PAUSE);
        self.pending_replies == 0 && !self.transaction && at.since(self.replied) > longest
    }
}

pub(super) fn begins_transaction(requests: &[Request]) -> bool {
    let first = requests.first().and_then(|request| request.executes.first());
    first.is_some_and(|text| text.starts_with("begin") || text.starts_with("start transaction"))
}

/// As in `analysis::operations`.
const MIN_PAUSE: Duration = Duration::from_millis(10);
const MAX_PAUSE: Duration = Duration::from_secs(1);
const TIMES_THE_MEAN: u32 = 10;

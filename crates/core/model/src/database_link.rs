//! Measurements of `ping --via`, from one database to another.

use crate::Distribution;
use std::sync::Arc;
use std::time::Duration;

/// Distance between two databases, measured by calls over a database link (docs/database-links.md).
///
/// The source server's clock measures all spans, so the client's distance does not count.
#[derive(Debug, Clone, PartialEq)]
pub struct DatabaseLinkOutcome {
    /// The link's name in the source database.
    pub link: Arc<str>,
    /// Kind of link (`dblink`, `postgres_fdw`, `FEDERATED`, `CONNECT` or `database link`).
    pub through: Arc<str>,
    /// Time to open the link, unless it was open or every call opens it.
    pub connect: Option<Duration>,
    /// Duration of the first call; `None` without a call.
    pub first_call: Option<Duration>,
    /// Duration of a statement that reads one row.
    pub calls: Distribution,
    /// Round trips between the databases, including both servers' handling.
    pub round_trips: Distribution,
    /// Round trips per call, if determined.
    pub turns_per_call: Option<u64>,
    /// Shortest call divided by shortest round trip; near `turns_per_call` if server time is small.
    /// `None` if both are the same spans.
    pub calls_in_round_trips: Option<f64>,
    /// How round trips were determined.
    pub evidence: String,
    /// Many rows in one call, if requested.
    pub rows: Option<LinkRows>,
    /// The client's distance to the source (`tcpi_min_rtt`), not part of the other figures.
    pub client_rtt: Option<Duration>,
    /// Failed calls, and those lost in noise.
    pub failed: u64,
}

/// Calls over a database link that read many rows each.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LinkRows {
    /// Rows of a call.
    pub rows: u64,
    /// Duration of a call.
    pub calls: Distribution,
    /// Round trips of a call, if the source counts them.
    pub turns: Option<u64>,
}

impl DatabaseLinkOutcome {
    /// Round trips of a call for many rows: as counted, or the shortest call divided by the shortest
    /// round trip, which includes the far server's work and the transfer.
    pub fn rows_in_round_trips(&self) -> Option<f64> {
        let rows = self.rows.as_ref()?;
        let divided = || {
            let round_trip = self.round_trips.min.filter(|least| !least.is_zero())?;
            Some(rows.calls.min?.as_secs_f64() / round_trip.as_secs_f64())
        };
        rows.turns.map(|turns| turns as f64).or_else(divided)
    }
}

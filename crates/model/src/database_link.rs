//! From one database to another: what `ping --via` measures.

use crate::Distribution;
use std::sync::Arc;
use std::time::Duration;

/// What calls from a source database through its own link to another one showed about the distance between
/// the two.
///
/// All spans are differences of the source server's clock, read in the source server: how far the client is
/// from it is in none of them. How each kind of link is measured: docs/database-links.md.
#[derive(Debug, Clone, PartialEq)]
pub struct DatabaseLinkOutcome {
    /// The link's name in the source database.
    pub link: Arc<str>,
    /// What carries it: `dblink`, `postgres_fdw`, `FEDERATED`, `CONNECT`, `database link`.
    pub through: Arc<str>,
    /// Time to open the link; `None` if it was open before, or is opened anew by every call.
    pub connect: Option<Duration>,
    /// The first call; `None` if there was none.
    pub first_call: Option<Duration>,
    /// Whole calls: what a statement over this link costs that asks for one row.
    pub calls: Distribution,
    /// One round trip each: the round trip between the databases, their handling of it included.
    pub round_trips: Distribution,
    /// Round trips of a call, established; `None` if they could not be.
    pub turns_per_call: Option<u64>,
    /// Shortest call divided by shortest round trip: agrees with `turns_per_call` where servers' own time is
    /// small compared with the distance. `None` if calls and round trips are the same spans.
    pub calls_in_round_trips: Option<f64>,
    /// How the round trips were established.
    pub evidence: String,
    /// The client's own distance to the source (`tcpi_min_rtt` of its connection), which is in none of the
    /// figures.
    pub client_rtt: Option<Duration>,
    /// Calls that failed, or whose round trip was lost in the noise.
    pub failed: u64,
}

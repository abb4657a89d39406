//! What a prediction rests on.

use model::{Assigned, Share};
use std::time::Duration;

/// A prediction's assumptions, and one operation replayed step by step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExplainOutcome {
    /// The operation's name.
    pub operation_name: String,
    /// What it took when it was measured.
    pub measured: Duration,
    /// Nanoseconds by which that is longer than its replay where it was measured; negative where the replay
    /// takes longer.
    pub unexplained_ns: i64,
    /// What it takes on the link.
    pub predicted: Duration,
    /// The link, in its text form.
    pub link: String,
    /// What the model takes for granted, each with where that comes from.
    pub assumptions: Vec<(String, String)>,
    /// The exchanges, in order of their start.
    pub steps: Vec<ExplainedExchange>,
}

/// One exchange of a replayed operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExplainedExchange {
    /// Its statement, or its phase where it has none.
    pub name: String,
    /// Whether its connection was moved to the link.
    pub moved: bool,
    /// Its round trips.
    pub turns: u32,
    /// Payload bytes of the request and of the reply.
    pub bytes: [u64; 2],
    /// How it is known to belong to the operation; `None` if that is no question.
    pub assigned: Option<Assigned>,
    /// How likely that is, of a guess.
    pub probability: Option<Share>,
    /// When it begins on the link, counted from the start of the operation.
    pub started: Duration,
    /// When its reply is complete.
    pub completed: Duration,
}

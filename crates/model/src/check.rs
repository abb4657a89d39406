//! Budgets that operations were checked against.

use crate::{FindingKind, Fingerprint};
use std::sync::Arc;
use std::time::Duration;

/// One budget of one operation's name, and what was found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BudgetVerdict {
    /// Name of the operations.
    pub operation_name: Arc<str>,
    /// What was allowed, and what was found.
    pub measure: BudgetMeasure,
    /// What to do about it where a finding says it; only of budgets that are broken.
    pub remedy: Option<String>,
    /// What was not seen, so that it is not judged: in a clause, with what to do. `None` if it is.
    pub not_judged: Option<String>,
}

/// The outcome of a budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Judgement {
    /// What was found is at most what was allowed.
    Kept,
    /// More was found than allowed.
    Broken,
    /// Too little was seen to say.
    NotJudged,
}

impl Judgement {
    /// The word for it in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Kept => "kept",
            Self::Broken => "broken",
            Self::NotJudged => "not judged",
        }
    }
}

impl BudgetVerdict {
    /// The outcome of the budget.
    pub fn judgement(&self) -> Judgement {
        if self.not_judged.is_some() {
            return Judgement::NotJudged;
        }
        let is_kept = match &self.measure {
            BudgetMeasure::Turns { allowed, found } => Some(found <= allowed),
            BudgetMeasure::Predicted { allowed, found, .. } | BudgetMeasure::Held { allowed, found, .. } => {
                found.map(|found| found <= *allowed)
            }
            BudgetMeasure::Forbidden { found, .. } => Some(found.is_none()),
        };
        match is_kept {
            Some(true) => Judgement::Kept,
            Some(false) => Judgement::Broken,
            None => Judgement::NotJudged,
        }
    }
}

/// What a budget is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BudgetMeasure {
    /// Round trips of one operation: of several of a name, of the one with most.
    Turns {
        /// The most there may be.
        allowed: u64,
        /// What was found.
        found: u64,
    },
    /// Predicted median duration of the operations on a link.
    Predicted {
        /// The link in its text form.
        link: Arc<str>,
        /// The longest it may be.
        allowed: Duration,
        /// What is predicted; `None` if nothing could be.
        found: Option<Duration>,
    },
    /// How long transactions are open: the median of those of one name, of several names the longest.
    Held {
        /// The link it is predicted for, in its text form; `None` for as it was measured.
        link: Option<Arc<str>>,
        /// The name of the transactions; `None` if none stays open between replies.
        transaction: Option<Arc<str>>,
        /// The longest it may be.
        allowed: Duration,
        /// What is predicted, or was measured; `None` if nothing could be predicted.
        found: Option<Duration>,
    },
    /// A kind of waste that is forbidden.
    Forbidden {
        /// The kind.
        kind: FindingKind,
        /// Where it was found; `None` if it was not.
        found: Option<ForbiddenWaste>,
    },
}

impl BudgetMeasure {
    /// The word for it: the flag that sets such a budget.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Turns { .. } => "max-round-trips",
            Self::Predicted { .. } => "max-predicted",
            Self::Held { .. } => "max-held",
            Self::Forbidden { .. } => "forbid",
        }
    }
}

/// Waste that was found though it is forbidden: of several places, the one with most round trips.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForbiddenWaste {
    /// The statement; `None` if it is about no single one.
    pub fingerprint: Option<Fingerprint>,
    /// How often it was seen.
    pub count: u64,
    /// Round trips that it cost in all.
    pub turns: u64,
    /// Places it was found in: statements, or servers.
    pub places: u64,
}

/// What has changed about the operations of a name since the baseline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// Their name.
    pub operation_name: Arc<str>,
    /// Most round trips of one of them, before and now; `None` if there was none of the name.
    pub turns: [Option<u64>; 2],
    /// The link of `predicted`, in its text form.
    pub link: Arc<str>,
    /// Predicted median duration, before and now; absent likewise.
    pub predicted: [Option<Duration>; 2],
    /// Findings that did not exist before.
    pub new_findings: Vec<(FindingKind, Option<Fingerprint>)>,
}

impl Change {
    /// Whether anything that a user decides by has changed: round trips, or findings. Predicted times vary
    /// with what was measured.
    pub fn is_none(&self) -> bool {
        self.turns[0] == self.turns[1] && self.new_findings.is_empty()
    }
}

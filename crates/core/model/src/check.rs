//! Budgets that operations are checked against.

use crate::serde_units::ns;
use crate::{FindingKind, Fingerprint};
use serde::Serialize;
use std::sync::Arc;
use std::time::Duration;

/// A budget for operations, and the result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BudgetVerdict {
    /// Name of the operations.
    pub operation_name: Arc<str>,
    /// Allowed and found values.
    pub measure: BudgetMeasure,
    /// Remedy from a finding, for broken budgets only.
    pub remedy: Option<String>,
    /// Clause on the data missing for a judgement.
    pub not_judged: Option<String>,
}

/// The outcome of a budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Judgement {
    /// The found value is at most the allowed one.
    Kept,
    /// The found value exceeds the allowed one.
    Broken,
    /// The data does not suffice.
    NotJudged,
}

impl Judgement {
    /// The word used in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Kept => "kept",
            Self::Broken => "broken",
            Self::NotJudged => "not judged",
        }
    }
}

impl BudgetVerdict {
    /// Whether the prediction has bounds and no median.
    pub const fn has_bounds(&self) -> bool {
        matches!(
            self.measure,
            BudgetMeasure::Predicted {
                found: Some(PredictedDuration::Bounds { .. }),
                ..
            }
        )
    }

    /// The outcome of the budget.
    pub fn judgement(&self) -> Judgement {
        if self.not_judged.is_some() {
            return Judgement::NotJudged;
        }
        let is_kept = match &self.measure {
            BudgetMeasure::Turns { allowed, found } => Some(found <= allowed),
            BudgetMeasure::Held { allowed, found, .. } => found.map(|found| found <= *allowed),
            BudgetMeasure::Predicted { allowed, found, .. } => {
                found.and_then(|found| found.is_within(*allowed))
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

/// Predicted duration of the operations of a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum PredictedDuration {
    /// Within bounds that are close enough for one.
    Median {
        /// Median of the durations.
        #[serde(rename = "predicted_ns", with = "ns")]
        median: Duration,
    },
    /// Too wide for a median.
    Bounds {
        /// Lower bound of the median.
        #[serde(rename = "predicted_low_ns", with = "ns")]
        low: Duration,
        /// Upper bound of the median.
        #[serde(rename = "predicted_high_ns", with = "ns")]
        high: Duration,
    },
}

impl PredictedDuration {
    /// The median, if there is one.
    pub const fn median(self) -> Option<Duration> {
        match self {
            Self::Median { median } => Some(median),
            Self::Bounds { .. } => None,
        }
    }

    /// The lower bound, or the median.
    pub const fn low(self) -> Duration {
        match self {
            Self::Median { median } => median,
            Self::Bounds { low, .. } => low,
        }
    }

    /// `None` if `allowed` is between the bounds.
    fn is_within(self, allowed: Duration) -> Option<bool> {
        match self {
            Self::Median { median } => Some(median <= allowed),
            Self::Bounds { low, high } => (high <= allowed || low > allowed).then_some(high <= allowed),
        }
    }
}

/// Quantity that a budget limits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum BudgetMeasure {
    /// Maximum round trips of one operation.
    Turns {
        /// Maximum number of round trips.
        #[serde(rename = "allowed_turns")]
        allowed: u64,
        /// Largest number of round trips found.
        #[serde(rename = "turns")]
        found: u64,
    },
    /// Predicted median duration of the operations on a link.
    Predicted {
        /// The link in its text form.
        link: Arc<str>,
        /// Maximum predicted median duration.
        #[serde(rename = "allowed_ns", with = "ns")]
        allowed: Duration,
        /// The prediction, if there is one.
        #[serde(flatten)]
        found: Option<PredictedDuration>,
    },
    /// Longest median time that transactions are open.
    Held {
        /// The link, unless as measured.
        #[serde(skip_serializing_if = "Option::is_none")]
        link: Option<Arc<str>>,
        /// Name of the transactions, if one stays open.
        #[serde(rename = "transaction_name", skip_serializing_if = "Option::is_none")]
        transaction: Option<Arc<str>>,
        /// Maximum time a transaction is open.
        #[serde(rename = "allowed_ns", with = "ns")]
        allowed: Duration,
        /// Predicted or measured time; `None` without a prediction.
        #[serde(rename = "held_ns", with = "ns", skip_serializing_if = "Option::is_none")]
        found: Option<Duration>,
    },
    /// A forbidden kind of waste.
    Forbidden {
        /// The forbidden kind of waste.
        kind: FindingKind,
        /// Where it was found; `None` if not found.
        #[serde(flatten)]
        found: Option<ForbiddenWaste>,
    },
}

impl BudgetMeasure {
    /// The flag that sets such a budget.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::Turns { .. } => "max-round-trips",
            Self::Predicted { .. } => "max-predicted",
            Self::Held { .. } => "max-held",
            Self::Forbidden { .. } => "forbid",
        }
    }
}

/// Forbidden waste, where it costs most.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ForbiddenWaste {
    /// The statement, if there is a single one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<Fingerprint>,
    /// How often it was seen.
    pub count: u64,
    /// Cost in round trips.
    #[serde(rename = "found_turns")]
    pub turns: u64,
    /// Number of statements or servers where it was found.
    pub places: u64,
}

/// Changes since the baseline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// Name of the operations.
    pub operation_name: Arc<str>,
    /// Maximum round trips before and now, if there were operations.
    pub turns: [Option<u64>; 2],
    /// The link of `predicted`, in its text form.
    pub link: Arc<str>,
    /// Predicted median before and now, if there were operations.
    pub predicted: [Option<Duration>; 2],
    /// Findings that the baseline does not have.
    pub new_findings: Vec<(FindingKind, Option<Fingerprint>)>,
}

impl Change {
    /// Whether round trips and findings are unchanged. Predicted times vary with the measurement.
    pub fn is_none(&self) -> bool {
        self.turns[0] == self.turns[1] && self.new_findings.is_empty()
    }
}

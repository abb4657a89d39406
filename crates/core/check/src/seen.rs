//! Evidence per operation, and whether it suffices to judge a budget.

use model::{BudgetMeasure, Evidence, Lost, Share, Strays, counted};
use report::ReadOutcome;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

/// Operations without an entry miss nothing.
#[derive(Debug, Default)]
pub(super) struct Seen {
    evidence: BTreeMap<Arc<str>, Evidence>,
    operations: BTreeMap<Arc<str>, u64>,
    requests: BTreeSet<Arc<str>>,
    /// Durations of operations known not to wait for a moving connection.
    unmoved: BTreeMap<Arc<str>, Duration>,
    round_trips: u64,
    /// Round trips that may belong to a request but are assigned to none.
    strays: Option<Strays>,
    /// Accepts guessed round trips and unseen statements.
    is_allowed: bool,
}

impl Seen {
    pub(super) fn from_outcome(outcome: &ReadOutcome) -> Self {
        let mut seen = Self::default();
        for group in outcome.operations.iter().filter(|group| group.count > 0) {
            seen.evidence
                .entry(group.name.clone())
                .or_default()
                .add(&group.evidence);
            *seen.operations.entry(group.name.clone()).or_default() += group.count;
            seen.round_trips += group.evidence.round_trips;
            if group.kind.is_request() {
                seen.requests.insert(group.name.clone());
            }
        }
        seen.strays = outcome.strays;
        if !outcome.predictions.is_empty() && seen.strays.is_none() {
            let is_unmoved = |name: &Arc<str>| outcome.unmoved.contains(name);
            let groups = outcome.operations.iter().filter(|group| is_unmoved(&group.name));
            let durations = groups.filter_map(|group| Some((group.name.clone(), group.spread.p50?)));
            seen.unmoved = durations.collect();
        }
        seen
    }

    /// Treats the evidence as complete if there is any figure.
    pub(super) fn allowed(self) -> Self {
        Self {
            is_allowed: true,
            ..self
        }
    }

    /// Duration of operations that wait for no moving connection: equal at any distance.
    pub(super) fn unmoved(&self, name: &Arc<str>) -> Option<Duration> {
        self.unmoved.get(name).copied()
    }

    /// Clause for figures that may belong to other operations, with a hint.
    pub(super) fn doubt(&self, name: &Arc<str>) -> Option<String> {
        let evidence = self.of_name(name)?;
        (!evidence.shows_owners()).then(|| {
            format!(
                "{} of {} round trips are assigned to it by a guess. Pass a traceparent \
                 on in SQL comments (docs/requests.md), or test with one request at a time. Or use --operations transaction, or \
                 --allow-unseen to judge all the same",
                evidence.guessed, evidence.round_trips
            )
        })
    }

    /// Clause for evidence that is missing to judge a seemingly kept budget, with a hint.
    pub(super) fn missing_for(&self, measure: &BudgetMeasure, name: &Arc<str>) -> Option<String> {
        let evidence = self.of_name(name)?;
        if self.round_trips == 0 {
            return Some(NO_DATABASE.to_owned());
        }
        let lost = self.lost_words(measure, name, evidence);
        if lost.is_some() {
            return lost;
        }
        let strays = self.strays_words().filter(|_| self.requests.contains(name));
        let statements = || {
            let is_enough = evidence.round_trips == 0 || evidence.shows_statements();
            (!is_enough).then(|| {
                format!(
                    "{}; {SEE_STATEMENTS}",
                    evidence.nameless_words().unwrap_or_default()
                )
            })
        };
        match measure {
            BudgetMeasure::Turns { .. } | BudgetMeasure::Predicted { .. } => strays,
            // Statements without a request are checked too, and break the budget under their own
            // name. This request still needs evidence of its own.
            BudgetMeasure::Forbidden { .. } if evidence.round_trips > 0 => statements(),
            BudgetMeasure::Held { .. } | BudgetMeasure::Forbidden { .. } => strays.or_else(statements),
        }
    }

    /// Lost packets with requests may hold a loop or more round trips in any operation. Lost replies
    /// hide no request, so a few matter as little as other unseen figures.
    fn lost_words(&self, measure: &BudgetMeasure, name: &Arc<str>, evidence: &Evidence) -> Option<String> {
        let operations = self.operations.get(name).copied()?;
        let statements = match measure {
            BudgetMeasure::Held { .. } | BudgetMeasure::Forbidden { .. } => {
                evidence.lost_for(Lost::Statement)
            }
            BudgetMeasure::Turns { .. } | BudgetMeasure::Predicted { .. } => 0,
        };
        let requests = evidence.lost_for(Lost::Requests) + statements;
        let replies = evidence.lost_for(Lost::Replies);
        let share = Share::of_counts(replies, operations).map_or(0.0, Share::as_fraction);
        let (what, count) = match requests {
            0 if share <= 1.0 - Evidence::ENOUGH => return None,
            0 => ("replies", replies),
            requests => ("requests", requests),
        };
        Some(format!(
            "packets with {what} were not captured in {} of {}, and may hide more; {SEE_PACKETS}",
            count.min(operations),
            counted(operations, "operation", "operations")
        ))
    }

    fn of_name(&self, name: &Arc<str>) -> Option<&Evidence> {
        self.evidence.get(name).filter(|_| !self.is_allowed)
    }

    /// Too many unassigned round trips: a request may have more than are counted.
    fn strays_words(&self) -> Option<String> {
        self.strays.map(|Strays { round_trips, of }| {
            format!(
                "{round_trips} of {} to databases belong to no request, and may be of one. Join the addresses of the web server's machine \
                 with --host, or use --operations transaction. --allow-unseen judges all the same",
                counted(of, "round trip", "round trips")
            )
        })
    }
}

const NO_DATABASE: &str = "no round trip to a database was seen; capture the database's port too, or judge all the same with --allow-unseen";
const SEE_PACKETS: &str =
    "capture with a larger buffer (tcpdump -B 65536), or judge all the same with --allow-unseen";
const SEE_STATEMENTS: &str = "open TLS with --keys or watch through a relay, begin before the connections, or judge all the same with --allow-unseen";

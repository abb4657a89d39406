//! Figures of a run that budgets are compared with.

use crate::seen::Seen;
use model::{Finding, FindingKind, PredictedDuration};
use report::ReadOutcome;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

#[derive(Debug, Default)]
pub struct Figures {
    /// Maximum over operations of the name.
    pub(super) turns: BTreeMap<Arc<str>, u64>,
    pub(super) predicted: BTreeMap<(Arc<str>, Arc<str>), PredictedDuration>,
    /// The transactions open longest in each operation: their name and median, over each link and
    /// as measured (`None`).
    pub(super) held: BTreeMap<(Arc<str>, Option<Arc<str>>), Held>,
    pub(super) findings: Vec<Finding>,
    pub(super) seen: Seen,
}

pub(super) type Held = (Duration, Arc<str>);

impl Figures {
    pub fn from_outcome(outcome: &ReadOutcome) -> Self {
        let mut turns = BTreeMap::new();
        for group in outcome.operations.iter().filter(|group| group.count > 0) {
            let most: &mut u64 = turns.entry(group.name.clone()).or_default();
            *most = group.most_turns.max(*most);
        }
        let predicted = outcome.predictions.iter().filter_map(|prediction| {
            let key = (prediction.operation_name.clone(), prediction.link.clone());
            Some((key, prediction.predicted()?))
        });
        Self {
            turns,
            predicted: predicted.collect(),
            held: held(outcome),
            findings: outcome.findings.clone(),
            seen: Seen::from_outcome(outcome),
        }
    }

    /// Skips the checks for missing evidence.
    #[must_use]
    pub fn allowed(self) -> Self {
        Self {
            seen: self.seen.allowed(),
            ..self
        }
    }

    /// Includes names that only findings have.
    pub(super) fn names(&self) -> BTreeSet<&Arc<str>> {
        let found = self.findings.iter().map(|finding| &finding.operation_name);
        self.turns.keys().chain(found).collect()
    }

    pub(super) fn predicted(&self, name: &Arc<str>, link: &Arc<str>) -> Option<PredictedDuration> {
        let predicted = self.predicted.get(&(name.clone(), link.clone())).copied();
        let unmoved = || {
            self.seen
                .unmoved(name)
                .map(|median| PredictedDuration::Median { median })
        };
        predicted.or_else(unmoved)
    }

    /// Time that transactions of the operation stay open, over a link or as measured. Zero if none
    /// stays open between replies; `None` if some do and could not be predicted.
    pub(super) fn held(
        &self,
        name: &Arc<str>,
        link: Option<&Arc<str>>,
    ) -> Option<(Duration, Option<Arc<str>>)> {
        let of = |link: Option<&Arc<str>>| self.held.get(&(name.clone(), link.cloned()));
        match (of(link), of(None)) {
            (Some((span, transaction)), _) => Some((*span, Some(transaction.clone()))),
            (None, None) => Some((Duration::ZERO, None)),
            (None, Some(_)) => None,
        }
    }

    pub(super) fn findings<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Finding> {
        self.findings
            .iter()
            .filter(move |finding| &*finding.operation_name == name)
    }

    pub(super) fn sure_findings<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Finding> {
        model::sure_findings(&self.findings).filter(move |finding| &*finding.operation_name == name)
    }

    /// The remedy that removes most round trips.
    pub(super) fn remedy(&self, name: &str) -> Option<String> {
        let of_turns = self
            .sure_findings(name)
            .filter(|finding| finding.kind != FindingKind::HeldTransaction);
        Some(Self::remedy_text(
            of_turns.max_by_key(|finding| finding.saves_turns)?,
        ))
    }

    /// The remedy that shortens open transactions most, or else removes most round trips.
    pub(super) fn remedy_of_held(&self, name: &str) -> Option<String> {
        let of_held = self
            .sure_findings(name)
            .filter(|finding| finding.kind == FindingKind::HeldTransaction);
        match of_held.max_by_key(|finding| finding.most()) {
            Some(finding) => Some(Self::remedy_text(finding)),
            None => self.remedy(name),
        }
    }

    fn remedy_text(finding: &Finding) -> String {
        let of = finding
            .fingerprint
            .as_ref()
            .map(|fingerprint| format!(" ({fingerprint})"));
        format!("{}{}: {}", finding.kind, of.unwrap_or_default(), finding.remedy)
    }
}

/// The longest median per operation, over each link and as measured.
fn held(outcome: &ReadOutcome) -> BTreeMap<(Arc<str>, Option<Arc<str>>), Held> {
    let measured = outcome.held.iter().map(|held| {
        (
            (held.operation_name.clone(), None),
            (held.median, held.name.clone()),
        )
    });
    let predicted = outcome.held_predictions.iter().map(|held| {
        let key = (held.operation_name.clone(), Some(held.link.clone()));
        (key, (held.median, held.name.clone()))
    });
    let mut longest: BTreeMap<_, Held> = BTreeMap::new();
    for (key, held) in measured.chain(predicted) {
        let known = longest.entry(key).or_insert_with(|| held.clone());
        if held.0 > known.0 {
            *known = held;
        }
    }
    longest
}

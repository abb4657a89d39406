//! Records of `check`: `check`, `change`.

use super::nanos;
use crate::text::check::why_not_judged;
use model::{BudgetMeasure, BudgetVerdict, Change, ForbiddenWaste, Judgement};
use serde::Serialize;

#[derive(Serialize)]
pub(super) struct CheckRecord<'a> {
    operation_name: &'a str,
    budget: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    kept: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    not_judged: Option<&'a str>,
    #[serde(flatten)]
    figures: Figures<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    remedy: Option<&'a str>,
}

#[derive(Serialize)]
#[serde(untagged)]
enum Figures<'a> {
    Turns {
        allowed_turns: u64,
        turns: u64,
    },
    Predicted {
        link: &'a str,
        allowed_ns: u64,
        #[serde(skip_serializing_if = "Option::is_none")]
        predicted_ns: Option<u64>,
    },
    Held {
        #[serde(skip_serializing_if = "Option::is_none")]
        link: Option<&'a str>,
        #[serde(skip_serializing_if = "Option::is_none")]
        transaction_name: Option<&'a str>,
        allowed_ns: u64,
        #[serde(skip_serializing_if = "Option::is_none")]
        held_ns: Option<u64>,
    },
    Forbidden {
        kind: &'static str,
        #[serde(flatten)]
        found: Option<FoundFigures<'a>>,
    },
}

#[derive(Serialize)]
struct FoundFigures<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    fingerprint: Option<&'a str>,
    count: u64,
    found_turns: u64,
    places: u64,
}

impl<'a> FoundFigures<'a> {
    fn new(found: &'a ForbiddenWaste) -> Self {
        Self {
            fingerprint: found.fingerprint.as_deref(),
            count: found.count,
            found_turns: found.turns,
            places: found.places,
        }
    }
}

impl<'a> CheckRecord<'a> {
    pub(super) fn new(verdict: &'a BudgetVerdict) -> Self {
        let judgement = verdict.judgement();
        Self {
            operation_name: &verdict.operation_name,
            budget: verdict.measure.name(),
            kept: (judgement != Judgement::NotJudged).then_some(judgement == Judgement::Kept),
            not_judged: (judgement == Judgement::NotJudged).then(|| why_not_judged(verdict)),
            figures: match &verdict.measure {
                BudgetMeasure::Turns { allowed, found } => Figures::Turns {
                    allowed_turns: *allowed,
                    turns: *found,
                },
                BudgetMeasure::Predicted { link, allowed, found } => Figures::Predicted {
                    link,
                    allowed_ns: nanos(*allowed),
                    predicted_ns: found.map(nanos),
                },
                BudgetMeasure::Held {
                    link,
                    transaction,
                    allowed,
                    found,
                } => Figures::Held {
                    link: link.as_deref(),
                    transaction_name: transaction.as_deref(),
                    allowed_ns: nanos(*allowed),
                    held_ns: found.map(nanos),
                },
                BudgetMeasure::Forbidden { kind, found } => Figures::Forbidden {
                    kind: kind.name(),
                    found: found.as_ref().map(FoundFigures::new),
                },
            },
            remedy: verdict.remedy.as_deref(),
        }
    }
}

#[derive(Serialize)]
pub(super) struct ChangeRecord<'a> {
    operation_name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    turns_before: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    turns: Option<u64>,
    link: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    predicted_before_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    predicted_ns: Option<u64>,
    new_findings: Vec<NewFinding<'a>>,
}

#[derive(Serialize)]
struct NewFinding<'a> {
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    fingerprint: Option<&'a str>,
}

impl<'a> ChangeRecord<'a> {
    pub(super) fn new(change: &'a Change) -> Self {
        let [turns_before, turns] = change.turns;
        let [predicted_before, predicted] = change.predicted;
        let new_findings = change.new_findings.iter().map(|(kind, fingerprint)| NewFinding {
            kind: kind.name(),
            fingerprint: fingerprint.as_deref(),
        });
        Self {
            operation_name: &change.operation_name,
            turns_before,
            turns,
            link: &change.link,
            predicted_before_ns: predicted_before.map(nanos),
            predicted_ns: predicted.map(nanos),
            new_findings: new_findings.collect(),
        }
    }
}

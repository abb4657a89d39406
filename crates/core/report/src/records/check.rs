//! Records of `check`: `check`, `change`.

use crate::text::check::why_not_judged;
use model::{BudgetVerdict, Change, FindingKind, Fingerprint, Judgement};
use serde::Serialize;

record! {
    CheckRecord(verdict: &'a BudgetVerdict) {
        operation_name: &verdict.operation_name,
        budget: verdict.measure.name(),
        kept: is_judged(verdict).then(|| verdict.judgement() == Judgement::Kept),
        not_judged: (!is_judged(verdict)).then(|| why_not_judged(verdict)),
        ..measure: &verdict.measure,
        remedy: verdict.remedy.as_ref(),
    }
}

record! {
    ChangeRecord(change: &'a Change) {
        operation_name: &change.operation_name,
        turns_before: change.turns[0],
        turns: change.turns[1],
        link: &change.link,
        predicted_before_ns: change.predicted[0],
        predicted_ns: change.predicted[1],
        new_findings: &change.new_findings.iter().map(NewFinding::new).collect::<Vec<_>>(),
    }
}

#[derive(Serialize)]
struct NewFinding<'a> {
    kind: FindingKind,
    #[serde(skip_serializing_if = "Option::is_none")]
    fingerprint: Option<&'a Fingerprint>,
}

impl<'a> NewFinding<'a> {
    const fn new((kind, fingerprint): &'a (FindingKind, Option<Fingerprint>)) -> Self {
        Self {
            kind: *kind,
            fingerprint: fingerprint.as_ref(),
        }
    }
}

fn is_judged(verdict: &BudgetVerdict) -> bool {
    verdict.judgement() != Judgement::NotJudged
}

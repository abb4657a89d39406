//! The `finding` record of `read`.

use super::nanos;
use model::{Finding, Saving, Share};
use serde::Serialize;

#[derive(Serialize)]
pub(super) struct FindingRecord<'a> {
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    fingerprint: Option<&'a str>,
    operation_name: &'a str,
    operations: u64,
    count: u64,
    turns: u64,
    saves_turns: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    saves_turns_most: Option<u64>,
    rtt_ns: u64,
    saves_ns: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    saves_low_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    saves_high_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    remedied_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    remedied_low_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    remedied_high_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    owners_likely_right: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    owners_unrated: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    may_be_others: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dependent: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    driver: Option<&'a str>,
    remedy: &'a str,
}

impl<'a> FindingRecord<'a> {
    pub(super) fn new(finding: &'a Finding, saving: Saving) -> Self {
        Self {
            kind: finding.kind.name(),
            fingerprint: finding.fingerprint.as_deref(),
            operation_name: &finding.operation_name,
            operations: finding.operations,
            count: finding.count,
            turns: finding.turns,
            saves_turns: finding.saves_turns,
            saves_turns_most: Some(finding.saves_turns_most).filter(|most| *most > finding.saves_turns),
            rtt_ns: nanos(saving.rtt),
            saves_ns: nanos(saving.saves),
            saves_low_ns: saving.bounds.map(|[low, _]| nanos(low)),
            saves_high_ns: saving.bounds.map(|[_, high]| nanos(high)),
            remedied_ns: saving.remedied.map(|one| nanos(one.duration)),
            remedied_low_ns: saving.remedied.map(|one| nanos(one.low)),
            remedied_high_ns: saving.remedied.map(|one| nanos(one.high)),
            owners_likely_right: finding.owners.likely_right().map(Share::as_fraction),
            owners_unrated: finding.owners.are_unrated().then_some(true),
            may_be_others: finding.may_be_others().then_some(true),
            dependent: finding.dependent,
            driver: finding.driver.as_deref(),
            remedy: &finding.remedy,
        }
    }
}

//! The `finding` record of `read`.

use model::{Finding, Saving, Share};

record! {
    FindingRecord(finding: &'a Finding, saving: Saving) {
        kind: &finding.kind,
        fingerprint: finding.fingerprint.as_ref(),
        operation_name: &finding.operation_name,
        operations: finding.operations,
        count: finding.count,
        turns: finding.turns,
        saves_turns: finding.saves_turns,
        saves_turns_most: Some(finding.saves_turns_most).filter(|most| *most > finding.saves_turns),
        rtt_ns: saving.rtt,
        saves_ns: saving.saves,
        saves_low_ns: saving.bounds.map(|[low, _]| low),
        saves_high_ns: saving.bounds.map(|[_, high]| high),
        remedied_ns: saving.remedied.map(|one| one.duration),
        remedied_low_ns: saving.remedied.map(|one| one.low),
        remedied_high_ns: saving.remedied.map(|one| one.high),
        owners_likely_right: finding.owners.likely_right().map(Share::as_fraction),
        owners_unrated: finding.owners.are_unrated().then_some(true),
        may_be_others: finding.may_be_others().then_some(true),
        dependent: finding.dependent,
        driver: finding.driver.as_ref(),
        remedy: &finding.remedy,
    }
}

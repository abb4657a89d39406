//! What remedies save, from operations that were replayed without what they leave out.

use link::LinkDescription;
use model::{Finding, FindingKey, FindingKind, Prediction, Saving};
use predict::PredictionTarget;
use predict::remedies::Remedies;
use std::cmp::Reverse;
use std::collections::HashSet;
use std::time::Duration;

/// The findings with their savings replayed where they were, what costs most first.
pub(super) fn priced_by_replays(
    mut findings: Vec<Finding>,
    remedies: &Remedies,
    targets: &[PredictionTarget],
    predictions: &[Prediction],
) -> Vec<Finding> {
    for finding in &mut findings {
        let key = key_of(finding);
        let operations = finding.operations;
        for saving in &mut finding.savings {
            let replayed = targets
                .iter()
                .position(|target| {
                    target.clients <= 1 && target.link == LinkDescription::with_rtt(saving.rtt)
                })
                .and_then(|target| remedies.of(&key, target));
            if let Some(sum) = replayed {
                let each = sum.saved.div_f64(sum.operations as f64);
                saving.saves = each.mul_f64(operations as f64);
                saving.bounds = bounds(saving, &key, predictions);
            }
        }
    }
    findings.sort_by_key(|finding| Reverse(finding.most()));
    findings
}

/// Takes back what operations would take without all that their findings leave out, where a finding among them is not reported after all: its evidence was
/// weak, or too little of it was seen.
pub(super) fn forget_unreported(remedies: &Remedies, findings: &[Finding], predictions: &mut [Prediction]) {
    let reported: HashSet<FindingKey> = findings.iter().map(key_of).collect();
    let of_unreported: HashSet<&str> = remedies
        .findings()
        .filter(|key| !reported.contains(key))
        .map(|key| &*key.operation_name)
        .collect();
    for there in predictions {
        if let Some(examples) = &mut there.examples
            && of_unreported.contains(&*there.operation_name)
        {
            examples.typical.without = None;
            examples.longest.without = None;
        }
    }
}

/// As operations were looked at: whether a loop of writes is a driver's is only known at the end.
fn key_of(finding: &Finding) -> FindingKey {
    FindingKey {
        kind: match finding.kind {
            FindingKind::UnrewrittenBatch => FindingKind::RowByRow,
            kind => kind,
        },
        fingerprint: finding.fingerprint.clone(),
        operation_name: finding.operation_name.clone(),
    }
}

/// As far apart, as a share, as those of the prediction of the operations.
fn bounds(saving: &Saving, key: &FindingKey, predictions: &[Prediction]) -> Option<[Duration; 2]> {
    let there = predictions.iter().find(|there| {
        there.operation_name == key.operation_name && there.rtt == saving.rtt && !there.duration.is_zero()
    })?;
    let share = |bound: Duration| bound.as_secs_f64() / there.duration.as_secs_f64();
    Some([there.low, there.high].map(|bound| saving.saves.mul_f64(share(bound))))
}

//! Savings of remedies, from replays of operations without the parts that remedies leave out.

use link::LinkDescription;
use model::{Finding, FindingKey, FindingKind, Prediction, Remedied};
use predict::PredictionTarget;
use predict::remedies::Remedies;
use std::cmp::Reverse;
use std::collections::HashSet;
use std::time::Duration;

/// Findings with replayed savings, if they were replayed. Most expensive first.
pub(super) fn priced_by_replays(
    mut findings: Vec<Finding>,
    remedies: &Remedies,
    targets: &[PredictionTarget],
    predictions: &[Prediction],
) -> Vec<Finding> {
    for finding in &mut findings {
        let key = key_of(finding);
        let mut savings = std::mem::take(&mut finding.savings);
        for saving in &mut savings {
            let replayed = targets
                .iter()
                .position(|target| {
                    target.clients <= 1 && target.link == LinkDescription::with_rtt(saving.rtt)
                })
                .and_then(|target| remedies.remedy_sum(&key, target));
            if let Some(sum) = replayed {
                let turns = [finding.saves_turns, finding.saves_turns_most];
                let [kept, kept_least] = turns.map(|saves| saving.rtt.mul_f64(turns_kept(finding, saves)));
                let shares = shares(&key, saving.rtt, predictions);
                let all = |each: Duration, kept| each.saturating_sub(kept).mul_f64(finding.operations as f64);
                let [least, likely, most] = sum.saved();
                let [least, likely, most] = [all(least, kept), all(likely, kept), all(most, kept_least)];
                saving.saves = likely;
                saving.bounds = shares.map(|[low, high]| [least.mul_f64(low), most.mul_f64(high)]);
                let [least, likely, most] = sum.left();
                let [least, likely, most] = [least + kept_least, likely + kept, most + kept];
                saving.remedied = shares.map(|[low, high]| Remedied {
                    duration: likely,
                    low: least.mul_f64(low),
                    high: most.mul_f64(high),
                });
            }
        }
        finding.savings = savings;
    }
    findings.sort_by_key(|finding| Reverse(finding.most()));
    findings
}

/// Drops remedied predictions of operations if one of their findings is not reported: its evidence
/// is weak, too little of it was seen, or it may belong to other operations.
pub(super) fn forget_unreported(remedies: &Remedies, findings: &[Finding], predictions: &mut [Prediction]) {
    let reported: HashSet<FindingKey> = model::sure_findings(findings).map(key_of).collect();
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

/// The key from the time of inspection: a loop of writes can be recognised as a driver's only at
/// the end.
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

/// Round trips that the remedy keeps in each operation, if it saves that many. For connections, the
/// attempts to open the one kept.
fn turns_kept(finding: &Finding, saves_turns: u64) -> f64 {
    match finding.kind {
        FindingKind::Reconnect => {
            finding.turns.saturating_sub(saves_turns) as f64 / finding.operations.max(1) as f64
        }
        _ => 0.0,
    }
}

fn shares(key: &FindingKey, rtt: Duration, predictions: &[Prediction]) -> Option<[f64; 2]> {
    let there = predictions.iter().find(|there| {
        there.operation_name == key.operation_name && there.rtt == rtt && !there.duration.is_zero()
    })?;
    Some([there.low, there.high].map(|bound| bound.as_secs_f64() / there.duration.as_secs_f64()))
}

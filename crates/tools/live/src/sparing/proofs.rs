//! `watch --prove`: chooses the findings to spare, and compares them with their promises.

use super::Sparing;
use super::operations::Operations;
use super::spared::Spared;
use super::stage::{Results, Stage};
use model::{Finding, FindingKey, FindingKind, SparingOutcome, Timestamp};
use pipeline::aggregator::Aggregator;
use report::ReadOutcome;
use std::cmp::Reverse;
use std::sync::Arc;
use std::time::Duration;

/// Chooses findings, once enough was observed.
#[derive(Debug)]
pub struct Prover {
    pub sparing: Arc<Sparing>,
    rtt: Duration,
    /// Operations to observe before the next attempt.
    enough: u64,
}

impl Prover {
    /// `rtt` is that of the link, at which findings have to be priced.
    pub fn new(by_request: bool, rtt: Duration) -> Self {
        Self {
            sparing: Sparing::from_operations(Operations::observing(by_request, rtt)),
            rtt,
            enough: MIN_OBSERVED,
        }
    }

    pub fn observed_until(&self) -> Option<Timestamp> {
        self.sparing.operations().observed_until()
    }

    pub fn choose(&mut self, aggregator: &Aggregator) {
        let observed = self.sparing.operations().observed();
        let Some(observed) = observed.filter(|observed| *observed >= self.enough) else {
            return;
        };
        self.enough = observed + observed / 2;
        let findings = aggregator.findings_so_far();
        let stages: Vec<Stage> = dearest(&findings, self.rtt)
            .into_iter()
            .filter_map(stage)
            .take(MAX_PROVED)
            .collect();
        if !stages.is_empty() {
            self.sparing.operations().prove(stages);
        }
    }

    /// For a line of progress.
    pub fn status(&self) -> Option<String> {
        let operations = self.sparing.operations();
        let (number, spared, ended) = operations.proved_now()?;
        Some(format!(
            "proving {number}: {spared}, {}",
            model::counted(ended, "operation", "operations")
        ))
    }
}

fn stage(finding: &Finding) -> Option<Stage> {
    Some(Stage {
        spared: Spared::of_finding(finding)?,
        finding: Some(key(finding)),
    })
}

fn key(finding: &Finding) -> FindingKey {
    FindingKey {
        kind: finding.kind,
        fingerprint: finding.fingerprint.clone(),
        operation_name: finding.operation_name.clone(),
    }
}

/// Findings that save time of their operations at this distance, most expensive first.
fn dearest(findings: &[Finding], rtt: Duration) -> Vec<&Finding> {
    let mut all: Vec<_> = model::sure_findings(findings)
        .filter(|finding| finding.kind != FindingKind::HeldTransaction)
        .filter_map(|finding| Some((saving(finding, rtt)?, finding)))
        .collect();
    all.sort_by_key(|(saves, _)| Reverse(*saves));
    all.into_iter().map(|(_, finding)| finding).collect()
}

fn saving(finding: &Finding, rtt: Duration) -> Option<Duration> {
    let saving = finding.savings.iter().find(|saving| saving.rtt == rtt)?;
    Some(saving.saves).filter(|saves| !saves.is_zero())
}

/// Adds promises of the observed operations, and dear findings that could not be tried.
pub fn add_promises(outcome: &mut ReadOutcome, mut proofs: Vec<SparingOutcome>) {
    let is_proving = proofs.iter().any(|proof| proof.finding.is_some());
    let Some(rtt) = proofs.first().map(|proof| proof.rtt) else {
        return;
    };
    for (place, finding) in dearest(&outcome.findings, rtt).into_iter().enumerate() {
        let saves = saving(finding, rtt).unwrap_or_default();
        let promised = Some(saves.div_f64(finding.operations.max(1) as f64));
        let mut of_it = proofs.iter_mut();
        match of_it.find(|proof| proof.finding.as_ref().is_some_and(|key| is_of(key, finding))) {
            Some(proof) => proof.promised = promised,
            None if place < MAX_PROVED => proofs.push(untried(finding, promised, rtt, is_proving)),
            None => {}
        }
    }
    outcome.sparing = proofs;
}

/// A loop of writes may be known as a driver's only at the end.
fn is_of(key: &FindingKey, finding: &Finding) -> bool {
    let writes = [FindingKind::RowByRow, FindingKind::UnrewrittenBatch];
    let same_kind = key.kind == finding.kind || writes.contains(&key.kind) && writes.contains(&finding.kind);
    same_kind && key.fingerprint == finding.fingerprint && key.operation_name == finding.operation_name
}

fn untried(finding: &Finding, promised: Option<Duration>, rtt: Duration, is_proving: bool) -> SparingOutcome {
    let why = match Spared::of_finding(finding) {
        None => NOT_TOLD_APART.to_owned(),
        Some(_) if is_proving => NOT_CHOSEN.to_owned(),
        Some(_) => format!("it was found too late: proving begins after {MIN_OBSERVED} operations"),
    };
    let stage = Stage {
        spared: Spared::Control,
        finding: Some(key(finding)),
    };
    SparingOutcome {
        promised,
        unspared: Some(why),
        ..stage.outcome(Results::default(), finding.kind.to_string(), rtt)
    }
}

const NOT_TOLD_APART: &str = "longwire cannot tell which exchanges its remedy removes";
const NOT_CHOSEN: &str = "others seemed to save more when proving began";
/// Fewer say little about which findings are dear.
const MIN_OBSERVED: u64 = 20;
const MAX_PROVED: usize = 3;

#[cfg(test)]
mod tests {
    use super::*;
    use model::{FindingOwners, Saving};

    const RTT: Duration = Duration::from_millis(40);

    fn finding(kind: FindingKind, name: &str, saves: Duration) -> Finding {
        Finding {
            kind,
            fingerprint: (kind != FindingKind::Reconnect)
                .then(|| Arc::from("select name from t where id = ?")),
            operation_name: Arc::from(name),
            operations: 20,
            owners: FindingOwners::Known,
            dependent: None,
            count: 100,
            turns: 100,
            saves_turns: 80,
            saves_turns_most: 80,
            savings: vec![Saving {
                rtt: RTT,
                saves,
                bounds: None,
                remedied: None,
            }],
            driver: None,
            remedy: String::new(),
        }
    }

    #[test]
    fn promises_are_of_one_operation_and_dear_findings_that_were_not_tried_are_named() {
        let loops = finding(FindingKind::NPlusOne, "GET /a", Duration::from_secs(5));
        let control = finding(FindingKind::ControlTurns, "GET /a", Duration::from_secs(3));
        let reconnect = finding(FindingKind::Reconnect, "GET /b", Duration::from_secs(1));
        let stages = [&loops, &reconnect].map(|finding| stage(finding).expect("it can be spared"));
        let proofs = stages.map(|stage| stage.outcome(Results::default(), String::new(), RTT));
        let mut outcome = ReadOutcome {
            findings: vec![reconnect, control, loops],
            ..ReadOutcome::default()
        };
        add_promises(&mut outcome, proofs.into());
        let [first, second, untried] = &outcome.sparing[..] else {
            panic!("{outcome:?}");
        };
        assert_eq!(first.promised, Some(Duration::from_millis(250)));
        assert_eq!(second.promised, Some(Duration::from_millis(50)));
        assert_eq!(untried.promised, Some(Duration::from_millis(150)));
        assert!(untried.refusal().is_some_and(|why| why.contains("cannot tell")));
    }
}

//! Findings of the run, and whether they certainly belong to the operations that they name.

use super::{InspectedOperation, RunSink, SoFar, Window};
use analysis::fact::Fact;
use analysis::findings::{Findings, FindingsReport};
use model::{Finding, FindingOwners, OperationGroup, Warning, WarningKind};
use report::ReadOutcome;
use std::io;
use std::time::Duration;

impl RunSink for Findings {
    fn fact(&mut self, fact: &Fact) -> io::Result<()> {
        Findings::fact(self, fact);
        Ok(())
    }

    fn operation(&mut self, inspected: &mut InspectedOperation) -> io::Result<()> {
        inspected.found = Findings::operation(self, &inspected.operation);
        Ok(())
    }

    fn so_far(&mut self, _: usize, prices: &[Duration], so_far: &mut SoFar) {
        let found = Findings::so_far(self, prices);
        so_far.outcome.findings = with_owners(found.findings, &so_far.outcome.operations);
    }

    fn end_window(&mut self, window: &mut Window) -> io::Result<()> {
        let found = Findings::end_window(self);
        window.warnings.extend(no_room(&found));
        window.findings = with_owners(found.findings, &window.totals.operations);
        Ok(())
    }

    fn conclude(&mut self, outcome: &mut ReadOutcome) {
        let found = Findings::end_window(self);
        outcome.warnings.extend(no_room(&found));
        outcome.findings = with_owners(found.findings, &outcome.operations);
    }
}

fn with_owners(mut findings: Vec<Finding>, groups: &[OperationGroup]) -> Vec<Finding> {
    for finding in &mut findings {
        finding.owners = FindingOwners::new(finding, groups);
    }
    findings
}

fn no_room(found: &FindingsReport) -> Option<Warning> {
    (found.left_out > 0).then(|| {
        let text = format!(
            "too many different findings: {} more were left out; read fewer connections at a time",
            found.left_out
        );
        Warning::new(WarningKind::LeftOut, text)
    })
}

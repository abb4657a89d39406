//! Decides whether findings certainly belong to the operations that they name.

use model::{Finding, FindingOwners, OperationGroup};

pub(super) fn with_owners(mut findings: Vec<Finding>, groups: &[OperationGroup]) -> Vec<Finding> {
    for finding in &mut findings {
        finding.owners = FindingOwners::new(finding, groups);
    }
    findings
}

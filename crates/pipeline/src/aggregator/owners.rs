//! Whether findings are known to be those of the operations that they name.

use model::{Finding, FindingOwners, OperationGroup};

/// The findings, each with what is known of its owners by the operations of its name.
pub(super) fn with_owners(mut findings: Vec<Finding>, groups: &[OperationGroup]) -> Vec<Finding> {
    for finding in &mut findings {
        finding.owners = FindingOwners::new(finding, groups);
    }
    findings
}

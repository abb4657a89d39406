//! What traffic showed.

use model::{
    Conditions, ConnectionOutcome, Finding, HeldPrediction, HeldTransactions, LinkOutcome, OperationGroup,
    Prediction, RecognisedStatement, StatementOutcome, Summary, Warning,
};

use std::sync::Arc;

/// What `read` and `watch` have to say: everything the view is made from.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ReadOutcome {
    /// Under which conditions.
    pub conditions: Conditions,
    /// The connections, in any order; those with most round trips suffice, [`Summary::connections`] is how
    /// many there were.
    pub connections: Vec<ConnectionOutcome>,
    /// The statements, in any order.
    pub statements: Vec<StatementOutcome>,
    /// Those whose preparation was not seen, and whose text a later preparation has shown: they are summed in
    /// the rows of their texts.
    pub recognised: Vec<RecognisedStatement>,
    /// The operations by name, in any order.
    pub operations: Vec<OperationGroup>,
    /// Their transactions that stayed open between replies, those open longest in all first.
    pub held: Vec<HeldTransactions>,
    /// What a reader of the figures must know.
    pub warnings: Vec<Warning>,
    /// What the operations would take on other links; empty when that was not asked.
    pub predictions: Vec<Prediction>,
    /// Names of operations that were to be predicted and wait for no round trip on a connection that moves:
    /// what distance does to them is not known.
    pub unmoved: Vec<Arc<str>>,
    /// How long their transactions would be open there.
    pub held_predictions: Vec<HeldPrediction>,
    /// What is wasted, what costs most first.
    pub findings: Vec<Finding>,
    /// Links that were emulated.
    pub links: Vec<LinkOutcome>,
    /// The totals.
    pub summary: Summary,
}

impl ReadOutcome {
    /// The findings that are known to be of the operations that they name, as far as may be.
    pub fn sure_findings(&self) -> impl Iterator<Item = &Finding> {
        self.findings.iter().filter(|finding| !finding.may_be_others())
    }
}

//! Outcome of `read` and `watch`.

use model::{
    Conditions, ConnectionOutcome, Finding, HeldPrediction, HeldTransactions, LinkOutcome, OperationGroup,
    Prediction, RecognisedStatement, SparingOutcome, StatementOutcome, Strays, Summary, Warning,
};

use std::sync::Arc;

#[derive(Debug, Clone, PartialEq, Default)]
pub struct ReadOutcome {
    pub conditions: Conditions,
    /// Those with most round trips suffice, in any order; [`Summary::connections`] is the total.
    pub connections: Vec<ConnectionOutcome>,
    pub statements: Vec<StatementOutcome>,
    /// Statements with an unseen preparation and a text from a later one. They are summed under
    /// their texts.
    pub recognised: Vec<RecognisedStatement>,
    pub operations: Vec<OperationGroup>,
    pub strays: Option<Strays>,
    /// Transactions that stay open between replies, longest total first.
    pub held: Vec<HeldTransactions>,
    pub warnings: Vec<Warning>,
    /// Predictions are empty unless requested.
    pub predictions: Vec<Prediction>,
    /// Operations to predict that wait for no round trip on a connection that moves. Their
    /// dependence on distance is unknown.
    pub unmoved: Vec<Arc<str>>,
    pub held_predictions: Vec<HeldPrediction>,
    /// Findings, most expensive first.
    pub findings: Vec<Finding>,
    pub links: Vec<LinkOutcome>,
    pub sparing: Option<SparingOutcome>,
    pub summary: Summary,
}

impl ReadOutcome {
    /// Excludes findings that may belong to other operations.
    pub fn sure_findings(&self) -> impl Iterator<Item = &Finding> {
        model::sure_findings(&self.findings)
    }
}

//! Outcome of `read` and `watch`.

use model::{
    Conditions, ConnectionOutcome, Evidence, Finding, HeldPrediction, HeldTransactions, LinkOutcome,
    OperationGroup, Prediction, RecognisedStatement, SparingOutcome, StatementOutcome, Strays, Summary,
    Warning,
};

use serde::Serialize;
use std::collections::BTreeSet;
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
    pub sparing: Vec<SparingOutcome>,
    pub summary: Summary,
}

/// Operations of one name without a prediction.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct NotPredicted {
    pub operation_name: Arc<str>,
    pub operations: u64,
    pub refused: String,
}

impl ReadOutcome {
    /// Names without a prediction, if predictions were requested.
    pub fn not_predicted(&self) -> impl Iterator<Item = NotPredicted> {
        let predictions = self.predictions.iter();
        let predicted: BTreeSet<&Arc<str>> = predictions.map(|one| &one.operation_name).collect();
        let seen = self.operations.iter().filter(|group| group.count > 0);
        let others = seen.filter(move |group| !predicted.contains(&group.name));
        others.map(|group| NotPredicted {
            operation_name: Arc::clone(&group.name),
            operations: group.count,
            refused: self.refusal(group),
        })
    }

    fn refusal(&self, group: &OperationGroup) -> String {
        if let Err(own) = group.evidence.enough_own() {
            return format!(
                "about {own} of its round trips are its own, most likely, and {:.0} % have to be",
                Evidence::LIKELY_ENOUGH * 100.0
            );
        }
        match self.unmoved.contains(&group.name) {
            true => "no connection of it moves: --on names those that do".to_owned(),
            false => "none of them is complete".to_owned(),
        }
    }

    /// Excludes findings that may belong to other operations.
    pub fn sure_findings(&self) -> impl Iterator<Item = &Finding> {
        model::sure_findings(&self.findings)
    }
}

//! Chooses the name of a transaction.
//!
//! The route, or controller and action, in a statement's comment ([`model::Tags`]). Otherwise the
//! first working statement that runs (reads, writes, calls, defines); otherwise the next best: a
//! prepared statement, a connection test, a control statement.

use crate::verb;
use model::Exchange;
use std::sync::Arc;

#[derive(Debug, Clone, Default)]
pub(super) struct Naming {
    name: Option<Arc<str>>,
    aptness: Aptness,
}

/// Aptness of a statement as a name, ascending.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
enum Aptness {
    #[default]
    Nothing,
    Control,
    Trial,
    Prepared,
    Work,
    Tagged,
}

impl Naming {
    /// The first of equally apt exchanges wins.
    pub(super) fn offer(&mut self, exchange: &Exchange) {
        if self.aptness == Aptness::Tagged {
            return;
        }
        if let Some(name) = exchange.tags.as_ref().and_then(|tags| tags.operation_name()) {
            self.aptness = Aptness::Tagged;
            self.name = Some(name);
            return;
        }
        let Some(fingerprint) = &exchange.fingerprint else {
            return;
        };
        if self.aptness == Aptness::Work {
            return;
        }
        let aptness = aptness(fingerprint, exchange.executions);
        if aptness > self.aptness {
            self.aptness = aptness;
            self.name = Some(match fingerprint.trim_end_matches(';').is_empty() {
                true => Arc::from(CONNECTION_CHECK),
                false => fingerprint.clone(),
            });
        }
    }

    pub(super) fn name(&self) -> Option<&Arc<str>> {
        self.name.as_ref()
    }
}

fn aptness(fingerprint: &str, executions: u32) -> Aptness {
    match () {
        () if verb::is_trial(fingerprint) => Aptness::Trial,
        () if !verb::is_work(fingerprint) => Aptness::Control,
        () if executions > 0 => Aptness::Work,
        () => Aptness::Prepared,
    }
}

/// Name of an empty statement, as pools send to test connections.
const CONNECTION_CHECK: &str = "connection check";

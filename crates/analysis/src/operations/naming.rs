//! The name of a transaction: the one place where it is chosen.
//!
//! The route, or controller and action, that a comment of one of its statements carries ([`model::Tags`]).
//! Without any: the first statement that works (reads, writes, calls, defines) and runs; without one, what
//! comes nearest to it: a statement that was only prepared, a test of the connection, a statement that
//! controls the transaction or the session.

use crate::verb;
use model::Exchange;
use std::sync::Arc;

/// The best name so far.
#[derive(Debug, Clone, Default)]
pub(super) struct Naming {
    name: Option<Arc<str>>,
    aptness: Aptness,
}

/// How well a statement names its transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
enum Aptness {
    /// No statement.
    #[default]
    Nothing,
    /// It controls the transaction or the session.
    Control,
    /// It tests whether the connection works.
    Trial,
    /// It works, and is prepared.
    Prepared,
    /// It works, and runs.
    Work,
    /// It carries the name of the request that it was sent for.
    Tagged,
}

impl Naming {
    /// Takes the next exchange of the transaction; of equally apt ones the first counts.
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
        let aptness = aptness(fingerprint, exchange.executions);
        if aptness > self.aptness {
            self.aptness = aptness;
            self.name = Some(match fingerprint.trim_end_matches(';').is_empty() {
                true => Arc::from(CONNECTION_CHECK),
                false => fingerprint.clone(),
            });
        }
    }

    /// The name; `None` while there was no statement.
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

/// The name of an empty statement: pools send one to test a connection.
const CONNECTION_CHECK: &str = "connection check";

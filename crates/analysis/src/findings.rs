//! Findings: what is wasteful in the traffic, and what its remedy would save.
//!
//! [`Findings`] is given every fact and every operation. For each operation [`operation_view`] lists the
//! round trips of its database connections; then the kinds look at it one after another, in the order of
//! [`KINDS`], each in a file of its own. A kind notes what it found in the [`ledger`] and claims the turns it
//! reports: no later kind reports them again, so that savings may be added. At the end the ledger drops what
//! is too small to report, or may be no waste at all, prices the rest, and names the remedy for the driver
//! that was seen.
//!
//! What each kind means, and how it misleads: docs/findings.md.

mod ack_stall;
mod clients;
mod comment_defeats_cache;
mod compression_not_asked;
mod control;
mod control_turns;
mod fingerprint_ids;
mod framework_remedies;
mod frameworks;
mod held_transaction;
mod ledger;
mod listener_turn;
mod loops;
mod n_plus_one;
mod no_compression;
mod one_shot_prepare;
mod operation_view;
mod pages;
mod reconnect;
mod redirected;
mod remedies;
mod repeated_read;
mod row_by_row;
mod sequential;
mod series;
mod small_fetch;
mod software;
mod unrewritten_batch;
mod window_limited;

use crate::fact::Fact;
use clients::Clients;
use comment_defeats_cache::Preparations;
use fingerprint_ids::FingerprintIds;
use ledger::Ledger;
use model::{BitRate, Finding, LeftOut, Operation};
use one_shot_prepare::PreparedBefore;
use operation_view::{OperationView, Turns};
use series::{AllSeries, Series};
use std::time::Duration;

/// The distances at which savings are reported.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Distances {
    /// Round trips; ascending.
    pub rtts: Vec<Duration>,
    /// Rate of the link, where it is known: what compression would save is reported only then.
    pub rate: Option<BitRate>,
}

/// Looks for waste in facts and operations as they come.
///
/// Memory: a few notes for each of at most [`clients::MAX_CONNECTIONS`] connections, of at most
/// [`comment_defeats_cache::MAX_PREPARATIONS`] and [`one_shot_prepare::MAX_PREPARED`] prepared statements of
/// theirs, [`fingerprint_ids::MAX_CODES`] fingerprints and [`ledger::MAX_ENTRIES`] findings,
/// [`series::MAX_TOTAL_STATEMENTS`] autocommitted statements, and the round trips of one operation.
#[derive(Debug)]
pub struct Findings {
    distances: Distances,
    clients: Clients,
    codes: FingerprintIds,
    ledger: Ledger,
    turns: Turns,
    preparations: Preparations,
    prepared_before: PreparedBefore,
    series: AllSeries,
}

/// What was found.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FindingsReport {
    /// What costs most at the longest round trip asked first.
    pub findings: Vec<Finding>,
    /// Findings for which there was no room.
    pub left_out: u64,
}

/// What was found in one operation.
#[derive(Debug, Clone, Default)]
pub struct InOperation {
    /// Whether there is waste in it, however little.
    pub is_waste: bool,
    /// What remedies leave out of it.
    pub left_out: Vec<LeftOut>,
}

/// One kind's look at an operation.
type Kind = fn(&mut OperationView<'_>);

/// The kinds that look at operations, first those whose claim takes precedence over that of others.
const KINDS: &[Kind] = &[
    reconnect::detect_waste,
    listener_turn::detect_waste,
    redirected::detect_waste,
    control_turns::detect_waste,
    row_by_row::detect_waste,
    small_fetch::detect_waste,
    n_plus_one::detect_waste,
    repeated_read::detect_waste,
    comment_defeats_cache::detect_waste,
    one_shot_prepare::detect_waste,
    sequential::detect_waste,
    ack_stall::detect_waste,
    window_limited::detect_waste,
    held_transaction::detect_waste,
];

/// Those that look at what lies across operations.
const OF_SERIES: &[Kind] = &[
    control_turns::detect_waste,
    row_by_row::detect_waste,
    small_fetch::detect_waste,
    n_plus_one::detect_waste,
    repeated_read::detect_waste,
];

impl Findings {
    /// Nothing found yet.
    pub fn new(distances: Distances) -> Self {
        Self {
            distances,
            clients: Clients::default(),
            codes: FingerprintIds::default(),
            ledger: Ledger::default(),
            turns: Turns::default(),
            preparations: Preparations::default(),
            prepared_before: PreparedBefore::default(),
            series: AllSeries::default(),
        }
    }

    /// Takes the next fact; before the operations that follow from it.
    pub fn fact(&mut self, fact: &Fact) {
        self.clients.fact(fact);
        if let Fact::Closed(outcome) = fact {
            compression_not_asked::detect_waste(outcome, &mut self.ledger);
            if let Some(series) = self.series.end(outcome.id) {
                self.look_at_series(&series);
            }
        }
    }

    /// Takes the next operation, or part of one.
    pub fn operation(&mut self, operation: &Operation) -> InOperation {
        let noted = self.ledger.noted();
        self.turns.list(operation, &mut self.codes);
        for turn in &self.turns.all {
            let exchange = operation.steps.get(turn.step).map(|step| &step.exchange);
            let tags = exchange.and_then(|exchange| exchange.tags.as_deref());
            self.clients.statement(turn.connection, turn.code, tags);
        }
        let rate = self.distances.rate;
        let mut view = self.look_at(operation, KINDS);
        if let Some(rate) = rate {
            no_compression::detect_waste(&mut view, rate);
        }
        let left_out = view.left_out;
        if let Some(series) = self.series.process_operation(operation, &self.turns.all) {
            self.look_at_series(&series);
        }
        InOperation {
            is_waste: self.ledger.noted() > noted,
            left_out,
        }
    }

    /// Looks for loops across operations.
    fn look_at_series(&mut self, series: &Series) {
        let Some(operation) = series.as_operation() else {
            return;
        };
        self.turns.list(&operation, &mut self.codes);
        for turn in &mut self.turns.all {
            turn.is_claimed |= series.is_claimed(turn.step);
        }
        self.look_at(&operation, OF_SERIES);
    }

    /// Lets `kinds` look at an operation whose round trips are listed, one after another.
    fn look_at<'a>(&'a mut self, operation: &'a Operation, kinds: &[Kind]) -> OperationView<'a> {
        let mut view = OperationView {
            operation,
            turns: &mut self.turns,
            clients: &self.clients,
            ledger: &mut self.ledger,
            preparations: &mut self.preparations,
            claimed: Vec::new(),
            left_out: Vec::new(),
            prepared_before: &mut self.prepared_before,
        };
        for kind in kinds {
            kind(&mut view);
        }
        view
    }

    /// What was found since the last call, or the beginning; looks on with nothing found.
    pub fn end_window(&mut self) -> FindingsReport {
        let next = Self::new(self.distances.clone());
        std::mem::replace(self, next).finish()
    }

    /// The run is over.
    pub fn finish(mut self) -> FindingsReport {
        for series in self.series.end_all() {
            self.look_at_series(&series);
        }
        self.so_far_priced()
    }

    /// What was found so far, priced at the round trips requested at the beginning.
    pub fn so_far_priced(&self) -> FindingsReport {
        self.so_far(&self.distances.rtts)
    }

    /// What was found so far, priced at these round trips.
    pub fn so_far(&self, rtts: &[Duration]) -> FindingsReport {
        self.ledger.so_far(&self.clients, rtts)
    }
}

#[cfg(test)]
mod tests;

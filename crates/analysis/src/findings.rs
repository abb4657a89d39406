//! Findings: what is wasteful in the traffic, and what its remedy would save.
//!
//! [`Findings`] is given every fact and every operation. For each operation [`look`] lists the round trips of its database connections;
//! then the kinds look at it one after another, in the order of [`KINDS`], each in a file of its own. A kind notes what it
//! found in the [`ledger`] and claims the turns it reports: no later kind reports them again, so that savings may be added.
//! At the end the ledger drops what is too small to report, or may be no waste at all, prices the rest, and names the remedy
//! for the driver that was seen.
//!
//! What each kind means, and how it misleads: docs/findings.md.

mod ack_stall;
mod clients;
mod codes;
mod comment_defeats_cache;
mod compression_not_asked;
mod control;
mod control_turns;
mod framework_remedies;
mod frameworks;
mod held_transaction;
mod ledger;
mod listener_turn;
mod look;
mod loops;
mod n_plus_one;
mod no_compression;
mod one_shot_prepare;
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
use codes::Codes;
use comment_defeats_cache::Preparations;
use ledger::Ledger;
use look::{Look, Turns};
use model::{BitRate, Finding, LeftOut, Operation};
use one_shot_prepare::PreparedBefore;
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
/// Memory: a few notes for each of at most [`clients::MOST_CONNECTIONS`] connections, of at most
/// [`comment_defeats_cache::MOST_PREPARATIONS`] and [`one_shot_prepare::MOST_PREPARED`] prepared statements of theirs, [`codes::MOST_CODES`] fingerprints and
/// [`ledger::MOST_ENTRIES`] findings, [`series::MOST_IN_ALL`] autocommitted statements, and the round trips of one operation.
#[derive(Debug)]
pub struct Findings {
    distances: Distances,
    clients: Clients,
    codes: Codes,
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
type Kind = fn(&mut Look<'_>);

/// The kinds that look at operations, first those whose claim takes precedence over that of others.
const KINDS: &[Kind] = &[
    reconnect::look,
    listener_turn::look,
    redirected::look,
    control_turns::look,
    row_by_row::look,
    small_fetch::look,
    n_plus_one::look,
    repeated_read::look,
    comment_defeats_cache::look,
    one_shot_prepare::look,
    sequential::look,
    ack_stall::look,
    window_limited::look,
    held_transaction::look,
];

/// Those that look at what lies across operations.
const OF_SERIES: &[Kind] = &[
    control_turns::look,
    row_by_row::look,
    small_fetch::look,
    n_plus_one::look,
    repeated_read::look,
];

impl Findings {
    /// Nothing found yet.
    pub fn new(distances: Distances) -> Self {
        Self {
            distances,
            clients: Clients::default(),
            codes: Codes::default(),
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
            compression_not_asked::look(outcome, &mut self.ledger);
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
        let mut look = self.look_at(operation, KINDS);
        if let Some(rate) = rate {
            no_compression::look(&mut look, rate);
        }
        let left_out = look.left_out;
        if let Some(series) = self.series.take(operation, &self.turns.all) {
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
    fn look_at<'a>(&'a mut self, operation: &'a Operation, kinds: &[Kind]) -> Look<'a> {
        let mut look = Look {
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
            kind(&mut look);
        }
        look
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

    /// What was found so far, priced at the round trips asked for at the beginning.
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

//! Findings: wasteful patterns in the traffic, and the saving of their remedies.
//!
//! [`Findings`] receives every fact and every operation. [`operation_view`] lists the round trips
//! of an operation's connections to databases and called services; then the kinds inspect it in the
//! order of [`KINDS`]. A kind records its findings in the [`ledger`] and claims the turns it
//! reports: no later kind reports them again, so savings can be added up. At the end the ledger
//! drops findings that are too small or may be no waste, prices the rest, and names the remedy for
//! the driver in use.
//!
//! Meaning and caveats of each kind: docs/findings.md.

mod ack_stall;
mod clients;
mod comment_defeats_cache;
mod compression_not_asked;
mod control;
mod control_turns;
mod fingerprint_ids;
mod flow_control;
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
mod preparations;
mod reconnect;
mod redirected;
mod remedies;
mod repeated_read;
mod row_by_row;
mod sequential;
mod series;
mod similar_requests;
mod small_fetch;
mod software;
mod unrewritten_batch;
mod window_limited;

use crate::fact::Fact;
use clients::Clients;
use fingerprint_ids::FingerprintIds;
use ledger::Ledger;
use model::{BitRate, Finding, LeftOut, Operation};
use operation_view::{OperationView, Turns};
use preparations::{Preparations, PreparedBefore};
pub use reconnect::{round_trips_kept, sets_up_connection};
use series::{AllSeries, Series};
use std::time::Duration;

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Distances {
    pub rtts: Vec<Duration>,
    /// Rate of the link. `None` if unknown: savings of compression are then not reported.
    pub rate: Option<BitRate>,
}

impl Distances {
    pub fn ascending(rtts: impl IntoIterator<Item = Duration>, rate: Option<BitRate>) -> Self {
        let mut rtts: Vec<Duration> = rtts.into_iter().collect();
        rtts.sort_unstable();
        rtts.dedup();
        Self { rtts, rate }
    }
}

/// Looks for waste in facts and operations.
///
/// Memory is bounded: [`clients::MAX_CONNECTIONS`] connections, with
/// [`preparations::MAX_PREPARATIONS`] and [`preparations::MAX_PREPARED`] prepared
/// statements; [`fingerprint_ids::MAX_CODES`] fingerprints; [`ledger::MAX_ENTRIES`] findings;
/// [`series::MAX_TOTAL_STATEMENTS`] autocommitted statements; the round trips of one operation.
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

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FindingsReport {
    /// Highest cost at the longest round trip first.
    pub findings: Vec<Finding>,
    /// Findings beyond the ledger's limit.
    pub left_out: u64,
}

#[derive(Debug, Clone, Default)]
pub struct InOperation {
    /// Whether the operation has any waste, however small.
    pub is_waste: bool,
    /// Round trips that the remedies remove.
    pub left_out: Vec<LeftOut>,
}

type Kind = fn(&mut OperationView<'_>);

/// In order of precedence: an earlier kind's claim wins.
const KINDS: &[Kind] = &[
    reconnect::detect_waste,
    listener_turn::detect_waste,
    redirected::detect_waste,
    control_turns::detect_waste,
    row_by_row::detect_waste,
    small_fetch::detect_waste,
    n_plus_one::detect_waste,
    repeated_read::detect_waste,
    similar_requests::detect_waste,
    comment_defeats_cache::detect_waste,
    one_shot_prepare::detect_waste,
    sequential::detect_waste,
    ack_stall::detect_waste,
    window_limited::detect_waste,
    flow_control::detect_waste,
    held_transaction::detect_waste,
];

const OF_SERIES: &[Kind] = &[
    control_turns::detect_waste,
    row_by_row::detect_waste,
    small_fetch::detect_waste,
    n_plus_one::detect_waste,
    repeated_read::detect_waste,
];

impl Findings {
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

    /// Must come before the operations that follow from the fact.
    pub fn fact(&mut self, fact: &Fact) {
        self.clients.fact(fact);
        if let Fact::Closed(outcome) = fact {
            compression_not_asked::detect_waste(outcome, &mut self.ledger);
            if let Some(series) = self.series.end(outcome.id) {
                self.look_at_series(&series);
            }
        }
    }

    /// Accepts an operation, or a part of one.
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

    /// Returns the findings since the last call and starts afresh.
    pub fn end_window(&mut self) -> FindingsReport {
        let next = Self::new(self.distances.clone());
        std::mem::replace(self, next).finish()
    }

    pub fn finish(mut self) -> FindingsReport {
        for series in self.series.end_all() {
            self.look_at_series(&series);
        }
        self.so_far_priced()
    }

    /// Current findings, priced at the round trips set at the beginning.
    pub fn so_far_priced(&self) -> FindingsReport {
        self.so_far(&self.distances.rtts)
    }

    /// Current findings, priced at `rtts`.
    pub fn so_far(&self, rtts: &[Duration]) -> FindingsReport {
        self.ledger.so_far(&self.clients, rtts)
    }
}

#[cfg(test)]
mod tests;

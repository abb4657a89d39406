//! Sums of operations, and of transactions held in them.

use crate::metrics::family::{FamilyKind, Label, Series, SeriesFamily, SeriesValue};
use crate::metrics::histogram::{Histogram, Quantity};
use crate::metrics::names::{Cost, Mergeable, OTHER, TopNames};
use crate::metrics::parts::{PartFamilies, PartNames, Parts};
use crate::metrics::text::short;
use model::{Attribution, Operation, OperationKind, OperationTransaction};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

type OperationKey = (OperationKind, Arc<str>);

type HeldKey = (Arc<str>, Arc<str>);

/// By kind and name.
#[derive(Debug)]
pub(crate) struct OperationSums {
    names: TopNames<OperationKey, Parts>,
    held: TopNames<HeldKey, HeldSums>,
    /// Sums of operations emitted in parts, by number.
    unfinished: HashMap<u64, Unfinished>,
}

#[derive(Debug, Default)]
struct Unfinished {
    duration: Duration,
    attribution: Attribution,
    turns: u64,
}

#[derive(Debug)]
struct HeldSums {
    open: Histogram,
    rows: Histogram,
}

impl Default for HeldSums {
    fn default() -> Self {
        Self {
            open: Histogram::new(Quantity::Time),
            rows: Histogram::new(Quantity::Time),
        }
    }
}

impl Mergeable for HeldSums {
    fn merge(&mut self, other: &Self) {
        self.open.merge(&other.open);
        self.rows.merge(&other.rows);
    }
}

impl OperationSums {
    /// `most` limits names of operations, and of transactions.
    pub(crate) fn new(most: usize) -> Self {
        Self {
            names: TopNames::new(most),
            held: TopNames::new(most),
            unfinished: HashMap::new(),
        }
    }

    /// Accepts an operation, or a part of one.
    pub(crate) fn process_operation(&mut self, operation: &Operation, now: u64) {
        for transaction in operation.ended_transactions() {
            self.held(&operation.name, transaction, now);
        }
        let mut sum = self.unfinished.remove(&operation.id).unwrap_or_default();
        sum.duration += operation.duration;
        sum.attribution.add(&operation.attribution);
        sum.turns += u64::from(operation.turns);
        if operation.continues {
            self.unfinished.insert(operation.id, sum);
            return;
        }
        let cost = Cost {
            turns: sum.turns,
            time: sum.duration,
        };
        let key = (operation.kind, operation.name.clone());
        let parts = self.names.at(&key, cost, now);
        parts.operation(sum.duration, &sum.attribution, sum.turns);
    }

    fn held(&mut self, operation: &Arc<str>, transaction: &OperationTransaction, now: u64) {
        let held = &transaction.held;
        let cost = Cost {
            turns: u64::from(held.turns),
            time: held.total(),
        };
        let key = (operation.clone(), transaction.name.clone());
        let sums = self.held.at(&key, cost, now);
        sums.open.add_time(held.total());
        if held.writes > 0 {
            sums.rows.add_time(held.after_write.total());
        }
    }

    pub(crate) fn refresh(&mut self, now: u64) {
        self.names.refresh(now);
        self.held.refresh(now);
    }

    /// Names that lost their series.
    pub(crate) const fn merged(&self) -> u64 {
        self.names.merged() + self.held.merged()
    }

    pub(crate) fn families(&self) -> impl Iterator<Item = SeriesFamily> {
        let mut parts = PartFamilies::new(&OPERATION_PARTS);
        for (key, sums, since) in self.names.values() {
            let labels = match key {
                Some((kind, name)) => vec![("kind", Arc::from(kind.name())), ("operation", short(name))],
                None => vec![("kind", Arc::from(OTHER)), ("operation", Arc::from(OTHER))],
            };
            parts.add(&labels, sums, since);
        }
        parts.into_families().chain(self.held_families())
    }

    fn held_families(&self) -> [SeriesFamily; 2] {
        let histogram =
            |name, otel_name, help| SeriesFamily::new(name, otel_name, help, FamilyKind::Histogram);
        let mut open = histogram(
            "longwire_transaction_held_seconds",
            "longwire.transaction.held",
            "How long transactions were open that stayed open between two replies, as their server saw it.",
        );
        let mut rows = histogram(
            "longwire_transaction_rows_held_seconds",
            "longwire.transaction.rows_held",
            "From the first statement that writes to the end of its transaction: others may wait for its rows.",
        );
        for (key, sums, since) in self.held.values() {
            let (operation, name) = match key {
                Some((operation, name)) => (short(operation), short(name)),
                None => (Arc::from(OTHER), Arc::from(OTHER)),
            };
            let labels: Vec<Label> = vec![("operation", operation), ("transaction", name)];
            for (family, histogram) in [(&mut open, &sums.open), (&mut rows, &sums.rows)] {
                if histogram.count() > 0 {
                    family.series.push(Series {
                        labels: labels.clone(),
                        since,
                        value: SeriesValue::Histogram(histogram.clone()),
                    });
                }
            }
        }
        [open, rows]
    }
}

const OPERATION_PARTS: PartNames = PartNames {
    families: [
        (
            "longwire_operation_duration_seconds",
            "longwire.operation.duration",
            "How long users waited for operations: requests, transactions, connections.",
        ),
        (
            "longwire_operation_turns",
            "longwire.operation.turns",
            "Round trips that were waited for, of each operation.",
        ),
        (
            "longwire_operation_network_seconds",
            "longwire.operation.network.duration",
            "Of the duration of an operation, the network's part.",
        ),
        (
            "longwire_operation_server_seconds",
            "longwire.operation.server.duration",
            "Of the duration of an operation, the servers' part.",
        ),
        (
            "longwire_operation_client_seconds",
            "longwire.operation.client.duration",
            "Of the duration of an operation, the client's part.",
        ),
    ],
};

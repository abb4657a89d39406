//! Figures of operations and statements, as measured or predicted for another link.

use crate::Tab;
use crate::distance::COST_RTT;
use crate::history::History;
use crate::snapshot::{LinkForecast, Snapshot};
use analysis::paces::Paces;
use model::{Attribution, OperationGroup, Prediction, StatementOutcome};
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

#[derive(Debug, Clone)]
pub(crate) struct Figures {
    pub(crate) name: Arc<str>,
    /// Recent calls per second.
    pub(crate) calls: Option<f64>,
    /// Mean round trips per call.
    pub(crate) turns: Option<f64>,
    pub(crate) p50: Option<Duration>,
    pub(crate) p99: Option<Duration>,
    /// Time by cause, summed over calls.
    pub(crate) parts: Parts,
    /// Total time of round trips.
    pub(crate) lost: Option<Duration>,
    /// Extra time per call for [`COST_RTT`].
    pub(crate) cost: Option<Duration>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Parts {
    pub(crate) client: Duration,
    pub(crate) network: Duration,
    pub(crate) server: Duration,
    pub(crate) pooler: Duration,
    pub(crate) unknown: Duration,
}

#[derive(Clone, Copy)]
pub(crate) struct Sources<'a> {
    pub(crate) snapshot: &'a Snapshot,
    pub(crate) history: &'a History,
    /// For the chosen link, or for [`COST_RTT`].
    pub(crate) forecast: Option<&'a LinkForecast>,
    /// Whether the forecast is shown.
    pub(crate) elsewhere: bool,
}

impl Parts {
    pub(crate) fn total(&self) -> Duration {
        self.client + self.network + self.server + self.pooler + self.unknown
    }

    fn add(&mut self, other: Self) {
        self.client += other.client;
        self.network += other.network;
        self.server += other.server;
        self.pooler += other.pooler;
        self.unknown += other.unknown;
    }
}

impl From<&Attribution> for Parts {
    fn from(attribution: &Attribution) -> Self {
        Self {
            client: attribution.client,
            network: attribution.network(),
            server: attribution.server,
            pooler: attribution.pooler,
            unknown: attribution.unknown,
        }
    }
}

impl Sources<'_> {
    pub(crate) fn operations(&self) -> Vec<Figures> {
        let predictions = by_name(self.forecast.map_or(&[][..], |forecast| &forecast.operations));
        let groups = self.snapshot.outcome.operations.iter();
        groups
            .map(|group| {
                let prediction = predictions.get(&*group.name).copied();
                let calls = self.history.calls(Tab::Operations, &group.name);
                let cost = prediction.map(cost);
                match self.elsewhere {
                    false => Figures {
                        calls,
                        cost,
                        ..measured_operation(group)
                    },
                    true => Figures {
                        calls: self.calls_there(calls, |paces| paces.operation(&group.name)),
                        ..there(&group.name, group.count, prediction)
                    },
                }
            })
            .collect()
    }

    pub(crate) fn statements(&self) -> Vec<Figures> {
        let predictions = by_name(self.forecast.map_or(&[][..], |forecast| &forecast.statements));
        let rtt = self.snapshot.current.least_rtt;
        let statements = self.snapshot.outcome.statements.iter();
        statements
            .map(|statement| {
                let name = &statement.fingerprint;
                let prediction = predictions.get(&**name).copied();
                let calls = self.history.calls(Tab::Statements, name);
                let measured = measured_statement(statement, rtt);
                match self.elsewhere {
                    false => Figures {
                        calls,
                        // An exchange may carry several calls, and a call several exchanges.
                        cost: prediction.map(|one| per_call(cost(one), statement)),
                        ..measured
                    },
                    true => Figures {
                        calls: self.calls_there(calls, |paces| paces.statement(name)),
                        turns: measured.turns,
                        ..there(name, statement.spread.count, prediction)
                    },
                }
            })
            .collect()
    }

    /// Time by cause over all operations, and their mean duration.
    pub(crate) fn all(&self) -> (Parts, Option<Duration>) {
        let summary = &self.snapshot.outcome.summary;
        if !self.elsewhere {
            let parts = Parts::from(&summary.attribution);
            return (parts, mean(parts.total(), summary.operations));
        }
        let mut parts = Parts::default();
        let mut count = 0;
        for group in &self.snapshot.outcome.operations {
            let prediction = self
                .forecast
                .into_iter()
                .flat_map(|forecast| &forecast.operations);
            if let Some(one) = prediction
                .into_iter()
                .find(|one| one.operation_name == group.name)
            {
                parts.add(scaled(one, group.count));
                count += group.count;
            }
        }
        (parts, mean(parts.total(), count))
    }

    /// Ratio of operations on the other link to those measured, `None` if unknown.
    pub(crate) fn pace(&self) -> Option<f64> {
        match self.elsewhere {
            true => self.forecast?.paces.all(),
            false => Some(1.0),
        }
    }

    /// Predicted calls per second on the other link.
    fn calls_there(&self, here: Option<f64>, pace: impl FnOnce(&Paces) -> Option<f64>) -> Option<f64> {
        let pace = pace(&self.forecast?.paces)?;
        here.map(|here| here * pace)
    }
}

fn by_name(predictions: &[Prediction]) -> HashMap<&str, &Prediction> {
    let named = predictions.iter().map(|one| (&*one.operation_name, one));
    named.collect()
}

fn measured_operation(group: &OperationGroup) -> Figures {
    Figures {
        name: Arc::clone(&group.name),
        calls: None,
        turns: ratio(group.turns, group.count),
        p50: group.spread.p50,
        p99: group.spread.p99,
        parts: Parts::from(&group.attribution),
        lost: Some(group.attribution.round_trip),
        cost: None,
    }
}

fn measured_statement(statement: &StatementOutcome, rtt: Option<Duration>) -> Figures {
    let rest = statement
        .total
        .saturating_sub(statement.network + statement.server);
    Figures {
        name: Arc::clone(&statement.fingerprint),
        calls: None,
        turns: ratio(statement.turns, statement.calls),
        p50: statement.spread.p50,
        p99: statement.spread.p99,
        parts: Parts {
            network: statement.network,
            server: statement.server,
            client: rest,
            ..Parts::default()
        },
        lost: rtt.map(|rtt| times(rtt, statement.turns as f64)),
        cost: None,
    }
}

/// On the forecast's link; fields are `None` if unknown.
fn there(name: &Arc<str>, count: u64, prediction: Option<&Prediction>) -> Figures {
    let unknown = Figures {
        name: Arc::clone(name),
        calls: None,
        turns: None,
        p50: None,
        p99: None,
        parts: Parts::default(),
        lost: None,
        cost: None,
    };
    let Some(one) = prediction else { return unknown };
    let share = count as f64 / one.operations.max(1) as f64;
    Figures {
        turns: Some(one.turns),
        p50: Some(one.duration),
        p99: one.spread.p99,
        parts: scaled(one, count),
        lost: Some(times(one.attribution.round_trip, share)),
        cost: Some(cost(one)),
        ..unknown
    }
}

/// Scales replayed operations to `count`.
fn scaled(one: &Prediction, count: u64) -> Parts {
    let share = count as f64 / one.operations.max(1) as f64;
    let parts = Parts::from(&one.attribution);
    Parts {
        client: times(parts.client, share),
        network: times(parts.network, share),
        server: times(parts.server, share),
        pooler: times(parts.pooler, share),
        unknown: times(parts.unknown, share),
    }
}

fn cost(one: &Prediction) -> Duration {
    times(COST_RTT, one.slope)
}

/// Converts a figure per exchange to one per call.
fn per_call(of_exchange: Duration, statement: &StatementOutcome) -> Duration {
    match ratio(statement.spread.count, statement.calls) {
        Some(exchanges) => times(of_exchange, exchanges),
        None => of_exchange,
    }
}

fn times(span: Duration, factor: f64) -> Duration {
    Duration::try_from_secs_f64(span.as_secs_f64() * factor.max(0.0)).unwrap_or(Duration::MAX)
}

fn ratio(sum: u64, count: u64) -> Option<f64> {
    (count > 0).then(|| sum as f64 / count as f64)
}

fn mean(sum: Duration, count: u64) -> Option<Duration> {
    (count > 0).then(|| times(sum, 1.0 / count as f64))
}

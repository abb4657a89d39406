//! Records of a run's outcome: `statement`, `operation`, `prediction`, `summary`, and those that are
//! read as they are: `conditions`, `warning`, `recognised`.

use super::record::{ReadBody, Record};
use super::{Interner, rate};
use model::serde_units::ns;
use model::{
    Assignments, Attribution, Conditions, Direction, Distribution, Evidence, MeasuredDurations, Operation,
    PerDirection, Prediction, RecognisedStatement, SampleTotals, StatementOutcome, Summary, Warning,
};
use serde::{Deserialize, Serialize};
use std::time::Duration;

impl ReadBody for Conditions {
    fn into_record(mut self, _: &mut Interner) -> Record {
        // Earlier versions recorded only the command line.
        self.generated |= subcommand(&self.command_line) == Some("load");
        Record::Conditions(self)
    }
}

fn subcommand(command_line: &str) -> Option<&str> {
    let mut words = command_line.split(' ').skip(1);
    words.find(|word| !word.starts_with('-'))
}

impl ReadBody for Warning {
    fn into_record(self, _: &mut Interner) -> Record {
        Record::Warning(self)
    }
}

impl ReadBody for RecognisedStatement {
    fn into_record(self, shared: &mut Interner) -> Record {
        Record::Recognised(Self {
            unseen: shared.share(&self.unseen),
            text: shared.share(&self.text),
            source: self.source,
        })
    }
}

record! {
    StatementRecord(statement: &'a StatementOutcome) {
        fingerprint: &statement.fingerprint,
        calls: statement.calls,
        turns: statement.turns,
        fetches: statement.fetches,
        fetch_rows: statement.fetch_rows,
        fetch_bytes: statement.fetch_bytes,
        rows: statement.rows,
        request_bytes: statement.request_bytes,
        reply_bytes: statement.reply_bytes,
        errors: statement.errors,
        total_ns: statement.total,
        server_ns: statement.server,
        server_min_ns: statement.server_margin.bounds(statement.server)[0],
        server_max_ns: statement.server_margin.bounds(statement.server)[1],
        network_ns: statement.network,
        ..spread: &statement.spread,
        text_source: statement.text_source.as_ref(),
    }
}

record! {
    OperationRecord(operation: &'a Operation) {
        ..operation: operation,
        evidence: known(operation.evidence()).as_ref(),
    }
}

record! {
    PredictionRecord(prediction: &'a Prediction) {
        operation_name: &prediction.operation_name,
        operations: prediction.operations,
        warming_up_operations: (prediction.warming_up > 0).then_some(prediction.warming_up),
        rtt_ns: prediction.rtt,
        rate_bits_per_second: rate(prediction.rate, Direction::ServerToClient),
        request_rate_bits_per_second: rate(prediction.rate, Direction::ClientToServer),
        link: &prediction.link,
        clients: prediction.clients,
        workers: prediction.workers,
        duration_ns: prediction.bounded(),
        low_ns: prediction.bounds().map(|[low, _]| low),
        high_ns: prediction.bounds().map(|[_, high]| high),
        no_duration: match (prediction.bounds(), prediction.bounded()) {
            (None, _) => Some("unlike"),
            (Some(_), None) => Some("wide"),
            (Some(_), Some(_)) => None,
        },
        replayed_ns: match prediction.bounded() {
            Some(_) => None,
            None => prediction.spread.p50,
        },
        bounds_class: prediction.scale.class,
        bounds_cells: prediction.scale.measured.map(|cells| cells.count),
        bounds_inside_percent: prediction.scale.measured.map(|cells| cells.inside_percent),
        unscaled_low_ns: prediction.bounds().map(|_| prediction.unscaled[0]),
        unscaled_high_ns: prediction.bounds().map(|_| prediction.unscaled[1]),
        per_second: prediction.bounded().and_then(|_| finite(prediction.per_second)),
        turns: finite(prediction.turns),
        slope: prediction.has_slope().then_some(prediction.slope),
        order: prediction.order.as_ref().map(|order| &order.kind),
        order_operations: prediction.order.map(|order| order.looked_at),
        order_seen_at_once: prediction.order.map(|order| order.at_once),
        bound_by: &prediction.bound_by,
        unexplained_ns: prediction.unexplained.map(|unexplained| unexplained.median_ns),
        unexplained_share: prediction.unexplained.map(|unexplained| unexplained.share),
        ..attribution: &prediction.attribution,
        ..spread: &stated(prediction),
        ..measured: prediction.measured.as_ref().map(MeasuredKeys),
        error_share: prediction.error().and_then(finite),
    }
}

/// The spread, without a median and a mean where the bounds are too wide for them.
fn stated(prediction: &Prediction) -> Distribution {
    let spread = prediction.spread;
    match prediction.bounded() {
        Some(_) => spread,
        None => Distribution {
            mean: None,
            p50: None,
            ..spread
        },
    }
}

record! {
    /// The measurement next to a prediction: keys of the same record.
    MeasuredKeys(measured: &'a MeasuredDurations) {
        measured_ns: measured.duration,
        measured_operations: measured.operations,
        measured_errors: measured.errors,
        measured_min_ns: measured.spread.min,
        measured_max_ns: measured.spread.max,
        measured_per_second: finite(measured.per_second),
    }
}

/// The last record of a run. Attribution is omitted if there are no operations.
#[derive(Serialize, Deserialize)]
pub(super) struct SummaryRecord {
    turns: u64,
    exchanges: u64,
    connections: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    operations: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    statements: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    client_payload_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    server_payload_bytes: Option<u64>,
    #[serde(rename = "duration_ns", with = "ns")]
    duration: Duration,
    #[serde(flatten)]
    attribution: Option<Attribution>,
    #[serde(
        rename = "setup_ns",
        with = "ns",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    setup: Option<Duration>,
    #[serde(skip_serializing_if = "Option::is_none")]
    assigned: Option<Assignments>,
    #[serde(skip_serializing_if = "Option::is_none")]
    evidence: Option<Evidence>,
    #[serde(flatten)]
    spread: Option<Distribution>,
    #[serde(skip_serializing_if = "Option::is_none")]
    packets: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dropped_exchanges: Option<u64>,
    #[serde(flatten)]
    samples: Option<SampleTotals>,
}

impl SummaryRecord {
    pub(super) fn new(summary: &Summary) -> Self {
        // Commands that take samples do not all count these. Unknown values are omitted.
        let counted = |count: u64| (summary.samples.is_none() || count > 0).then_some(count);
        let [client_payload_bytes, server_payload_bytes] = summary.payload_bytes.map(counted).into_array();
        // Samples are timed from outside, so there is no attribution.
        let has_parts = (summary.operations > 0 && summary.samples.is_none())
            || known(summary.attribution).is_some()
            || !summary.setup.is_zero();
        Self {
            turns: summary.turns,
            exchanges: summary.exchanges,
            connections: summary.connections,
            operations: counted(summary.operations),
            statements: counted(summary.statements),
            client_payload_bytes,
            server_payload_bytes,
            duration: summary.duration,
            attribution: has_parts.then_some(summary.attribution),
            setup: has_parts.then_some(summary.setup),
            assigned: known(summary.assigned),
            evidence: known(summary.evidence),
            spread: known(summary.spread),
            packets: summary.packets,
            dropped_exchanges: known(summary.dropped_exchanges),
            // JSON has no infinity, the rate of a run without duration.
            samples: summary.samples.map(|samples| SampleTotals {
                per_second: finite(samples.per_second).unwrap_or_default(),
                ..samples
            }),
        }
    }
}

impl ReadBody for SummaryRecord {
    fn into_record(self, _: &mut Interner) -> Record {
        Record::Summary(Box::new(Summary {
            turns: self.turns,
            exchanges: self.exchanges,
            connections: self.connections,
            operations: self.operations.unwrap_or_default(),
            statements: self.statements.unwrap_or_default(),
            payload_bytes: PerDirection::new(self.client_payload_bytes, self.server_payload_bytes)
                .map(Option::unwrap_or_default),
            duration: self.duration,
            attribution: self.attribution.unwrap_or_default(),
            setup: self.setup.unwrap_or_default(),
            assigned: self.assigned.unwrap_or_default(),
            evidence: self.evidence.unwrap_or_default(),
            spread: self.spread.unwrap_or_default(),
            packets: self.packets,
            dropped_exchanges: self.dropped_exchanges.unwrap_or_default(),
            samples: self.samples,
        }))
    }
}

/// `None` if nothing was seen or counted.
fn known<T: Default + PartialEq>(value: T) -> Option<T> {
    Some(value).filter(|value| *value != T::default())
}

/// JSON has no infinity.
fn finite(number: f64) -> Option<f64> {
    Some(number).filter(|number| number.is_finite())
}

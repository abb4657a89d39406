//! Records of a run's outcome: `conditions`, `warning`, `statement`, `operation`, `prediction`,
//! `summary`.

use super::evidence::EvidenceRecord;
use super::reader::{ReadBody, Record};
use super::sample::TotalKeys;
use super::server_range::ServerRange;
use super::{Interner, Text, UnknownValue, nanos};
use model::{
    Assigned, Assignments, Attribution, Conditions, Direction, Distribution, MeasuredDurations, Operation,
    PerDirection, Prediction, RecognisedStatement, StatementOutcome, Summary, TextSource, Warning,
    WarningKind,
};
use serde::{Deserialize, Serialize};
use std::time::Duration;

#[derive(Serialize, Deserialize)]
pub(super) struct ConditionsRecord<'a> {
    #[serde(borrow)]
    version: Text<'a>,
    #[serde(borrow)]
    command_line: Text<'a>,
    #[serde(skip_serializing_if = "Option::is_none", borrow)]
    host: Option<Text<'a>>,
    #[serde(skip_serializing_if = "Option::is_none", borrow)]
    kernel: Option<Text<'a>>,
    #[serde(borrow)]
    clock: Text<'a>,
    #[serde(borrow)]
    observation_point: Text<'a>,
    #[serde(skip_serializing_if = "Option::is_none", borrow)]
    link: Option<Text<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    seed: Option<u64>,
}

impl<'a> ConditionsRecord<'a> {
    pub(super) fn new(conditions: &'a Conditions) -> Self {
        Self {
            version: conditions.version.as_str().into(),
            command_line: conditions.command_line.as_str().into(),
            host: conditions.host.as_deref().map(Text::from),
            kernel: conditions.kernel.as_deref().map(Text::from),
            clock: conditions.clock.as_str().into(),
            observation_point: conditions.observation_point.as_str().into(),
            link: conditions.link.as_deref().map(Text::from),
            seed: conditions.seed,
        }
    }
}

impl ReadBody for ConditionsRecord<'_> {
    fn into_record(self, _: &mut Interner) -> Result<Record, UnknownValue> {
        Ok(Record::Conditions(Conditions {
            version: self.version.0.into_owned(),
            command_line: self.command_line.0.into_owned(),
            host: self.host.map(|text| text.0.into_owned()),
            kernel: self.kernel.map(|text| text.0.into_owned()),
            clock: self.clock.0.into_owned(),
            observation_point: self.observation_point.0.into_owned(),
            link: self.link.map(|text| text.0.into_owned()),
            seed: self.seed,
        }))
    }
}

#[derive(Serialize, Deserialize)]
pub(super) struct WarningRecord<'a> {
    /// Omitted by versions that had no kinds.
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    kind: Option<Text<'a>>,
    #[serde(borrow)]
    text: Text<'a>,
}

impl<'a> WarningRecord<'a> {
    pub(super) fn new(warning: &'a Warning) -> Self {
        Self {
            kind: Some(warning.kind.name().into()),
            text: warning.text.as_str().into(),
        }
    }
}

impl ReadBody for WarningRecord<'_> {
    fn into_record(self, _: &mut Interner) -> Result<Record, UnknownValue> {
        let kind = self.kind.and_then(|kind| WarningKind::from_name(&kind.0));
        Ok(Record::Warning(Warning::new(
            kind.unwrap_or(WarningKind::OtherVersion),
            self.text.0,
        )))
    }
}

#[derive(Serialize)]
pub(super) struct StatementRecord<'a> {
    fingerprint: &'a str,
    calls: u64,
    turns: u64,
    fetches: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    fetch_rows: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    fetch_bytes: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rows: Option<u64>,
    request_bytes: u64,
    reply_bytes: u64,
    errors: u64,
    total_ns: u64,
    server_ns: u64,
    #[serde(flatten)]
    server_range: ServerRange,
    network_ns: u64,
    #[serde(flatten)]
    spread: Spread,
    #[serde(skip_serializing_if = "Option::is_none")]
    text_source: Option<&'static str>,
}

impl<'a> StatementRecord<'a> {
    pub(super) fn new(statement: &'a StatementOutcome) -> Self {
        Self {
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
            total_ns: nanos(statement.total),
            server_ns: nanos(statement.server),
            server_range: ServerRange::from_margin(statement.server, statement.server_margin),
            network_ns: nanos(statement.network),
            spread: Spread::new(&statement.spread),
            text_source: statement.text_source.map(TextSource::name),
        }
    }
}

#[derive(Serialize, Deserialize)]
pub(super) struct RecognisedRecord<'a> {
    #[serde(borrow)]
    fingerprint: Text<'a>,
    #[serde(borrow)]
    text: Text<'a>,
    #[serde(borrow)]
    text_source: Text<'a>,
}

impl<'a> RecognisedRecord<'a> {
    pub(super) fn new(found: &'a RecognisedStatement) -> Self {
        Self {
            fingerprint: (&*found.unseen).into(),
            text: (&*found.text).into(),
            text_source: found.source.name().into(),
        }
    }
}

impl ReadBody for RecognisedRecord<'_> {
    fn into_record(self, shared: &mut Interner) -> Result<Record, UnknownValue> {
        let source = [TextSource::SameConnection, TextSource::AnotherConnection]
            .into_iter()
            .find(|source| source.name() == &*self.text_source.0)
            .ok_or_else(|| UnknownValue {
                key: "text_source",
                value: self.text_source.0.into_owned(),
            })?;
        Ok(Record::Recognised(RecognisedStatement {
            unseen: shared.share(&self.fingerprint.0),
            text: shared.share(&self.text.0),
            source,
        }))
    }
}

#[derive(Serialize)]
pub(super) struct OperationRecord<'a> {
    id: u64,
    kind: &'static str,
    operation_name: &'a str,
    at_ns: u64,
    duration_ns: u64,
    turns: u32,
    exchanges: usize,
    connections: u32,
    #[serde(flatten)]
    parts: Parts,
    setup_ns: u64,
    client_after_ns: u64,
    continues: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    evidence: Option<EvidenceRecord>,
}

impl<'a> OperationRecord<'a> {
    pub(super) fn new(operation: &'a Operation) -> Self {
        Self {
            id: operation.id,
            kind: operation.kind.name(),
            operation_name: &operation.name,
            at_ns: operation.at.as_nanos(),
            duration_ns: nanos(operation.duration),
            turns: operation.turns,
            exchanges: operation.steps.len(),
            connections: operation.connections,
            parts: Parts::new(&operation.attribution),
            setup_ns: nanos(operation.setup),
            client_after_ns: nanos(operation.client_after),
            continues: operation.continues,
            evidence: EvidenceRecord::new(&operation.evidence()),
        }
    }
}

#[derive(Serialize)]
pub(super) struct PredictionRecord<'a> {
    operation_name: &'a str,
    operations: u64,
    rtt_ns: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    rate_bits_per_second: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    request_rate_bits_per_second: Option<u64>,
    link: &'a str,
    clients: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    workers: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    duration_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    low_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    high_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    no_duration: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    per_second: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    turns: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    slope: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    order: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    order_operations: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    order_seen_at_once: Option<u64>,
    bound_by: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    unexplained_ns: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    unexplained_share: Option<f64>,
    #[serde(flatten)]
    parts: Parts,
    #[serde(flatten)]
    spread: Spread,
    #[serde(flatten)]
    measured: Option<MeasuredKeys>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error_share: Option<f64>,
}

/// The measurement next to a prediction: keys of the same record.
#[derive(Serialize)]
pub(super) struct MeasuredKeys {
    measured_ns: u64,
    measured_operations: u64,
    measured_errors: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    measured_min_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    measured_max_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    measured_per_second: Option<f64>,
}

impl MeasuredKeys {
    pub(super) fn new(measured: &MeasuredDurations) -> Self {
        Self {
            measured_ns: nanos(measured.duration),
            measured_operations: measured.operations,
            measured_errors: measured.errors,
            measured_min_ns: measured.spread.min.map(nanos),
            measured_max_ns: measured.spread.max.map(nanos),
            measured_per_second: Some(measured.per_second).filter(|number| number.is_finite()),
        }
    }
}

impl<'a> PredictionRecord<'a> {
    pub(super) fn new(prediction: &'a Prediction) -> Self {
        Self {
            operation_name: &prediction.operation_name,
            operations: prediction.operations,
            rtt_ns: nanos(prediction.rtt),
            rate_bits_per_second: prediction.rate[Direction::ServerToClient]
                .map(model::BitRate::as_bits_per_second),
            request_rate_bits_per_second: prediction.rate[Direction::ClientToServer]
                .map(model::BitRate::as_bits_per_second),
            link: &prediction.link,
            clients: prediction.clients,
            workers: prediction.workers,
            duration_ns: prediction.bounded().map(nanos),
            low_ns: prediction.bounds().map(|[low, _]| nanos(low)),
            high_ns: prediction.bounds().map(|[_, high]| nanos(high)),
            no_duration: prediction.bounds().is_none().then_some("unlike"),
            per_second: Some(prediction.per_second).filter(|number| number.is_finite()),
            turns: Some(prediction.turns).filter(|number| number.is_finite()),
            slope: prediction.has_slope().then_some(prediction.slope),
            order: prediction.order.map(|order| order.kind.name()),
            order_operations: prediction.order.map(|order| order.looked_at),
            order_seen_at_once: prediction.order.map(|order| order.at_once),
            bound_by: prediction.bound_by.name(),
            unexplained_ns: prediction.unexplained.map(|unexplained| unexplained.median_ns),
            unexplained_share: prediction.unexplained.map(|unexplained| unexplained.share),
            parts: Parts::new(&prediction.attribution),
            spread: Spread::new(&prediction.spread),
            measured: prediction.measured.as_ref().map(MeasuredKeys::new),
            error_share: prediction.error().filter(|share| share.is_finite()),
        }
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
    duration_ns: u64,
    #[serde(flatten)]
    parts: Option<Parts>,
    #[serde(skip_serializing_if = "Option::is_none")]
    setup_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    assigned: Option<AssignedRecord>,
    #[serde(skip_serializing_if = "Option::is_none")]
    evidence: Option<EvidenceRecord>,
    #[serde(flatten)]
    spread: Option<Spread>,
    #[serde(skip_serializing_if = "Option::is_none")]
    packets: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dropped_exchanges: Option<u64>,
    #[serde(flatten)]
    totals: Option<TotalKeys>,
}

#[derive(Serialize, Deserialize)]
struct AssignedRecord {
    identifier: u64,
    transaction: u64,
    only: u64,
    order: u64,
}

impl AssignedRecord {
    fn new(assignments: &Assignments) -> Self {
        Self {
            identifier: assignments.count(Assigned::Identifier),
            transaction: assignments.count(Assigned::Transaction),
            only: assignments.count(Assigned::Only),
            order: assignments.count(Assigned::Order),
        }
    }

    fn assignments(&self) -> Assignments {
        Assigned::ALL
            .into_iter()
            .zip([self.identifier, self.transaction, self.only, self.order])
            .collect()
    }
}

impl SummaryRecord {
    pub(super) fn new(summary: &Summary) -> Self {
        // Commands that take samples do not all count these. Unknown values are omitted.
        let counted = |count: u64| (summary.samples.is_none() || count > 0).then_some(count);
        let [client_payload_bytes, server_payload_bytes] = summary.payload_bytes.map(counted).into_array();
        // Samples are timed from outside, so there is no attribution.
        let has_parts = (summary.operations > 0 && summary.samples.is_none())
            || summary.attribution != Attribution::default()
            || !summary.setup.is_zero();
        Self {
            turns: summary.turns,
            exchanges: summary.exchanges,
            connections: summary.connections,
            operations: counted(summary.operations),
            statements: counted(summary.statements),
            client_payload_bytes,
            server_payload_bytes,
            duration_ns: nanos(summary.duration),
            parts: has_parts.then(|| Parts::new(&summary.attribution)),
            setup_ns: has_parts.then(|| nanos(summary.setup)),
            assigned: (summary.assigned != Assignments::default())
                .then(|| AssignedRecord::new(&summary.assigned)),
            evidence: EvidenceRecord::new(&summary.evidence),
            spread: (summary.spread != Distribution::default()).then(|| Spread::new(&summary.spread)),
            packets: summary.packets,
            dropped_exchanges: (summary.dropped_exchanges > 0).then_some(summary.dropped_exchanges),
            totals: summary.samples.as_ref().map(TotalKeys::new),
        }
    }
}

impl ReadBody for SummaryRecord {
    fn into_record(self, _: &mut Interner) -> Result<Record, UnknownValue> {
        Ok(Record::Summary(Box::new(Summary {
            turns: self.turns,
            exchanges: self.exchanges,
            connections: self.connections,
            operations: self.operations.unwrap_or_default(),
            statements: self.statements.unwrap_or_default(),
            payload_bytes: PerDirection::new(self.client_payload_bytes, self.server_payload_bytes)
                .map(Option::unwrap_or_default),
            duration: Duration::from_nanos(self.duration_ns),
            attribution: self.parts.map(|parts| parts.attribution()).unwrap_or_default(),
            setup: self.setup_ns.map(Duration::from_nanos).unwrap_or_default(),
            assigned: self
                .assigned
                .map(|record| record.assignments())
                .unwrap_or_default(),
            evidence: self.evidence.map(|record| record.evidence()).unwrap_or_default(),
            spread: self
                .spread
                .map(|spread| spread.distribution())
                .unwrap_or_default(),
            packets: self.packets,
            dropped_exchanges: self.dropped_exchanges.unwrap_or_default(),
            samples: self.totals.map(|totals| totals.totals()),
        })))
    }
}

/// `network_ns` is the sum of the three keys after it.
#[derive(Serialize, Deserialize)]
pub(super) struct Parts {
    client_ns: u64,
    server_ns: u64,
    #[serde(flatten)]
    server_range: ServerRange,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pooler_ns: Option<u64>,
    network_ns: u64,
    round_trip_ns: u64,
    transfer_ns: u64,
    recovery_ns: u64,
    unknown_ns: u64,
}

impl Parts {
    pub(super) fn new(attribution: &Attribution) -> Self {
        Self {
            client_ns: nanos(attribution.client),
            server_ns: nanos(attribution.server),
            server_range: ServerRange::from_margin(attribution.server, attribution.server_margin),
            pooler_ns: (!attribution.pooler.is_zero()).then(|| nanos(attribution.pooler)),
            network_ns: nanos(attribution.network()),
            round_trip_ns: nanos(attribution.round_trip),
            transfer_ns: nanos(attribution.transfer),
            recovery_ns: nanos(attribution.recovery),
            unknown_ns: nanos(attribution.unknown),
        }
    }

    fn attribution(&self) -> Attribution {
        let server = Duration::from_nanos(self.server_ns);
        Attribution {
            client: Duration::from_nanos(self.client_ns),
            server,
            server_margin: self.server_range.margin(server),
            pooler: Duration::from_nanos(self.pooler_ns.unwrap_or_default()),
            round_trip: Duration::from_nanos(self.round_trip_ns),
            transfer: Duration::from_nanos(self.transfer_ns),
            recovery: Duration::from_nanos(self.recovery_ns),
            unknown: Duration::from_nanos(self.unknown_ns),
        }
    }
}

/// A percentile without enough samples is omitted.
#[derive(Serialize, Deserialize)]
pub(super) struct Spread {
    samples: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    min_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    mean_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    p50_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    p90_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    p95_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    p99_ns: Option<u64>,
}

impl Spread {
    pub(super) fn new(distribution: &Distribution) -> Self {
        Self {
            samples: distribution.count,
            min_ns: distribution.min.map(nanos),
            max_ns: distribution.max.map(nanos),
            mean_ns: distribution.mean.map(nanos),
            p50_ns: distribution.p50.map(nanos),
            p90_ns: distribution.p90.map(nanos),
            p95_ns: distribution.p95.map(nanos),
            p99_ns: distribution.p99.map(nanos),
        }
    }

    fn distribution(&self) -> Distribution {
        Distribution {
            count: self.samples,
            min: self.min_ns.map(Duration::from_nanos),
            max: self.max_ns.map(Duration::from_nanos),
            mean: self.mean_ns.map(Duration::from_nanos),
            p50: self.p50_ns.map(Duration::from_nanos),
            p90: self.p90_ns.map(Duration::from_nanos),
            p95: self.p95_ns.map(Duration::from_nanos),
            p99: self.p99_ns.map(Duration::from_nanos),
        }
    }
}

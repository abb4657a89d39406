//! Records of a lab: `point`, `round`, `slope`, `lab`. The `prediction` and `link` records of a
//! point follow it and name it.

use super::nanos;
use super::outcome::MeasuredKeys;
use crate::outcome::{LabOutcome, LabPoint, LabRound, LabSlope};
use model::{ByteCount, Direction};
use serde::Serialize;
use std::collections::BTreeMap;

#[derive(Serialize)]
pub(super) struct PointRecord<'a> {
    point: usize,
    settings: BTreeMap<&'a str, &'a str>,
    #[serde(flatten)]
    measured: Option<MeasuredKeys>,
    #[serde(skip_serializing_if = "Option::is_none")]
    compared_with_point: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    times: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    times_least: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    times_most: Option<f64>,
}

impl<'a> PointRecord<'a> {
    pub(super) fn new(number: usize, settings: &'a [String], point: &'a LabPoint) -> Self {
        Self {
            point: number,
            settings: settings
                .iter()
                .map(String::as_str)
                .zip(point.values.iter().map(String::as_str))
                .collect(),
            measured: point.measured.as_ref().map(MeasuredKeys::new),
            compared_with_point: point.against.map(|index| index + 1),
            times: point.times.map(|times| times.median),
            times_least: point.times.map(|times| times.low),
            times_most: point.times.map(|times| times.high),
        }
    }
}

#[derive(Serialize)]
pub(super) struct RoundRecord<'a> {
    point: usize,
    round: usize,
    operations: u64,
    errors: u64,
    elapsed_ns: u64,
    per_second: f64,
    p50_ns: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    mean_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    p90_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    p95_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    p99_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    min_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_ns: Option<u64>,
    client_payload_bytes: u64,
    server_payload_bytes: u64,
    client_wire_bytes: u64,
    server_wire_bytes: u64,
    clients_processor_ns: u64,
    services: BTreeMap<&'a str, ServiceKeys<'a>>,
}

#[derive(Serialize)]
struct ServiceKeys<'a> {
    host: &'a str,
    processor_ns: u64,
}

impl<'a> RoundRecord<'a> {
    pub(super) fn new(point: usize, number: usize, round: &'a LabRound) -> Self {
        let spread = &round.measured.spread;
        let [client, server] = round.payload.map(ByteCount::as_bytes).into_array();
        let wire = |direction: Direction| {
            let links = round.links.iter();
            links.map(|link| link.directions[direction].wire_bytes).sum()
        };
        let used = round.processors.iter();
        Self {
            point,
            round: number,
            operations: round.measured.operations,
            errors: round.measured.errors,
            elapsed_ns: nanos(round.elapsed),
            per_second: round.throughput(),
            p50_ns: nanos(round.measured.duration),
            mean_ns: spread.mean.map(nanos),
            p90_ns: spread.p90.map(nanos),
            p95_ns: spread.p95.map(nanos),
            p99_ns: spread.p99.map(nanos),
            min_ns: spread.min.map(nanos),
            max_ns: spread.max.map(nanos),
            client_payload_bytes: client,
            server_payload_bytes: server,
            client_wire_bytes: wire(Direction::ClientToServer),
            server_wire_bytes: wire(Direction::ServerToClient),
            clients_processor_ns: nanos(round.client_processor),
            services: used
                .map(|used| {
                    let (host, processor_ns) = (used.host.as_str(), nanos(used.time));
                    (used.service.as_str(), ServiceKeys { host, processor_ns })
                })
                .collect(),
        }
    }
}

#[derive(Serialize)]
pub(super) struct OfPoint<B> {
    #[serde(flatten)]
    pub(super) body: B,
    pub(super) point: usize,
}

/// In milliseconds per millisecond of the link's round trip.
#[derive(Serialize)]
pub(super) struct SlopeRecord<'a> {
    link_name: &'a str,
    settings: BTreeMap<&'a str, &'a str>,
    points: usize,
    measured_turns: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    predicted_turns: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    counted_turns: Option<f64>,
}

impl<'a> SlopeRecord<'a> {
    pub(super) fn new(slope: &'a LabSlope) -> Self {
        let beside = slope.beside.iter();
        Self {
            link_name: &slope.link,
            settings: beside
                .map(|(setting, value)| (setting.as_str(), value.as_str()))
                .collect(),
            points: slope.points,
            measured_turns: slope.measured,
            predicted_turns: slope.predicted,
            counted_turns: slope.turns,
        }
    }
}

#[derive(Serialize)]
pub(super) struct LabRecord<'a> {
    name: &'a str,
    operation_name: &'a str,
    points: usize,
    measured_points: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    predicted_points: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    points_within_bounds: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    median_error_share: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    worst_error_share: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    worst_point: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    drift_least_share: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    drift_most_share: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    floor_ns: Option<u64>,
}

impl<'a> LabRecord<'a> {
    pub(super) fn new(outcome: &'a LabOutcome) -> Self {
        let errors = outcome.errors();
        let measured = outcome.points.iter().filter(|point| point.measured.is_some());
        let floor = outcome
            .points
            .iter()
            .flat_map(LabPoint::links)
            .filter_map(|link| link.floor)
            .max();
        let drift = outcome.drift();
        Self {
            name: &outcome.name,
            operation_name: &outcome.operation,
            points: outcome.points.len(),
            measured_points: measured.count(),
            predicted_points: errors.map(|errors| errors.points),
            points_within_bounds: errors.map(|errors| errors.within_bounds),
            median_error_share: errors.map(|errors| errors.median),
            worst_error_share: errors.map(|errors| errors.worst),
            worst_point: errors.map(|errors| errors.worst_point + 1),
            drift_least_share: drift.map(|(least, _)| least),
            drift_most_share: drift.map(|(_, most)| most),
            floor_ns: floor.map(nanos),
        }
    }
}

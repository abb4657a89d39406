//! Records of a lab: `point`, `round`, `slope`, `lab`. The `prediction` and `link` records of a
//! point follow it and name it.

use super::outcome::MeasuredKeys;
use crate::outcome::{LabErrors, LabOutcome, LabPoint, LabProcessor, LabRound, LabSlope};
use model::{Direction, LinkOutcome};
use serde::Serialize;
use std::collections::BTreeMap;
use std::time::Duration;

record! {
    PointRecord(point: usize, settings: &'a [String], outcome: &'a LabPoint) {
        point: point,
        settings: &settings.iter().zip(&outcome.values).collect::<BTreeMap<_, _>>(),
        ..measured: outcome.measured.as_ref().map(MeasuredKeys),
        compared_with_point: outcome.against.map(|index| index + 1),
        times: outcome.times.map(|times| times.median),
        times_least: outcome.times.map(|times| times.low),
        times_most: outcome.times.map(|times| times.high),
    }
}

record! {
    RoundRecord(point: usize, number: usize, round: &'a LabRound) {
        point: point,
        round: number,
        operations: round.measured.operations,
        errors: round.measured.errors,
        elapsed_ns: round.elapsed,
        per_second: round.throughput(),
        p50_ns: round.measured.duration,
        mean_ns: round.measured.spread.mean,
        p90_ns: round.measured.spread.p90,
        p95_ns: round.measured.spread.p95,
        p99_ns: round.measured.spread.p99,
        min_ns: round.measured.spread.min,
        max_ns: round.measured.spread.max,
        client_payload_bytes: round.payload[Direction::ClientToServer].as_bytes(),
        server_payload_bytes: round.payload[Direction::ServerToClient].as_bytes(),
        client_wire_bytes: wire_bytes(&round.links, Direction::ClientToServer),
        server_wire_bytes: wire_bytes(&round.links, Direction::ServerToClient),
        clients_processor_ns: round.client_processor,
        services: &services(&round.processors),
    }
}

record! {
    ServiceKeys(used: &'a LabProcessor) {
        host: &used.host,
        processor_ns: used.time,
    }
}

fn services(processors: &[LabProcessor]) -> BTreeMap<&str, ServiceKeys<'_>> {
    let used = processors.iter();
    used.map(|used| (used.service.as_str(), ServiceKeys(used)))
        .collect()
}

fn wire_bytes(links: &[LinkOutcome], direction: Direction) -> u64 {
    links
        .iter()
        .map(|link| link.directions[direction].wire_bytes)
        .sum()
}

#[derive(Serialize)]
pub(super) struct OfPoint<B> {
    #[serde(flatten)]
    pub(super) body: B,
    pub(super) point: usize,
}

record! {
    /// In milliseconds per millisecond of the link's round trip.
    SlopeRecord(slope: &'a LabSlope) {
        link_name: &slope.link,
        settings: &slope.beside.iter().map(|(name, value)| (name, value)).collect::<BTreeMap<_, _>>(),
        points: slope.points.len(),
        measured_turns: slope.measured,
        predicted_turns: slope.predicted,
        counted_turns: slope.turns,
    }
}

record! {
    LabRecord(outcome: &'a LabOutcome) {
        name: &outcome.name,
        operation_name: &outcome.operation,
        points: outcome.points.len(),
        measured_points: outcome.points.iter().filter(|point| point.measured.is_some()).count(),
        ..errors: outcome.errors().map(ErrorKeys::from),
        drift_least_share: outcome.drift().map(|(least, _)| least),
        drift_most_share: outcome.drift().map(|(_, most)| most),
        floor_ns: floor(&outcome.points),
    }
}

#[derive(Serialize)]
struct ErrorKeys {
    predicted_points: usize,
    points_within_bounds: usize,
    median_error_share: f64,
    worst_error_share: f64,
    worst_point: usize,
}

impl From<LabErrors> for ErrorKeys {
    fn from(errors: LabErrors) -> Self {
        Self {
            predicted_points: errors.points,
            points_within_bounds: errors.within_bounds,
            median_error_share: errors.median,
            worst_error_share: errors.worst,
            worst_point: errors.worst_point + 1,
        }
    }
}

fn floor(points: &[LabPoint]) -> Option<Duration> {
    let links = points.iter().flat_map(LabPoint::links);
    links.filter_map(|link| link.floor).max()
}

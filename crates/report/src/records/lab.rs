//! Records of a lab: `point`, `slope`, `lab`. A point's `prediction` and `link` records follow it and name it.

use super::link::LinkRecord;
use super::outcome::{MeasuredKeys, PredictionRecord};
use super::{SCHEMA, nanos};
use crate::text::{LabOutcome, LabPoint, LabSlope};
use model::{LinkOutcome, Prediction};
use serde::Serialize;
use std::collections::BTreeMap;

/// One point of a lab, and what was measured there.
#[derive(Serialize)]
#[serde(tag = "type", rename = "point")]
pub(super) struct PointRecord<'a> {
    schema: u32,
    point: usize,
    settings: BTreeMap<&'a str, &'a str>,
    #[serde(flatten)]
    measured: Option<MeasuredKeys>,
}

impl<'a> PointRecord<'a> {
    pub(super) fn of(number: usize, settings: &'a [String], point: &'a LabPoint) -> Self {
        Self {
            schema: SCHEMA,
            point: number,
            settings: settings
                .iter()
                .map(String::as_str)
                .zip(point.values.iter().map(String::as_str))
                .collect(),
            measured: point.measured.as_ref().map(MeasuredKeys::of),
        }
    }
}

/// A record that belongs to a point.
#[derive(Serialize)]
pub(super) struct OfPoint<R> {
    #[serde(flatten)]
    record: R,
    point: usize,
}

impl<'a> OfPoint<PredictionRecord<'a>> {
    pub(super) fn prediction(number: usize, prediction: &'a Prediction) -> Self {
        Self {
            record: PredictionRecord::of(prediction),
            point: number,
        }
    }
}

impl<'a> OfPoint<LinkRecord<'a>> {
    pub(super) fn link(number: usize, link: &'a LinkOutcome) -> Self {
        Self {
            record: LinkRecord::of(link),
            point: number,
        }
    }
}

/// What one more millisecond of a link's round trip adds, in milliseconds.
#[derive(Serialize)]
#[serde(tag = "type", rename = "slope")]
pub(super) struct SlopeRecord<'a> {
    schema: u32,
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
    pub(super) fn of(slope: &'a LabSlope) -> Self {
        let beside = slope.beside.iter();
        Self {
            schema: SCHEMA,
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

/// The whole lab: how far off its predictions were.
#[derive(Serialize)]
#[serde(tag = "type", rename = "lab")]
pub(super) struct LabRecord<'a> {
    schema: u32,
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
    pub(super) fn of(outcome: &'a LabOutcome) -> Self {
        let errors = outcome.errors();
        let measured = outcome.points.iter().filter(|point| point.measured.is_some());
        let floor = outcome
            .points
            .iter()
            .flat_map(|point| &point.links)
            .filter_map(|link| link.floor)
            .max();
        let drift = outcome.drift();
        Self {
            schema: SCHEMA,
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

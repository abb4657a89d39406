//! Records of longwire's own samples: `sample`, and their keys in a `summary`.

use super::nanos;
use model::{Intermediary, Sample, SampleTotals};
use serde::{Deserialize, Serialize};
use std::time::Duration;

#[derive(Serialize)]
pub(super) struct SampleRecord<'a> {
    number: u64,
    target: &'a str,
    at_ns: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    intended_at_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    duration_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    server_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    round_trip_ns: Option<u64>,
    first: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    turns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    kernel_rtt_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a str>,
}

impl<'a> SampleRecord<'a> {
    pub(super) fn new(sample: &'a Sample) -> Self {
        Self {
            number: sample.number,
            target: &sample.target,
            at_ns: sample.at.as_nanos(),
            intended_at_ns: sample.intended_at.map(model::Timestamp::as_nanos),
            duration_ns: sample.duration.map(nanos),
            server_ns: sample.server.map(nanos),
            round_trip_ns: sample.round_trip().map(nanos),
            first: sample.first,
            turns: sample.turns,
            kernel_rtt_ns: sample.kernel_rtt.map(nanos),
            error: sample.error.as_deref(),
        }
    }
}

#[derive(Serialize)]
pub(super) struct IntermediaryRecord<'a> {
    target: &'a str,
    near_rtt_ns: u64,
    round_trip_ns: u64,
    server_reported: bool,
}

impl<'a> IntermediaryRecord<'a> {
    pub(super) fn new(found: &'a Intermediary) -> Self {
        Self {
            target: &found.target,
            near_rtt_ns: nanos(found.near_round_trip),
            round_trip_ns: nanos(found.round_trip),
            server_reported: found.server_reported,
        }
    }
}

/// Keys of the `summary`.
#[derive(Serialize, Deserialize)]
pub(super) struct TotalKeys {
    sent: u64,
    answered: u64,
    lost: u64,
    errors: u64,
    per_second: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    mdev_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    floor_ns: Option<u64>,
}

impl TotalKeys {
    pub(super) fn new(totals: &SampleTotals) -> Self {
        Self {
            sent: totals.sent,
            answered: totals.answered,
            lost: totals.lost,
            errors: totals.errors,
            // JSON has no infinity, the rate of a run without duration.
            per_second: if totals.per_second.is_finite() {
                totals.per_second
            } else {
                0.0
            },
            mdev_ns: totals.mdev.map(nanos),
            floor_ns: totals.floor.map(nanos),
        }
    }

    pub(super) fn totals(&self) -> SampleTotals {
        SampleTotals {
            sent: self.sent,
            answered: self.answered,
            lost: self.lost,
            errors: self.errors,
            per_second: self.per_second,
            mdev: self.mdev_ns.map(Duration::from_nanos),
            floor: self.floor_ns.map(Duration::from_nanos),
        }
    }
}

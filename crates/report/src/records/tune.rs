//! Records of tune: `tuned`, `recommendation`.

use super::nanos;
use crate::outcome::TuneReport;
use model::{ChosenSetting, Direction, PerDirection, Recommendation, Tuned};
use serde::Serialize;

#[derive(Serialize)]
pub(super) struct TunedRecord<'a> {
    job: &'static str,
    way: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    knob: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    unit: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    link: Option<&'a str>,
    source: &'static str,
    runs: u32,
    duration_ns: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    min_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_ns: Option<u64>,
    rows: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    turns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    client_packets: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    server_packets: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    client_payload_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    server_payload_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    client_wire_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    server_wire_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    mean_packet_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    client_memory_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    server_memory_bytes: Option<u64>,
}

impl<'a> TunedRecord<'a> {
    pub(super) fn new(report: &'a TuneReport, tuned: &'a Tuned) -> Self {
        let is_way = |way: &&model::Method| way.job == tuned.job && way.name == tuned.method;
        let knob = report
            .methods
            .iter()
            .find(is_way)
            .and_then(|way| way.parameter.as_ref());
        let typical = &tuned.typical;
        let [up, down] = Direction::ALL;
        let one = |each: Option<PerDirection<u64>>, direction| each.map(|each| each[direction]);
        Self {
            job: tuned.job.name(),
            way: &tuned.method,
            knob: knob.map(|knob| &*knob.name),
            unit: knob.map(|knob| knob.unit.name()),
            value: tuned.value,
            link: tuned.link.as_deref(),
            source: tuned.source.name(),
            runs: tuned.runs,
            duration_ns: nanos(tuned.median()),
            min_ns: tuned.spread.min.map(nanos),
            max_ns: tuned.spread.max.map(nanos),
            rows: typical.rows,
            turns: typical.turns,
            client_packets: one(typical.packets, up),
            server_packets: one(typical.packets, down),
            client_payload_bytes: one(typical.payload_bytes, up),
            server_payload_bytes: one(typical.payload_bytes, down),
            client_wire_bytes: one(typical.wire_bytes, up),
            server_wire_bytes: one(typical.wire_bytes, down),
            mean_packet_bytes: typical.mean_packet().map(model::ByteCount::as_bytes),
            client_memory_bytes: typical.client_memory.map(model::ByteCount::as_bytes),
            server_memory_bytes: typical.server_memory.map(model::ByteCount::as_bytes),
        }
    }
}

#[derive(Serialize)]
pub(super) struct RecommendationRecord<'a> {
    job: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    link: Option<&'a str>,
    way: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<u64>,
    spelling: &'a str,
    duration_ns: u64,
    best_ns: u64,
    worst_way: &'a str,
    worst_ns: u64,
    worst_ratio: f64,
    runs: u32,
    full_sweep_runs: u32,
    as_good: Vec<AsGood<'a>>,
}

#[derive(Serialize)]
struct AsGood<'a> {
    way: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<u64>,
}

impl<'a> RecommendationRecord<'a> {
    pub(super) fn new(one: &'a Recommendation) -> Self {
        let [runs, full_sweep_runs] = one.runs;
        Self {
            job: one.job.name(),
            link: one.link.as_deref(),
            way: &one.method,
            value: one.value,
            spelling: &one.spelling,
            duration_ns: nanos(one.duration),
            best_ns: nanos(one.best),
            worst_way: &one.worst_method,
            worst_ns: nanos(one.worst),
            worst_ratio: one.ratio(),
            runs,
            full_sweep_runs,
            as_good: one.as_good.iter().map(AsGood::new).collect(),
        }
    }
}

impl<'a> AsGood<'a> {
    fn new(setting: &'a ChosenSetting) -> Self {
        Self {
            way: &setting.method,
            value: setting.value,
        }
    }
}

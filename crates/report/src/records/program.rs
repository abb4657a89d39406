//! Records of tuning a program: `program`, `program_best`, `program_unchanged`.

use super::nanos;
use model::{ByteCount, Direction, ProgramBest, ProgramRun, ProgramTuned};
use serde::Serialize;
use std::sync::Arc;

#[derive(Serialize)]
pub(super) struct ProgramRecord<'a> {
    setting: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    link: Option<&'a str>,
    runs: u64,
    failed: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    p50_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    min_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    connected_ns: Option<u64>,
    #[serde(flatten)]
    counts: Option<Counts>,
}

/// Of the run with the median duration.
#[derive(Serialize)]
struct Counts {
    connections: u64,
    turns: u64,
    client_payload_bytes: u64,
    server_payload_bytes: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    client_packets: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    server_packets: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    mean_packet_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    client_memory_bytes: Option<u64>,
}

impl Counts {
    fn new(run: &ProgramRun) -> Self {
        let [client_payload_bytes, server_payload_bytes] = run.payload_bytes.into_array();
        Self {
            connections: run.connections,
            turns: run.turns,
            client_payload_bytes,
            server_payload_bytes,
            client_packets: run.packets.map(|packets| packets[Direction::ClientToServer]),
            server_packets: run.packets.map(|packets| packets[Direction::ServerToClient]),
            mean_packet_bytes: run.mean_packet().map(ByteCount::as_bytes),
            client_memory_bytes: run.client_memory.map(ByteCount::as_bytes),
        }
    }
}

impl<'a> ProgramRecord<'a> {
    pub(super) fn new(tuned: &'a ProgramTuned) -> Self {
        Self {
            setting: &tuned.setting,
            link: tuned.link.as_deref(),
            runs: tuned.spread.count,
            failed: tuned.failed,
            p50_ns: tuned.spread.p50.map(nanos),
            min_ns: tuned.spread.min.map(nanos),
            max_ns: tuned.spread.max.map(nanos),
            connected_ns: tuned.connected.p50.map(nanos),
            counts: tuned.typical.as_ref().map(Counts::new),
        }
    }
}

#[derive(Serialize)]
pub(super) struct BestRecord<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    link: Option<&'a str>,
    setting: &'a str,
    p50_ns: u64,
    best_ns: u64,
    worst_setting: &'a str,
    worst_ns: u64,
    told_apart: bool,
}

impl<'a> BestRecord<'a> {
    pub(super) fn new(best: &'a ProgramBest) -> Self {
        Self {
            link: best.link.as_deref(),
            setting: &best.setting,
            p50_ns: nanos(best.duration),
            best_ns: nanos(best.best),
            worst_setting: &best.worst_setting,
            worst_ns: nanos(best.worst),
            told_apart: best.told_apart,
        }
    }
}

#[derive(Serialize)]
pub(super) struct UnchangedRecord<'a> {
    settings: Vec<&'a str>,
}

impl<'a> UnchangedRecord<'a> {
    pub(super) fn new(settings: &'a [Arc<str>]) -> Self {
        Self {
            settings: settings.iter().map(AsRef::as_ref).collect(),
        }
    }
}

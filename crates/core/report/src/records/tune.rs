//! Records of tune: `tuned`, `recommendation`.

use crate::outcome::TuneReport;
use model::{ByteCount, Direction, MethodParameter, PerDirection, Recommendation, Tuned};

record! {
    TunedRecord(report: &'a TuneReport, tuned: &'a Tuned) {
        job: &tuned.job,
        way: &tuned.method,
        knob: knob(report, tuned).map(|knob| &knob.name),
        unit: knob(report, tuned).map(|knob| &knob.unit),
        value: tuned.value,
        link: tuned.link.as_ref(),
        source: &tuned.source,
        runs: tuned.runs,
        duration_ns: tuned.median(),
        min_ns: tuned.spread.min,
        max_ns: tuned.spread.max,
        rows: tuned.typical.rows,
        turns: tuned.typical.turns,
        client_packets: one(tuned.typical.packets, Direction::ClientToServer),
        server_packets: one(tuned.typical.packets, Direction::ServerToClient),
        client_payload_bytes: one(tuned.typical.payload_bytes, Direction::ClientToServer),
        server_payload_bytes: one(tuned.typical.payload_bytes, Direction::ServerToClient),
        client_wire_bytes: one(tuned.typical.wire_bytes, Direction::ClientToServer),
        server_wire_bytes: one(tuned.typical.wire_bytes, Direction::ServerToClient),
        mean_packet_bytes: tuned.typical.mean_packet().map(ByteCount::as_bytes),
        client_memory_bytes: tuned.typical.client_memory.map(ByteCount::as_bytes),
        server_memory_bytes: tuned.typical.server_memory.map(ByteCount::as_bytes),
    }
}

record! {
    RecommendationRecord(one: &'a Recommendation) {
        job: &one.job,
        link: one.link.as_ref(),
        way: &one.method,
        value: one.value,
        spelling: &one.spelling,
        duration_ns: one.duration,
        best_ns: one.best,
        worst_way: &one.worst_method,
        worst_ns: one.worst,
        worst_ratio: one.ratio(),
        runs: one.runs[0],
        full_sweep_runs: one.runs[1],
        as_good: &one.as_good,
    }
}

fn knob<'a>(report: &'a TuneReport, tuned: &Tuned) -> Option<&'a MethodParameter> {
    let mut methods = report.methods.iter();
    let method = methods.find(|method| method.job == tuned.job && method.name == tuned.method);
    method.and_then(|method| method.parameter.as_ref())
}

fn one(each: Option<PerDirection<u64>>, direction: Direction) -> Option<u64> {
    each.map(|each| each[direction])
}

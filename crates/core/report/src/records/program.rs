//! Records of tuning a program: `program`, `program_unchanged`.

use model::{ByteCount, Direction, ProgramRun, ProgramTuned};
use std::sync::Arc;

record! {
    ProgramRecord(tuned: &'a ProgramTuned) {
        setting: &tuned.setting,
        link: tuned.link.as_ref(),
        runs: tuned.spread.count,
        failed: tuned.failed,
        p50_ns: tuned.spread.p50,
        min_ns: tuned.spread.min,
        max_ns: tuned.spread.max,
        connected_ns: tuned.connected.p50,
        ..counts: tuned.typical.as_ref().map(Counts),
    }
}

record! {
    /// Of the run with the median duration.
    Counts(run: &'a ProgramRun) {
        connections: run.connections,
        turns: run.turns,
        client_payload_bytes: run.payload_bytes[Direction::ClientToServer],
        server_payload_bytes: run.payload_bytes[Direction::ServerToClient],
        client_packets: run.packets.map(|packets| packets[Direction::ClientToServer]),
        server_packets: run.packets.map(|packets| packets[Direction::ServerToClient]),
        mean_packet_bytes: run.mean_packet().map(ByteCount::as_bytes),
        client_memory_bytes: run.client_memory.map(ByteCount::as_bytes),
    }
}

record! {
    UnchangedRecord(settings: &'a [Arc<str>]) {
        settings: settings,
    }
}

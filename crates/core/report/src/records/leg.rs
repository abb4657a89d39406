//! The record of a leg: one step of opening a connection.

use model::{Direction, Leg, Timestamp};

record! {
    LegRecord(target: &'a str, number: u64, at: Timestamp, leg: &'a Leg) {
        number: number,
        target: target,
        name: &leg.name,
        phase: &leg.phase,
        at_ns: at.as_nanos(),
        duration_ns: leg.duration,
        turns: leg.turns,
        client_payload_bytes: leg.payload(Direction::ClientToServer),
        server_payload_bytes: leg.payload(Direction::ServerToClient),
        remedy: leg.remedy.as_ref(),
        saves_turns: leg.remedy.is_some().then_some(leg.saves_turns),
    }
}

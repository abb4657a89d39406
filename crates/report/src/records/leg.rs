//! The record of a leg: one step of opening a connection.

use super::nanos;
use model::{Direction, Leg, Timestamp};
use serde::Serialize;

#[derive(Serialize)]
pub(super) struct LegRecord<'a> {
    number: u64,
    target: &'a str,
    name: &'a str,
    phase: &'static str,
    at_ns: u64,
    duration_ns: u64,
    turns: u64,
    client_payload_bytes: u64,
    server_payload_bytes: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    remedy: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    saves_turns: Option<u64>,
}

impl<'a> LegRecord<'a> {
    pub(super) fn new(target: &'a str, number: u64, at: Timestamp, leg: &'a Leg) -> Self {
        Self {
            number,
            target,
            name: &leg.name,
            phase: leg.phase.name(),
            at_ns: at.as_nanos(),
            duration_ns: nanos(leg.duration),
            turns: leg.turns,
            client_payload_bytes: leg.payload(Direction::ClientToServer),
            server_payload_bytes: leg.payload(Direction::ServerToClient),
            remedy: leg.remedy.as_deref(),
            saves_turns: leg.remedy.is_some().then_some(leg.saves_turns),
        }
    }
}

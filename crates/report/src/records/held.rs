//! Records of transactions that stay open between replies: `held`, `held_prediction`.

use super::nanos;
use super::outcome::{Parts, Spread};
use model::{BitRate, Direction, HeldPrediction, HeldTransactions};
use serde::Serialize;

#[derive(Serialize)]
pub(super) struct HeldRecord<'a> {
    transaction_name: &'a str,
    operation_name: &'a str,
    count: u64,
    writing: u64,
    writes: u64,
    turns: u64,
    most_turns: u64,
    turns_after_write: u64,
    held_ns: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    rows_held_ns: Option<u64>,
    #[serde(flatten)]
    parts: Parts,
    #[serde(flatten)]
    spread: Spread,
}

impl<'a> HeldRecord<'a> {
    pub(super) fn new(held: &'a HeldTransactions) -> Self {
        Self {
            transaction_name: &held.name,
            operation_name: &held.operation_name,
            count: held.count,
            writing: held.writing,
            writes: held.writes,
            turns: held.turns,
            most_turns: held.most_turns,
            turns_after_write: held.turns_after_write,
            held_ns: nanos(held.median),
            rows_held_ns: held.rows_held.map(nanos),
            parts: Parts::new(&held.attribution),
            spread: Spread::new(&held.spread),
        }
    }
}

#[derive(Serialize)]
pub(super) struct HeldPredictionRecord<'a> {
    transaction_name: &'a str,
    operation_name: &'a str,
    replays: u64,
    rtt_ns: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    rate_bits_per_second: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    request_rate_bits_per_second: Option<u64>,
    link: &'a str,
    held_ns: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    rows_held_ns: Option<u64>,
    longest_ns: u64,
}

impl<'a> HeldPredictionRecord<'a> {
    pub(super) fn new(held: &'a HeldPrediction) -> Self {
        Self {
            transaction_name: &held.name,
            operation_name: &held.operation_name,
            replays: held.replays,
            rtt_ns: nanos(held.rtt),
            rate_bits_per_second: held.rate[Direction::ServerToClient].map(BitRate::as_bits_per_second),
            request_rate_bits_per_second: held.rate[Direction::ClientToServer]
                .map(BitRate::as_bits_per_second),
            link: &held.link,
            held_ns: nanos(held.median),
            rows_held_ns: held.rows_held.map(nanos),
            longest_ns: nanos(held.longest),
        }
    }
}

//! Records of distances beyond a ping: trains of one-packet rows, and links between databases.

use super::nanos;
use super::outcome::Spread;
use model::{BitRate, ByteCount, DatabaseLinkOutcome, RowTrain};
use serde::Serialize;

/// Rows of one packet each. The spread is over the gaps between them.
#[derive(Serialize)]
pub(super) struct RowsRecord {
    rows: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    packets: Option<u64>,
    segment_bytes: u64,
    filler_bytes: u64,
    wire_bytes: u64,
    largest_seen_bytes: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    own_segment_bytes: Option<u64>,
    corrections: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    round_trip_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    kernel_min_rtt_ns: Option<u64>,
    first_row_ns: u64,
    span_ns: u64,
    pauses: u64,
    shared_stamps: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    rate_bits_per_second: Option<u64>,
    #[serde(flatten)]
    gaps: Spread,
}

impl RowsRecord {
    pub(super) fn new(train: &RowTrain) -> Self {
        Self {
            rows: train.rows,
            packets: train.packets,
            segment_bytes: train.segment.as_bytes(),
            filler_bytes: train.filler.as_bytes(),
            wire_bytes: train.wire_bytes().as_bytes(),
            largest_seen_bytes: train.largest_seen.as_bytes(),
            own_segment_bytes: train.own_segment.map(ByteCount::as_bytes),
            corrections: train.corrections,
            round_trip_ns: train.round_trip.map(nanos),
            kernel_min_rtt_ns: train.kernel_min_rtt.map(nanos),
            first_row_ns: nanos(train.first_row),
            span_ns: nanos(train.span),
            pauses: train.pauses,
            shared_stamps: train.shared_stamps,
            rate_bits_per_second: train.rate().map(BitRate::as_bits_per_second),
            gaps: Spread::new(&train.gaps),
        }
    }
}

/// The spread is over the round trips between the databases.
#[derive(Serialize)]
pub(super) struct DatabaseLinkRecord<'a> {
    link: &'a str,
    through: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    turns_per_call: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    calls_in_round_trips: Option<f64>,
    evidence: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    connect_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    first_call_ns: Option<u64>,
    calls: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    call_min_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    call_p50_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    client_rtt_ns: Option<u64>,
    failed: u64,
    #[serde(flatten)]
    round_trips: Spread,
}

impl<'a> DatabaseLinkRecord<'a> {
    pub(super) fn new(outcome: &'a DatabaseLinkOutcome) -> Self {
        Self {
            link: &outcome.link,
            through: &outcome.through,
            turns_per_call: outcome.turns_per_call,
            calls_in_round_trips: outcome.calls_in_round_trips.filter(|ratio| ratio.is_finite()),
            evidence: &outcome.evidence,
            connect_ns: outcome.connect.map(nanos),
            first_call_ns: outcome.first_call.map(nanos),
            calls: outcome.calls.count,
            call_min_ns: outcome.calls.min.map(nanos),
            call_p50_ns: outcome.calls.p50.map(nanos),
            client_rtt_ns: outcome.client_rtt.map(nanos),
            failed: outcome.failed,
            round_trips: Spread::new(&outcome.round_trips),
        }
    }
}

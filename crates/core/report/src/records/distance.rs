//! Records of distances beyond a ping: trains of one-packet rows, and links between databases.

use model::{BitRate, ByteCount, DatabaseLinkOutcome, RowTrain};

record! {
    /// Rows of one packet each. The spread is over the gaps between them.
    RowsRecord(train: &'a RowTrain) {
        rows: train.rows,
        packets: train.packets,
        segment_bytes: train.segment.as_bytes(),
        filler_bytes: train.filler.as_bytes(),
        wire_bytes: train.wire_bytes().as_bytes(),
        largest_seen_bytes: train.largest_seen.as_bytes(),
        own_segment_bytes: train.own_segment.map(ByteCount::as_bytes),
        corrections: train.corrections,
        round_trip_ns: train.round_trip,
        kernel_min_rtt_ns: train.kernel_min_rtt,
        first_row_ns: train.first_row,
        span_ns: train.span,
        pauses: train.pauses,
        shared_stamps: train.shared_stamps,
        rate_bits_per_second: train.rate().map(BitRate::as_bits_per_second),
        ..gaps: &train.gaps,
    }
}

record! {
    /// The spread is over the round trips between the databases.
    DatabaseLinkRecord(outcome: &'a DatabaseLinkOutcome) {
        link: &outcome.link,
        through: &outcome.through,
        turns_per_call: outcome.turns_per_call,
        calls_in_round_trips: outcome.calls_in_round_trips.filter(|ratio| ratio.is_finite()),
        evidence: &outcome.evidence,
        connect_ns: outcome.connect,
        first_call_ns: outcome.first_call,
        calls: outcome.calls.count,
        call_min_ns: outcome.calls.min,
        call_p50_ns: outcome.calls.p50,
        rows: outcome.rows.map(|rows| rows.rows),
        rows_min_ns: outcome.rows.and_then(|rows| rows.calls.min),
        rows_p50_ns: outcome.rows.and_then(|rows| rows.calls.p50),
        rows_in_round_trips: outcome.rows_in_round_trips(),
        client_rtt_ns: outcome.client_rtt,
        failed: outcome.failed,
        ..round_trips: &outcome.round_trips,
    }
}

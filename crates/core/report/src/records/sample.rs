//! The record of a sample that longwire takes itself.

use model::{Sample, Timestamp};

record! {
    SampleRecord(sample: &'a Sample) {
        number: sample.number,
        target: &sample.target,
        at_ns: sample.at.as_nanos(),
        intended_at_ns: sample.intended_at.map(Timestamp::as_nanos),
        duration_ns: sample.duration,
        server_ns: sample.server,
        round_trip_ns: sample.round_trip(),
        first: sample.first,
        turns: sample.turns,
        kernel_rtt_ns: sample.kernel_rtt,
        error: sample.error.as_ref(),
    }
}

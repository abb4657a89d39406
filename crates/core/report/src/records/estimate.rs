//! The `estimate` record.

use model::Estimate;

record! {
    EstimateRecord(estimate: &'a Estimate) {
        link: &estimate.link,
        rtt_ns: estimate.rtt,
        clients: estimate.operation.clients,
        round_trips: estimate.operation.round_trips,
        buffer_bytes: estimate.rows.map(|rows| rows.buffer.as_bytes()),
        rows_per_buffer: estimate.rows.map(|rows| rows.rows_per_buffer()),
        packets: estimate.packets,
        payload_bytes: estimate.sent.as_bytes(),
        compressed: estimate.is_compressed,
        duration_ns: estimate.time(),
        per_second: estimate.per_second(),
        network_share: estimate.network_share().map(model::Share::as_fraction),
        work_ns: estimate.operation.work,
        round_trips_ns: estimate.round_trips,
        transfer_ns: estimate.transfer,
        waiting_ns: estimate.waiting,
        compressing_ns: estimate.compressing,
    }
}

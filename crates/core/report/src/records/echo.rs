//! The `bulk` record of echo.

use model::{BitRate, BulkOutcome};

record! {
    /// The rate of one direction, and round trips during the transfer.
    BulkRecord(bulk: &'a BulkOutcome) {
        direction: &bulk.direction,
        payload_bytes: bulk.payload_bytes,
        duration_ns: bulk.elapsed,
        rate_bits_per_second: bulk.rate.map(BitRate::as_bits_per_second),
        retransmitted_packets: bulk.retransmitted,
        idle_samples: bulk.idle.count,
        idle_p50_ns: bulk.idle.p50,
        idle_p99_ns: bulk.idle.p99,
        loaded_samples: bulk.loaded.count,
        loaded_p50_ns: bulk.loaded.p50,
        loaded_p99_ns: bulk.loaded.p99,
        queue_delay_ns: bulk.queue_delay(),
        client_processor_ns: bulk.client_processor,
        server_processor_ns: bulk.server_processor,
    }
}

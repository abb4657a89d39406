//! The record of an emulated link.

use model::{BitRate, Direction, LinkDirectionOutcome, LinkOutcome};

record! {
    LinkRecord(link: &'a LinkOutcome) {
        name: &link.name,
        asked: &link.asked,
        rtt_ns: link.rtt,
        rtt_error_p50_ns: link.rtt_error_p50_ns,
        rtt_error_p99_ns: link.rtt_error_p99_ns,
        floor_ns: link.floor,
        client_packets: client(link).packets,
        server_packets: server(link).packets,
        client_wire_bytes: client(link).wire_bytes,
        server_wire_bytes: server(link).wire_bytes,
        client_dropped_by_queue: client(link).dropped_by_queue,
        server_dropped_by_queue: server(link).dropped_by_queue,
        client_dropped_by_loss: client(link).dropped_by_loss,
        server_dropped_by_loss: server(link).dropped_by_loss,
        client_dropped_by_outage: client(link).dropped_by_outage,
        server_dropped_by_outage: server(link).dropped_by_outage,
        client_dropped_unasked: client(link).dropped_unasked,
        server_dropped_unasked: server(link).dropped_unasked,
        client_rate_bits_per_second: client(link).rate.map(BitRate::as_bits_per_second),
        server_rate_bits_per_second: server(link).rate.map(BitRate::as_bits_per_second),
        client_realised_bits_per_second: client(link).realised_rate.map(BitRate::as_bits_per_second),
        server_realised_bits_per_second: server(link).realised_rate.map(BitRate::as_bits_per_second),
    }
}

fn client(link: &LinkOutcome) -> &LinkDirectionOutcome {
    &link.directions[Direction::ClientToServer]
}

fn server(link: &LinkOutcome) -> &LinkDirectionOutcome {
    &link.directions[Direction::ServerToClient]
}

//! Records of split: `split`, `elsewhere`.

use model::{Direction, SplitOutcome, SplitPrediction};

record! {
    SplitRecord(split: &'a SplitOutcome) {
        clients: split.clients,
        rounds: split.transaction.rounds,
        operations: split.transactions,
        errors: split.errors,
        per_second: split.per_second(),
        turns: split.turns,
        request_bytes: split.payload_bytes[Direction::ClientToServer],
        reply_bytes: split.payload_bytes[Direction::ServerToClient],
        round_trip_source: &split.source,
        rtt_ns: split.round_trip.median,
        rtt_low_ns: split.round_trip.low,
        rtt_high_ns: split.round_trip.high,
        transaction_ns: split.transaction.median,
        transaction_low_ns: split.transaction.low,
        transaction_high_ns: split.transaction.high,
        client_ns: split.client.median,
        client_low_ns: split.client.low,
        client_high_ns: split.client.high,
        network_ns: split.network.median,
        network_low_ns: split.network.low,
        network_high_ns: split.network.high,
        server_ns: split.server.median,
        server_low_ns: split.server.low,
        server_high_ns: split.server.high,
    }
}

record! {
    ElsewhereRecord(prediction: &'a SplitPrediction) {
        place: &prediction.place,
        base: &prediction.base,
        rtt_ns: prediction.round_trip,
        clients: prediction.clients,
        predicted_client: "longwire",
        per_second: prediction.per_second(),
        transaction_ns: prediction.forecast.ok().map(|forecast| forecast.transaction),
        low_ns: prediction.forecast.ok().map(|forecast| forecast.low),
        high_ns: prediction.forecast.ok().map(|forecast| forecast.high),
        unscaled_low_ns: prediction.forecast.ok().map(|forecast| forecast.unscaled[0]),
        unscaled_high_ns: prediction.forecast.ok().map(|forecast| forecast.unscaled[1]),
        bounds_class: prediction.forecast.ok().map(|forecast| forecast.scale.class),
        bounds_cells: prediction.forecast.ok().and_then(|forecast| Some(forecast.scale.measured?.count)),
        bounds_inside_percent: prediction.forecast.ok().and_then(|forecast| Some(forecast.scale.measured?.inside_percent)),
        bound_by: prediction.forecast.as_ref().ok().map(|forecast| &forecast.bound_by),
        refused: prediction.refusal(),
        measured_per_second: prediction.measured_per_second(),
        measured_ns: prediction.measured.map(|measured| measured.median),
        measured_min_ns: prediction.measured.map(|measured| measured.low),
        measured_max_ns: prediction.measured.map(|measured| measured.high),
        error_share: prediction.error(),
    }
}

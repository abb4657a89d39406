//! Records of split: `split`, `elsewhere`.

use super::nanos;
use model::{Interval, SplitOutcome, SplitPrediction};
use serde::Serialize;

#[derive(Serialize)]
pub(super) struct SplitRecord {
    clients: u32,
    rounds: u32,
    operations: u64,
    errors: u64,
    per_second: f64,
    turns: f64,
    request_bytes: f64,
    reply_bytes: f64,
    round_trip_source: &'static str,
    rtt_ns: u64,
    rtt_low_ns: u64,
    rtt_high_ns: u64,
    transaction_ns: u64,
    transaction_low_ns: u64,
    transaction_high_ns: u64,
    client_ns: u64,
    client_low_ns: u64,
    client_high_ns: u64,
    network_ns: u64,
    network_low_ns: u64,
    network_high_ns: u64,
    server_ns: u64,
    server_low_ns: u64,
    server_high_ns: u64,
}

impl SplitRecord {
    pub(super) fn new(split: &SplitOutcome) -> Self {
        let [request_bytes, reply_bytes] = split.payload_bytes.into_array();
        let low = |interval: Interval| nanos(interval.low);
        let high = |interval: Interval| nanos(interval.high);
        Self {
            clients: split.clients,
            rounds: split.transaction.rounds,
            operations: split.transactions,
            errors: split.errors,
            per_second: split.per_second(),
            turns: split.turns,
            request_bytes,
            reply_bytes,
            round_trip_source: split.source.name(),
            rtt_ns: nanos(split.round_trip.median),
            rtt_low_ns: low(split.round_trip),
            rtt_high_ns: high(split.round_trip),
            transaction_ns: nanos(split.transaction.median),
            transaction_low_ns: low(split.transaction),
            transaction_high_ns: high(split.transaction),
            client_ns: nanos(split.client.median),
            client_low_ns: low(split.client),
            client_high_ns: high(split.client),
            network_ns: nanos(split.network.median),
            network_low_ns: low(split.network),
            network_high_ns: high(split.network),
            server_ns: nanos(split.server.median),
            server_low_ns: low(split.server),
            server_high_ns: high(split.server),
        }
    }
}

#[derive(Serialize)]
pub(super) struct ElsewhereRecord<'a> {
    place: &'a str,
    base: &'static str,
    rtt_ns: u64,
    clients: u32,
    predicted_client: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    per_second: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    transaction_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    low_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    high_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bound_by: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    refused: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    measured_per_second: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    measured_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    measured_min_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    measured_max_ns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error_share: Option<f64>,
}

impl<'a> ElsewhereRecord<'a> {
    pub(super) fn new(prediction: &'a SplitPrediction) -> Self {
        let forecast = prediction.forecast.ok();
        Self {
            place: &prediction.place,
            base: prediction.base.name(),
            rtt_ns: nanos(prediction.round_trip),
            clients: prediction.clients,
            predicted_client: "longwire",
            per_second: prediction.per_second(),
            transaction_ns: forecast.map(|forecast| nanos(forecast.transaction)),
            low_ns: forecast.map(|forecast| nanos(forecast.low)),
            high_ns: forecast.map(|forecast| nanos(forecast.high)),
            bound_by: forecast.map(|forecast| forecast.bound_by.name()),
            refused: prediction.refusal(),
            measured_per_second: prediction.measured_per_second(),
            measured_ns: prediction.measured.map(|measured| nanos(measured.median)),
            measured_min_ns: prediction.measured.map(|measured| nanos(measured.low)),
            measured_max_ns: prediction.measured.map(|measured| nanos(measured.high)),
            error_share: prediction.error(),
        }
    }
}

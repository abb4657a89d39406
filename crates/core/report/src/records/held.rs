//! The `held_prediction` record of transactions that stay open between replies.

use super::rate;
use model::{Direction, HeldPrediction};

record! {
    HeldPredictionRecord(held: &'a HeldPrediction) {
        transaction_name: &held.name,
        operation_name: &held.operation_name,
        replays: held.replays,
        rtt_ns: held.rtt,
        rate_bits_per_second: rate(held.rate, Direction::ServerToClient),
        request_rate_bits_per_second: rate(held.rate, Direction::ClientToServer),
        link: &held.link,
        held_ns: held.median,
        rows_held_ns: held.rows_held,
        longest_ns: held.longest,
    }
}

//! An exchange as its client experienced it: shifted from the observation point to the client.

use model::{Exchange, Step, Timestamp};
use std::time::Duration;

/// Half of the client-side round trip before the first byte passed: when the client began to send. The
/// handshake and every other exchange use the round trip of their first step.
pub(crate) fn started(exchange: &Exchange) -> Timestamp {
    exchange.at.before(half(client_side(&exchange.first)))
}

/// When the client had the last byte of the reply; without one, when it had sent the last byte of the
/// request.
pub(super) fn ended(exchange: &Exchange) -> Timestamp {
    let last = exchange.more.last().unwrap_or(&exchange.first);
    let rtt = client_side(last);
    match last.reply_ended {
        Some(at) => at.after(rtt - half(rtt)),
        None => last.request_ended.before(half(client_side(&exchange.first))),
    }
}

/// When the request had reached its server.
pub(crate) fn reached_server(exchange: &Exchange) -> Timestamp {
    exchange
        .first
        .request_ended
        .after(half(server_side(&exchange.first)))
}

/// When the first byte of the reply left the server; `None` if none came.
pub(crate) fn left_server(exchange: &Exchange) -> Option<Timestamp> {
    let rtt = server_side(&exchange.first);
    exchange
        .first
        .reply_started
        .map(|at| at.before(rtt - half(rtt)).max(reached_server(exchange)))
}

/// When the last byte of the reply left the server; `None` if none came.
pub(super) fn finished_at_server(exchange: &Exchange) -> Option<Timestamp> {
    let last = exchange.more.last().unwrap_or(&exchange.first);
    let rtt = server_side(last);
    let left = left_server(exchange)?;
    last.reply_ended.map(|at| at.before(rtt - half(rtt)).max(left))
}

/// Half of a round trip. Dividing costs, and one side of the observation point mostly has none.
#[inline]
fn half(rtt: Duration) -> Duration {
    if rtt.is_zero() { rtt } else { rtt / 2 }
}

pub(crate) fn client_side(step: &Step) -> Duration {
    step.client_side_rtt.unwrap_or_default()
}

pub(super) fn server_side(step: &Step) -> Duration {
    step.server_side_rtt.unwrap_or_default()
}

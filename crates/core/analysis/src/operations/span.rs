//! Shifts times of an exchange from the observation point to its ends.

use model::{Exchange, Step, Timestamp};
use std::time::Duration;

/// When the client began to send: half of the client-side round trip earlier. Handshakes and all
/// other exchanges use the round trip of their first step.
pub(crate) fn started(exchange: &Exchange) -> Timestamp {
    exchange.at.before(half(client_side(&exchange.first)))
}

/// When the client had the reply's last byte; without a reply, when it had sent the request's.
pub(super) fn ended(exchange: &Exchange) -> Timestamp {
    let last = exchange.more.last().unwrap_or(&exchange.first);
    let rtt = client_side(last);
    match last.reply_ended {
        Some(at) => at.after(rtt - half(rtt)),
        None => last.request_ended.before(half(client_side(&exchange.first))),
    }
}

/// When the request reached the server.
pub(crate) fn reached_server(exchange: &Exchange) -> Timestamp {
    exchange
        .first
        .request_ended
        .after(half(server_side(&exchange.first)))
}

/// When the reply's first byte left the server; `None` without a reply.
pub(crate) fn left_server(exchange: &Exchange) -> Option<Timestamp> {
    let rtt = server_side(&exchange.first);
    exchange
        .first
        .reply_started
        .map(|at| at.before(rtt - half(rtt)).max(reached_server(exchange)))
}

/// When the reply's last byte left the server; `None` without a reply.
pub(super) fn finished_at_server(exchange: &Exchange) -> Option<Timestamp> {
    let last = exchange.more.last().unwrap_or(&exchange.first);
    let rtt = server_side(last);
    let left = left_server(exchange)?;
    last.reply_ended.map(|at| at.before(rtt - half(rtt)).max(left))
}

/// Avoids the division, as one side usually has no round trip.
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

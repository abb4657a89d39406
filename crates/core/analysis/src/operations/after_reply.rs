//! Separates work after the response, which the client did not wait for.
//!
//! 1. A statement with a reply later than the response's first byte is not part of the request's wait.
//! 2. Unless the response is streamed: the server paused between its parts for at least half of the
//!    time until the last such reply. A head and a body separated by a missing acknowledgement
//!    (Nagle) are in flight meanwhile, so that is no pause. Then it is part of the wait up to the
//!    response's last byte.

use super::member::Member;
use model::{ConnectionId, Exchange, Timestamp};

/// Returns members that the response on `connection` may have waited for, and the others.
pub(super) fn split(members: Vec<Member>, connection: ConnectionId) -> (Vec<Member>, Vec<Member>) {
    let response = members.iter().rev().find(|member| {
        member.exchange.connection == connection
            && member.protocol.carries_requests()
            && member.exchange.executions > 0
    });
    let Some((replied, until)) = response.and_then(|member| begins(&member.exchange)) else {
        return (members, Vec::new());
    };
    let pause = response
        .map(|member| member.exchange.first.server_inside_reply)
        .unwrap_or_default();
    let is_late = |member: &Member, replied| {
        let exchange = &member.exchange;
        // A message without a reply counts by its begin.
        exchange.connection != connection
            && member.protocol.is_database()
            && ended(exchange).unwrap_or(exchange.at) > replied
    };
    let ends = members
        .iter()
        .filter(|member| is_late(member, replied))
        .filter_map(|member| ended(&member.exchange));
    let from = match ends.max() {
        Some(last) if pause * 2 < last.min(until).since(replied) => replied,
        _ => until,
    };
    members.into_iter().partition(|member| !is_late(member, from))
}

/// First and last byte of the last reply.
fn begins(exchange: &Exchange) -> Option<(Timestamp, Timestamp)> {
    let last = exchange.steps().last()?;
    Some((last.reply_started?, last.reply_ended?))
}

fn ended(exchange: &Exchange) -> Option<Timestamp> {
    exchange.steps().last()?.reply_ended
}

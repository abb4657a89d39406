//! Work that goes on after the response: no reply of it can have been waited for.
//!
//! 1. A statement whose reply passed after the first byte of the response did is not part of what the request
//!    waited for.
//! 2. Unless the response is streamed: its server did nothing between parts of it for at least half of the
//!    time until the last such reply. A head and a body that leave apart because an acknowledgement was
//!    missing (Nagle) are in flight meanwhile, and are no such pause.

use super::Member;
use model::{ConnectionId, Exchange, Timestamp};

/// The members that the response to a request on `connection` may have waited for, and the others.
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
    let is_late = |member: &Member| {
        member.exchange.connection != connection
            && member.protocol.is_database()
            && ended(&member.exchange).is_some_and(|ended| ended > replied)
    };
    let ends = members
        .iter()
        .filter(|member| is_late(member))
        .filter_map(|member| ended(&member.exchange));
    match ends.max() {
        Some(last) if pause * 2 < last.min(until).since(replied) => {
            members.into_iter().partition(|member| !is_late(member))
        }
        _ => (members, Vec::new()),
    }
}

/// When the first byte of the last reply of an exchange passed, and its last one.
fn begins(exchange: &Exchange) -> Option<(Timestamp, Timestamp)> {
    let last = exchange.steps().last()?;
    Some((last.reply_started?, last.reply_ended?))
}

fn ended(exchange: &Exchange) -> Option<Timestamp> {
    exchange.steps().last()?.reply_ended
}

//! The times of a step.

use super::span;
use model::{ConnectionId, OperationStep, Protocol, Timestamp};

/// The frequently read part of a step. Steps are large; these are contiguous, and those of an
/// operation fit into the processor's cache.
#[derive(Debug, Clone, Copy)]
pub(super) struct Moment {
    pub(super) at: Timestamp,
    pub(super) started: Timestamp,
    pub(super) ended: Timestamp,
    /// When the last reply had passed the observation point.
    pub(super) replied: Option<Timestamp>,
    pub(super) connection: ConnectionId,
    pub(super) turns: u32,
    pub(super) begins_turn: bool,
    /// Whether its server may query others on its behalf.
    pub(super) may_contain: bool,
}

impl Moment {
    pub(super) fn from_step(step: &OperationStep) -> Self {
        let exchange = &step.exchange;
        Self {
            at: exchange.at,
            started: span::started(exchange),
            ended: span::ended(exchange),
            replied: exchange.more.last().unwrap_or(&exchange.first).reply_ended,
            connection: exchange.connection,
            turns: exchange.turns,
            begins_turn: exchange.first.turn,
            may_contain: may_contain(step.protocol) && !exchange.is_handshake(),
        }
    }
}

/// Whether servers of this protocol may query others on behalf of a request.
fn may_contain(protocol: Protocol) -> bool {
    !protocol.is_database()
}

//! A listener answers with RESEND or REDIRECT: an extra round trip before login.
//!
//! Oracle's connect takes one round trip; the listener requested each further exchange of the
//! connect phase. Not reported for connections that [`super::reconnect`] claims whole.

use super::ledger::Waste;
use super::operation_view::OperationView;
use model::{ConnectionId, FindingKind, Phase, Protocol};

pub(super) fn detect_waste(view: &mut OperationView<'_>) {
    let mut connects: Vec<(ConnectionId, u64)> = Vec::new();
    for step in &view.operation.steps {
        let exchange = &step.exchange;
        if step.protocol != Protocol::Oracle || exchange.phase != Phase::Connect || exchange.is_handshake() {
            continue;
        }
        let place = connects.iter().rposition(|(id, _)| *id == exchange.connection);
        match place {
            Some(place) => connects[place].1 += u64::from(exchange.turns),
            None => connects.push((exchange.connection, u64::from(exchange.turns))),
        }
    }
    for (connection, turns) in connects {
        if turns > 1 && !view.clients.is_reopened(connection) {
            view.record_waste(Waste {
                count: turns - 1,
                turns,
                saves_turns: turns - 1,
                ..Waste::new(FindingKind::ListenerTurn, connection, Protocol::Oracle)
            });
        }
    }
}

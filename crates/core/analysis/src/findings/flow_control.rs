//! DATA of HTTP/2 that waits for a WINDOW_UPDATE.
//!
//! Counted are the waits, in calls and in requests of users. Saved are all of them; on a connection
//! opened for the operation, those beyond TCP's own window, which doubles each round trip.

use super::ledger::Waste;
use super::operation_view::OperationView;
use model::FindingKind;

pub(super) fn detect_waste(view: &mut OperationView<'_>) {
    let operation = view.operation;
    for step in &operation.steps {
        let exchange = &step.exchange;
        let waits = exchange.more.iter().filter(|step| step.turn).count() as u64;
        if !step.has_stream() || waits < MIN_WAITS {
            continue;
        }
        let opened = operation.steps.iter().map(|step| &step.exchange);
        let mut opened = opened.filter(|other| other.connection == exchange.connection);
        let is_new = opened.any(|other| other.is_handshake());
        view.record_waste(Waste {
            fingerprint: exchange.fingerprint.clone(),
            count: waits,
            turns: waits,
            saves_waits: waits - if is_new { u64::from((waits + 1).ilog2()) } else { 0 },
            ..Waste::new(FindingKind::FlowControl, exchange.connection, step.protocol)
        });
    }
}

/// A single one is common where a receiver's window grows to the message.
const MIN_WAITS: u64 = 2;

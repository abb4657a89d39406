//! Commands answered with the address of another server: a cluster node without the key.
//!
//! Saved is the round trip: a client with the cluster's map asks the right node first.

use super::ledger::Waste;
use super::operation_view::OperationView;
use model::FindingKind;

const REDIRECTIONS: [&str; 2] = ["MOVED", "ASK"];

pub(super) fn detect_waste(view: &mut OperationView<'_>) {
    for index in 0..view.turns.all.len() {
        let error = view
            .exchange(index)
            .and_then(|exchange| exchange.error.as_deref());
        let is_redirected = error.is_some_and(|error| REDIRECTIONS.contains(&error));
        if !is_redirected || view.turns.all[index].is_claimed {
            continue;
        }
        if let Some(waste) = view.waste(FindingKind::Redirected, index) {
            view.claim(index);
            view.record_waste(Waste {
                fingerprint: None,
                count: 1,
                turns: 1,
                saves_turns: 1,
                ..waste
            });
        }
    }
}

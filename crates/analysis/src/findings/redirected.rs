//! Commands that the server answers with the place of another server: a node of a cluster that does not have the key.
//!
//! Saved is the round trip: a client that keeps the map of the cluster asks the right node at once.

use super::ledger::Waste;
use super::look::Look;
use model::FindingKind;

/// Codes of errors that name another server (Redis).
const REDIRECTIONS: [&str; 2] = ["MOVED", "ASK"];

pub(super) fn look(look: &mut Look<'_>) {
    for index in 0..look.turns.all.len() {
        let error = look
            .exchange(index)
            .and_then(|exchange| exchange.error.as_deref());
        let is_redirected = error.is_some_and(|error| REDIRECTIONS.contains(&error));
        if !is_redirected || look.turns.all[index].is_claimed {
            continue;
        }
        if let Some(waste) = look.waste(FindingKind::Redirected, index) {
            look.claim(index);
            look.note(Waste {
                fingerprint: None,
                count: 1,
                turns: 1,
                saves_turns: 1,
                ..waste
            });
        }
    }
}

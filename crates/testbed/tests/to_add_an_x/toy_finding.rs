//! A dummy finding for operations named toy.

use super::ledger::Waste;
use super::operation_view::OperationView;
use model::{ConnectionId, FindingKind, Protocol};

pub(super) fn detect_waste(view: &mut OperationView<'_>) {
    if &*view.operation.name == "toy" {
        view.record_waste(Waste {
            count: 3,
            turns: 3,
            saves_turns: 2,
            ..Waste::new(FindingKind::Toy, ConnectionId(0), Protocol::Postgres)
        });
    }
}

#[cfg(test)]
mod tests {
    use crate::findings::{Distances, Findings};
    use model::{Attribution, FindingKind, Operation, OperationKind, Timestamp};
    use std::time::Duration;

    #[test]
    fn a_toy_that_was_added_finds() {
        let mut findings = Findings::new(Distances {
            rtts: vec![Duration::from_millis(10)],
            rate: None,
        });
        findings.operation(&Operation {
            id: 0,
            kind: OperationKind::Connection,
            name: "toy".into(),
            at: Timestamp::from_nanos(1),
            duration: Duration::from_millis(3),
            turns: 3,
            connections: 1,
            attribution: Attribution::default(),
            setup: Duration::ZERO,
            client_after: Duration::ZERO,
            transactions: Vec::new(),
            after_reply: Vec::new(),
            continues: false,
            steps: Vec::new(),
        });
        let found = findings.finish().findings;
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!((found[0].kind, found[0].saves_turns), (FindingKind::Toy, 2));
        assert_eq!(found[0].remedy, "Put the toys away.");
    }
}

//! A transaction stays open for many round trips, or through client work, after its first write:
//! the rows it wrote stay locked, and others wait.
//!
//! One round trip after the first write is the price of committing; those claimed by other findings
//! are excluded. The saving is lock time, not this client's waiting: no round trip is claimed.

use super::ledger::Waste;
use super::operation_view::OperationView;
use model::{FindingKind, OperationTransaction};
use std::time::Duration;

/// Minimum round trips after the first write; pgbench's own transaction has five.
const MIN_TURNS: u64 = 8;

/// Minimum client time after the first write: longer than a program computes between statements.
const THINKING: Duration = Duration::from_millis(50);

pub(super) fn detect_waste(view: &mut OperationView<'_>) {
    let operation = view.operation;
    for transaction in operation.ended_transactions() {
        record_waste(view, transaction);
    }
}

fn record_waste(view: &mut OperationView<'_>, transaction: &OperationTransaction) {
    // In an earlier part of a very long operation; its round trips are gone.
    let (Some(first), Some(last)) = (transaction.first_write, transaction.ended_by) else {
        return;
    };
    let turns = count_ungrouped(view, transaction, first, last);
    let avoidable = match turns {
        turns if turns >= MIN_TURNS => turns - 1,
        _ => 0,
    };
    let thinking = Some(transaction.held.after_write.client).filter(|time| *time >= THINKING);
    let Some(step) = view.operation.steps.get(first as usize) else {
        return;
    };
    if avoidable == 0 && thinking.is_none() {
        return;
    }
    let waste = Waste::new(
        FindingKind::HeldTransaction,
        transaction.connection,
        step.protocol,
    );
    view.record_waste(Waste {
        fingerprint: step.exchange.fingerprint.clone(),
        count: 1,
        turns: u64::from(transaction.held.turns_after_write),
        saves_waits: avoidable,
        spares: thinking.unwrap_or_default(),
        ..waste
    });
}

fn count_ungrouped(
    view: &OperationView<'_>,
    transaction: &OperationTransaction,
    first: u32,
    last: u32,
) -> u64 {
    let all = &view.turns.all;
    let mut lanes = view.turns.lanes.iter();
    let lane = lanes.find(|lane| {
        all.get(lane.start)
            .is_some_and(|turn| turn.connection == transaction.connection)
    });
    let Some(lane) = lane.and_then(|lane| all.get(lane.clone())) else {
        return 0;
    };
    let from = lane.partition_point(|turn| turn.step <= first as usize);
    let behind = lane[from..].iter().take_while(|turn| turn.step <= last as usize);
    behind.filter(|turn| !turn.is_claimed).count() as u64
}

//! Records of `plan`: placements with predictions, reasons against moves, and the answer.

use crate::outcome::placement_words;
use model::{
    BrokenBudget, HeldBack, HoldingStatement, OrderOfMoves, PlacedOperation, PlacedTransaction,
    PlacementOutcome, PlanFix, PlanOutcome,
};

record! {
    PlacementRecord(placement: &'a str, outcome: &'a PlacementOutcome) {
        placement: placement,
        moved: outcome.moved,
        keeps_budgets: outcome.broken.is_empty(),
        gigabytes_a_month: outcome.gigabytes,
        price_a_month: outcome.price,
    }
}

record! {
    PlacedOperationRecord(placement: &'a str, operation: &'a PlacedOperation) {
        placement: placement,
        ..operation: operation,
        per_second: operation.median.map(|_| operation.per_second),
    }
}

record! {
    PlacedTransactionRecord(placement: &'a str, held: &'a PlacedTransaction) {
        placement: placement,
        ..held: held,
    }
}

record! {
    BrokenBudgetRecord(placement: &'a str, broken: &'a BrokenBudget) {
        placement: placement,
        ..broken: broken,
    }
}

record! {
    HoldingStatementRecord(held: &'a HeldBack, statement: &'a HoldingStatement) {
        service: &held.service,
        place: &held.place,
        fingerprint: statement.fingerprint.as_ref(),
        from: &statement.between[0],
        to: &statement.between[1],
        turns: statement.turns,
        share: statement.share.as_fraction(),
    }
}

record! {
    PlanFixRecord(held: &'a HeldBack, fix: &'a PlanFix) {
        service: &held.service,
        place: &held.place,
        ..fix: fix,
    }
}

record! {
    PlanRecord(plan: &'a PlanOutcome) {
        currency: &plan.currency,
        today: placement_words(&plan.today),
        cheapest: plan.cheapest.as_ref().map(placement_words),
        predicted_placements: plan.predicted.len(),
        possible_placements: plan.possible,
        price_at_least: plan.price_at_least,
        order_found: plan.order != OrderOfMoves::AllAtOnce,
    }
}

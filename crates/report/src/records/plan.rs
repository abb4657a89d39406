//! Records of `plan`: placements with predictions, reasons against moves, moves, and the answer.

use super::nanos;
use crate::outcome::placement_words;
use model::{
    BrokenBudget, HeldBack, HoldingStatement, OrderOfMoves, PlacedOperation, PlacedTransaction,
    PlacementOutcome, PlanFix, PlanMove, PlanOutcome,
};
use serde::Serialize;

#[derive(Serialize)]
pub(super) struct PlacementRecord {
    placement: String,
    moved: u32,
    keeps_budgets: bool,
    gigabytes_a_month: f64,
    price_a_month: f64,
}

impl PlacementRecord {
    pub(super) fn new(outcome: &PlacementOutcome) -> Self {
        Self {
            placement: placement_words(outcome),
            moved: outcome.moved,
            keeps_budgets: outcome.broken.is_empty(),
            gigabytes_a_month: outcome.gigabytes,
            price_a_month: outcome.price,
        }
    }
}

#[derive(Serialize)]
pub(super) struct PlacedOperationRecord<'a> {
    placement: &'a str,
    operation_name: &'a str,
    operations: u64,
    predicted_ns: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    p95_ns: Option<u64>,
    per_second: f64,
}

impl<'a> PlacedOperationRecord<'a> {
    pub(super) fn new(placement: &'a str, operation: &'a PlacedOperation) -> Self {
        Self {
            placement,
            operation_name: &operation.name,
            operations: operation.operations,
            predicted_ns: nanos(operation.median),
            p95_ns: operation.p95.map(nanos),
            per_second: operation.per_second,
        }
    }
}

#[derive(Serialize)]
pub(super) struct PlacedTransactionRecord<'a> {
    placement: &'a str,
    transaction_name: &'a str,
    operation_name: &'a str,
    held_ns: u64,
}

impl<'a> PlacedTransactionRecord<'a> {
    pub(super) fn new(placement: &'a str, held: &'a PlacedTransaction) -> Self {
        Self {
            placement,
            transaction_name: &held.name,
            operation_name: &held.operation_name,
            held_ns: nanos(held.median),
        }
    }
}

#[derive(Serialize)]
pub(super) struct BrokenBudgetRecord<'a> {
    placement: &'a str,
    operation_name: &'a str,
    budget: &'static str,
    allowed_ns: u64,
    found_ns: u64,
}

impl<'a> BrokenBudgetRecord<'a> {
    pub(super) fn new(placement: &'a str, broken: &'a BrokenBudget) -> Self {
        Self {
            placement,
            operation_name: &broken.operation_name,
            budget: broken.measure.name(),
            allowed_ns: nanos(broken.allowed),
            found_ns: nanos(broken.found),
        }
    }
}

#[derive(Serialize)]
pub(super) struct HeldBackRecord<'a> {
    service: &'a str,
    place: &'a str,
    operation_name: &'a str,
    budget: &'static str,
    allowed_ns: u64,
    found_ns: u64,
    price_change: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    fixed_ns: Option<u64>,
    may_move: bool,
}

impl<'a> HeldBackRecord<'a> {
    pub(super) fn new(held: &'a HeldBack) -> Self {
        Self {
            service: &held.service,
            place: &held.place,
            operation_name: &held.broken.operation_name,
            budget: held.broken.measure.name(),
            allowed_ns: nanos(held.broken.allowed),
            found_ns: nanos(held.broken.found),
            price_change: held.price_change,
            fixed_ns: held.fixed.map(nanos),
            may_move: held.may_move,
        }
    }
}

#[derive(Serialize)]
pub(super) struct HoldingStatementRecord<'a> {
    service: &'a str,
    place: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    fingerprint: Option<&'a str>,
    from: &'a str,
    to: &'a str,
    turns: f64,
    share: f64,
}

impl<'a> HoldingStatementRecord<'a> {
    pub(super) fn new(held: &'a HeldBack, statement: &'a HoldingStatement) -> Self {
        Self {
            service: &held.service,
            place: &held.place,
            fingerprint: statement.fingerprint.as_deref(),
            from: &statement.between[0],
            to: &statement.between[1],
            turns: statement.turns,
            share: statement.share.as_fraction(),
        }
    }
}

#[derive(Serialize)]
pub(super) struct PlanFixRecord<'a> {
    service: &'a str,
    place: &'a str,
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    fingerprint: Option<&'a str>,
    saves_ns: u64,
    remedy: &'a str,
}

impl<'a> PlanFixRecord<'a> {
    pub(super) fn new(held: &'a HeldBack, fix: &'a PlanFix) -> Self {
        Self {
            service: &held.service,
            place: &held.place,
            kind: fix.kind.name(),
            fingerprint: fix.fingerprint.as_deref(),
            saves_ns: nanos(fix.saves),
            remedy: &fix.remedy,
        }
    }
}

#[derive(Serialize)]
pub(super) struct PlanMoveRecord<'a> {
    service: &'a str,
    from: &'a str,
    to: &'a str,
    price_a_month: f64,
}

impl<'a> PlanMoveRecord<'a> {
    pub(super) fn new(step: &'a PlanMove) -> Self {
        Self {
            service: &step.service,
            from: &step.from,
            to: &step.to,
            price_a_month: step.price,
        }
    }
}

#[derive(Serialize)]
pub(super) struct PlanRecord<'a> {
    currency: &'a str,
    today: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    cheapest: Option<String>,
    predicted_placements: u64,
    possible_placements: u64,
    price_at_least: f64,
    order_found: bool,
}

impl<'a> PlanRecord<'a> {
    pub(super) fn new(plan: &'a PlanOutcome) -> Self {
        Self {
            currency: &plan.currency,
            today: placement_words(&plan.today),
            cheapest: plan.cheapest.as_ref().map(placement_words),
            predicted_placements: plan.predicted.len() as u64,
            possible_placements: plan.possible,
            price_at_least: plan.price_at_least,
            order_found: plan.order != OrderOfMoves::AllAtOnce,
        }
    }
}

//! Placements of an estate: durations, broken budgets and prices.

use crate::serde_units::ns;
use crate::{FindingKind, Fingerprint, Share, Warning};
use serde::Serialize;
use std::sync::Arc;
use std::time::Duration;

/// One service in a placement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlacedService {
    /// The service's name in the estate's file.
    pub service: Arc<str>,
    /// Name of the place.
    pub place: Arc<str>,
}

/// Operations of one name in a placement.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PlacedOperation {
    /// Name of the operations.
    #[serde(rename = "operation_name")]
    pub name: Arc<str>,
    /// Number of replayed operations.
    pub operations: u64,
    /// Predicted median of the durations; `None` where the bounds are too wide for one.
    #[serde(rename = "predicted_ns", with = "ns", skip_serializing_if = "Option::is_none")]
    pub median: Option<Duration>,
    /// Lower bound of the median.
    #[serde(rename = "predicted_low_ns", with = "ns")]
    pub low: Duration,
    /// Upper bound of the median. It is held against budgets where there is no median.
    #[serde(rename = "predicted_high_ns", with = "ns")]
    pub high: Duration,
    /// Predicted 95th percentile, if enough operations.
    #[serde(rename = "p95_ns", with = "ns", skip_serializing_if = "Option::is_none")]
    pub p95: Option<Duration>,
    /// Operations per second at the measured concurrency. Too high near a server's limit, where
    /// more would wait. In records only with a median.
    #[serde(skip)]
    pub per_second: f64,
}

/// Transactions of one name in a placement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct PlacedTransaction {
    /// Name of the transactions.
    #[serde(rename = "transaction_name")]
    pub name: Arc<str>,
    /// Operations in which they ended.
    pub operation_name: Arc<str>,
    /// Predicted median open time at the server.
    #[serde(rename = "held_ns", with = "ns")]
    pub median: Duration,
}

/// Quantity limited by a plan's budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlanMeasure {
    /// Median duration of operations.
    Median,
    /// 95th percentile of the durations.
    P95,
    /// Longest median open time of transactions.
    Held,
}

impl PlanMeasure {
    /// Name in files and records.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Median => "median",
            Self::P95 => "p95",
            Self::Held => "held",
        }
    }
}

/// A budget broken by a placement.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct BrokenBudget {
    /// Name of the operations.
    pub operation_name: Arc<str>,
    /// Quantity that the budget limits.
    #[serde(rename = "budget")]
    pub measure: PlanMeasure,
    /// Maximum allowed by the budget.
    #[serde(rename = "allowed_ns", with = "ns")]
    pub allowed: Duration,
    /// Value predicted for the placement.
    #[serde(rename = "found_ns", with = "ns")]
    pub found: Duration,
}

/// Prediction of one placement.
#[derive(Debug, Clone, PartialEq)]
pub struct PlacementOutcome {
    /// Placed services, in the order of the estate's file.
    pub services: Vec<PlacedService>,
    /// Number of services away from today's place.
    pub moved: u32,
    /// By name, today's longest total first.
    pub operations: Vec<PlacedOperation>,
    /// Transactions that stay open between two replies.
    pub transactions: Vec<PlacedTransaction>,
    /// Gigabytes (10^9 bytes) per month between places, at today's observed rate.
    pub gigabytes: f64,
    /// Monthly price of traffic and services, in the file's currency.
    pub price: f64,
    /// Budgets that it breaks.
    pub broken: Vec<BrokenBudget>,
}

/// A statement on a link that a move lengthens.
#[derive(Debug, Clone, PartialEq)]
pub struct HoldingStatement {
    /// The statement or request; `None` for opening connections.
    pub fingerprint: Option<Fingerprint>,
    /// Requesting and serving service.
    pub between: [Arc<str>; 2],
    /// Mean round trips per operation.
    pub turns: f64,
    /// Share of the time on lengthened links.
    pub share: Share,
}

/// Remedy for the operations of a moved service.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PlanFix {
    /// Kind of its finding.
    pub kind: FindingKind,
    /// The statement, if there is a single one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<Fingerprint>,
    /// Round trips that the median operation saves, times the new link's rtt; no other time.
    #[serde(rename = "saves_ns", with = "ns")]
    pub saves: Duration,
    /// Instructions for the remedy.
    pub remedy: String,
}

/// Why a service may not move to a place by itself.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct HeldBack {
    /// The service to move.
    pub service: Arc<str>,
    /// The place it would move to.
    pub place: Arc<str>,
    /// The budget exceeded most.
    #[serde(flatten)]
    pub broken: BrokenBudget,
    /// Change of the monthly price, negative if it falls.
    pub price_change: f64,
    /// Up to three statements with most of the added time.
    #[serde(skip)]
    pub statements: Vec<HoldingStatement>,
    /// Findings with remedies for the moved operations.
    #[serde(skip)]
    pub fixes: Vec<PlanFix>,
    /// Predicted value with all remedies, if any, but not for open transactions.
    #[serde(rename = "fixed_ns", with = "ns", skip_serializing_if = "Option::is_none")]
    pub fixed: Option<Duration>,
    /// Whether the move then breaks no budget.
    pub may_move: bool,
}

/// One move towards a placement.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PlanMove {
    /// The service to move.
    pub service: Arc<str>,
    /// The place before the move.
    pub from: Arc<str>,
    /// The place after the move.
    pub to: Arc<str>,
    /// Monthly price after the move.
    #[serde(rename = "price_a_month")]
    pub price: f64,
}

/// The link between two places.
#[derive(Debug, Clone, PartialEq)]
pub struct PlanLink {
    /// The two linked places.
    pub between: [Arc<str>; 2],
    /// The link in its text form.
    pub link: String,
    /// Round-trip time of the link.
    pub rtt: Duration,
    /// Price per transferred gigabyte.
    pub price: f64,
}

/// Whether single moves lead to a placement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OrderOfMoves {
    /// No step of the order breaks a budget.
    Found,
    /// Every order breaks a budget: these services must move at once.
    AllAtOnce,
    /// No service has to move.
    Nothing,
}

/// The result of `plan`.
#[derive(Debug, Clone, PartialEq)]
pub struct PlanOutcome {
    /// Short description of the input.
    pub title: String,
    /// Currency of prices as given.
    pub currency: String,
    /// All places of the estate.
    pub places: Vec<Arc<str>>,
    /// Links between the places.
    pub links: Vec<PlanLink>,
    /// Number of budgets in the file.
    pub budgets: u64,
    /// The current placement, predicted.
    pub today: PlacementOutcome,
    /// Placements requested on the command line.
    pub asked: Vec<PlacementOutcome>,
    /// Cheapest placement that keeps all budgets, if any.
    pub cheapest: Option<PlacementOutcome>,
    /// All placements that were predicted.
    pub predicted: Vec<PlacementOutcome>,
    /// Number of placements that the estate's file allows.
    pub possible: u64,
    /// Lower bound of every placement's price, budgets ignored.
    pub price_at_least: f64,
    /// Obstacles to moving single services.
    pub held_back: Vec<HeldBack>,
    /// Moves from today to the cheapest, in order.
    pub moves: Vec<PlanMove>,
    /// Whether that order was found.
    pub order: OrderOfMoves,
    /// Warnings about the figures.
    pub warnings: Vec<Warning>,
}

impl PlanOutcome {
    /// Whether all possible placements were predicted.
    pub fn is_exact(&self) -> bool {
        self.predicted.len() as u64 >= self.possible
    }
}

//! Placements of an estate: what operations take there, what breaks, what it costs.

use crate::{FindingKind, Fingerprint, Share, Warning};
use std::sync::Arc;
use std::time::Duration;

/// One service, and the place it has in a placement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlacedService {
    /// The service's name in the estate's file.
    pub service: Arc<str>,
    /// The name of the place.
    pub place: Arc<str>,
}

/// Operations of one name in a placement.
#[derive(Debug, Clone, PartialEq)]
pub struct PlacedOperation {
    /// Their name.
    pub name: Arc<str>,
    /// How many were replayed.
    pub operations: u64,
    /// Predicted median duration.
    pub median: Duration,
    /// Predicted 95th percentile; absent with too few operations for it.
    pub p95: Option<Duration>,
    /// Operations a second with as many of them in progress as in the measurement, on average. Misleads where
    /// a server is near its limit: more wait there than a replay one by one shows.
    pub per_second: f64,
}

/// Transactions of one name in a placement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlacedTransaction {
    /// Their name.
    pub name: Arc<str>,
    /// The name of the operations in which they ended.
    pub operation_name: Arc<str>,
    /// Predicted median of how long they are open, as their server sees it.
    pub median: Duration,
}

/// What a budget of a plan limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlanMeasure {
    /// The median duration of operations.
    Median,
    /// The 95th percentile of their durations.
    P95,
    /// How long their transactions are open: the longest median of a name.
    Held,
}

impl PlanMeasure {
    /// The word for it in the estate's file and in records.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Median => "median",
            Self::P95 => "p95",
            Self::Held => "held",
        }
    }
}

/// A budget that a placement does not keep.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BrokenBudget {
    /// The operations.
    pub operation_name: Arc<str>,
    /// What is limited.
    pub measure: PlanMeasure,
    /// The most that is allowed.
    pub allowed: Duration,
    /// What is predicted.
    pub found: Duration,
}

/// A placement, predicted.
#[derive(Debug, Clone, PartialEq)]
pub struct PlacementOutcome {
    /// The place of each service, in the order of the estate's file.
    pub services: Vec<PlacedService>,
    /// How many services are elsewhere than today.
    pub moved: u32,
    /// By name, those that take longest in all today first.
    pub operations: Vec<PlacedOperation>,
    /// Transactions that stay open between two replies.
    pub transactions: Vec<PlacedTransaction>,
    /// Gigabytes (10^9 bytes) a month between different places. Today's bytes at the rate at which they were
    /// seen.
    pub gigabytes: f64,
    /// The price of a month in the file's currency: of these gigabytes, and of the services where they are.
    pub price: f64,
    /// Budgets that it breaks.
    pub broken: Vec<BrokenBudget>,
}

/// A statement that crosses the link which a move makes longer.
#[derive(Debug, Clone, PartialEq)]
pub struct HoldingStatement {
    /// The statement or request; `None` for opening connections.
    pub fingerprint: Option<Fingerprint>,
    /// The services that it passes between, the asking one first.
    pub between: [Arc<str>; 2],
    /// Round trips of one operation, mean.
    pub turns: f64,
    /// Its part of the time on links that the move makes longer.
    pub share: Share,
}

/// A remedy that would bring a moved service's operations nearer to their budget.
#[derive(Debug, Clone, PartialEq)]
pub struct PlanFix {
    /// The finding it belongs to.
    pub kind: FindingKind,
    /// The statement; `None` if it is about no single one.
    pub fingerprint: Option<Fingerprint>,
    /// What the median operation becomes shorter: the trips saved, each a round trip of the new link. Server
    /// and client time that falls away too is not counted.
    pub saves: Duration,
    /// What to do.
    pub remedy: String,
}

/// Why a service may not move to a place by itself.
#[derive(Debug, Clone, PartialEq)]
pub struct HeldBack {
    /// The service.
    pub service: Arc<str>,
    /// The place.
    pub place: Arc<str>,
    /// The budget that is exceeded most.
    pub broken: BrokenBudget,
    /// What the price of a month changes with the move, negative when it falls.
    pub price_change: f64,
    /// The statements that take most of the added time; at most three.
    pub statements: Vec<HoldingStatement>,
    /// Findings whose remedies shorten the operations there.
    pub fixes: Vec<PlanFix>,
    /// The predicted figure of the broken budget with all these remedies; `None` without any, and of held
    /// transactions.
    pub fixed: Option<Duration>,
    /// Whether the move then breaks no budget.
    pub may_move: bool,
}

/// One step on the way to a placement.
#[derive(Debug, Clone, PartialEq)]
pub struct PlanMove {
    /// What moves.
    pub service: Arc<str>,
    /// Where it was.
    pub from: Arc<str>,
    /// Where it goes.
    pub to: Arc<str>,
    /// The price of a month after it.
    pub price: f64,
}

/// What lies between two places.
#[derive(Debug, Clone, PartialEq)]
pub struct PlanLink {
    /// The places.
    pub between: [Arc<str>; 2],
    /// The link in its text form.
    pub link: String,
    /// Its round trip.
    pub rtt: Duration,
    /// The price of a gigabyte over it.
    pub price: f64,
}

/// Why no order of single moves is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OrderOfMoves {
    /// One in which no step breaks a budget was found.
    Found,
    /// Every order breaks a budget on the way: these services have to move at once.
    AllAtOnce,
    /// Nothing has to move.
    Nothing,
}

/// What `plan` has to say.
#[derive(Debug, Clone, PartialEq)]
pub struct PlanOutcome {
    /// What was read, in a few words.
    pub title: String,
    /// The unit of prices, as given.
    pub currency: String,
    /// The places.
    pub places: Vec<Arc<str>>,
    /// What lies between them.
    pub links: Vec<PlanLink>,
    /// How many budgets the file has.
    pub budgets: u64,
    /// As it is.
    pub today: PlacementOutcome,
    /// Those asked for on the command line.
    pub asked: Vec<PlacementOutcome>,
    /// The cheapest that keeps all budgets; `None` if none does.
    pub cheapest: Option<PlacementOutcome>,
    /// All that were predicted.
    pub predicted: Vec<PlacementOutcome>,
    /// How many placements the estate's file allows.
    pub possible: u64,
    /// No placement can cost less than this, whether it keeps the budgets or not.
    pub price_at_least: f64,
    /// Obstacles to moving services one by one.
    pub held_back: Vec<HeldBack>,
    /// From today to the cheapest, in this order.
    pub moves: Vec<PlanMove>,
    /// Whether that order was found.
    pub order: OrderOfMoves,
    /// What a reader of the figures must know.
    pub warnings: Vec<Warning>,
}

impl PlanOutcome {
    /// Whether all possible placements were predicted, so that no other one is cheaper.
    pub fn is_exact(&self) -> bool {
        self.predicted.len() as u64 >= self.possible
    }
}

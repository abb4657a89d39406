//! Time and cost of placements of services.
//!
//! An [`Estate`] is parsed from a file. [`EstateTraffic`] finds which services talk to each other,
//! and [`plan()`] predicts operations in placements and finds the cheapest within all budgets. Start
//! reading at [`plan()`].

#![deny(clippy::wildcard_enum_match_arm)]
#![forbid(unsafe_code)]

mod choice;
mod file;
mod forecast;
mod obstacles;
mod outcome;
mod placement;
mod traffic;

pub use file::{Estate, EstateService, PlaceLink, PlanBudget};
pub use outcome::{Data, plan};
pub use placement::Placement;
pub use traffic::EstateTraffic;

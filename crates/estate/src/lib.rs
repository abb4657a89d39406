//! Services in places: what each placement takes and costs.
//!
//! An [`Estate`] is read from a file's text, [`EstateTraffic`] says which of its services talk to each other
//! in what was observed, [`forecast()`] predicts operations in placements, and [`choice`] finds the cheapest
//! that keeps all budgets. Start reading at [`forecast()`].

#![forbid(unsafe_code)]

pub mod choice;
pub mod file;
pub mod forecast;
pub mod obstacles;
pub mod placement;
pub mod traffic;

pub use file::{Estate, EstateError, EstateService, PlaceLink, PlanBudget};
pub use forecast::forecast;
pub use placement::Placement;
pub use traffic::EstateTraffic;

//! Time and cost of placements of services.
//!
//! An [`Estate`] is parsed from a file. [`EstateTraffic`] finds which services talk to each other,
//! [`forecast()`] predicts operations in placements, and [`choice`] finds the cheapest within all
//! budgets. Start reading at [`forecast()`].

#![forbid(unsafe_code)]

pub mod choice;
pub mod file;
pub mod forecast;
pub mod obstacles;
pub mod placement;
pub mod traffic;

pub use file::{Error, Estate, EstateService, PlaceLink, PlanBudget};
pub use forecast::forecast;
pub use placement::Placement;
pub use traffic::EstateTraffic;

//! Measures `split` with alternating rounds of load and echo, here and over an emulated link.
//!
//! Every round visits each client count, with and without pauses, and the echo at each, so that
//! machine drift affects all alike.

mod distance;
mod measuring;
mod place;
mod places;
mod proving;
mod rounds;

pub use distance::RoundTripProbe;
pub use measuring::{SplitMeasurement, measure};
pub use proving::{NO_ADDRESS, prove};
pub use rounds::SplitBench;

use link::LinkDescription;
use sys::Target;

/// How often to measure, and the places to predict.
#[derive(Debug)]
pub struct SplitPlan {
    pub rounds: u32,
    pub links: Vec<LinkDescription>,
    /// Echoes by their addresses as given.
    pub echoes: Vec<(String, Target)>,
}

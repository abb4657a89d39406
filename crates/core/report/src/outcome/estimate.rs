//! Outcome of `estimate`.

use model::{Compression, Estimate};
use std::time::Duration;

pub struct EstimateReport {
    /// The measured operation, if it was given.
    pub here: Option<EstimateBase>,
    pub compression: Option<Compression>,
    pub estimates: Vec<Estimate>,
}

/// A measured operation, split by the given figures.
#[derive(Debug, Clone, Copy)]
pub struct EstimateBase {
    pub time: Duration,
    pub rtt: Duration,
    pub round_trips: f64,
    pub work: Duration,
}

//! How much longer client and server compute after longer rests, as measured.

use crate::Side;
use crate::serde_units::ns;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Measured on one machine, with one application.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Calibration {
    /// Version of this format.
    pub calibration: u32,
    /// The machine's name, where it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// Operating system and release of the machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kernel: Option<String>,
    /// Work that was measured, such as `./report.py`.
    pub work: String,
    /// By side and rest.
    pub rests: Vec<CalibratedRest>,
}

impl Calibration {
    /// The version that this build writes and reads.
    pub const VERSION: u32 = 1;
}

/// Computing of one side after rests that are longer by one amount.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CalibratedRest {
    /// The side that rests and computes.
    pub side: Side,
    /// How much longer the side rests than without added delay.
    #[serde(rename = "longer_ns", with = "ns")]
    pub longer: Duration,
    /// Requests behind the figures.
    pub samples: u64,
    /// Mean time of a computation without added delay.
    #[serde(rename = "work_ns", with = "ns")]
    pub work: Duration,
    /// Mean additional time in nanoseconds; negative if it took less.
    pub additional_ns: i64,
    /// The additional time as a multiple of the assumed allowance; `None` if it is not usable.
    #[serde(flatten)]
    pub factor: Option<CalibratedFactor>,
    /// Why there is no factor.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused: Option<String>,
}

/// Additional time as a multiple of the assumed allowance.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct CalibratedFactor {
    /// Of all samples together.
    pub factor: f64,
    /// The 10th percentile, over time and over statements.
    pub factor_low: f64,
    /// The 90th percentile.
    pub factor_high: f64,
}

//! Outcomes of commands, as plain data for views, records and pages.
//!
//! Values that several crates compute with are in `model`.

mod check;
mod comparison;
mod demo;
mod echo;
mod estimate;
mod explain;
mod lab;
mod load;
mod ping;
mod plan;
mod program;
mod progress;
mod read;
mod split;
mod tune;

pub use check::CheckReport;
pub use comparison::ComparisonReport;
pub use demo::DemoOutcome;
pub use echo::EchoReport;
pub use estimate::{EstimateBase, EstimateReport};
pub use explain::{ExplainOutcome, ExplainedExchange};
pub use lab::{
    LabDrift, LabErrors, LabOutcome, LabOutline, LabPoint, LabProcessor, LabRound, LabSlope, LabTimes,
};
pub use load::{LoadFailure, LoadInterval, LoadReport, LoadScript, LoadWork};
pub use ping::{PingOpening, PingOutcome};
pub use plan::placement_words;
pub use program::ProgramReport;
pub use progress::ProgressLine;
pub use read::{NotPredicted, ReadOutcome};
pub use split::SplitReport;
pub use tune::{TuneReport, TuneRuns};

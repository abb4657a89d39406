//! Requested outputs of a run.

use super::{KeptOperations, LongestOperation, Samples};
use crate::input::RunFiles;
use crate::moved::ConnectionChoice;
use crate::output_health::OutputHealth;
use analysis::exchange_pool::ExchangePool;
use analysis::findings::Distances;
use analysis::hosts::HostSettings;
use analysis::operations::rule::Rule;
use model::Endpoint;
use predict::{ComputingByClients, PredictionTarget, Senders, WakeUp, Workers};
use report::{RecordFormat, RunFile};
use std::path::PathBuf;
use std::sync::Arc;

#[derive(Debug, Clone, Default)]
pub struct AggregatorConfig {
    pub rule: Rule,
    pub hosts: HostSettings,
    pub targets: Vec<PredictionTarget>,
    pub computing: ComputingByClients,
    pub wake_up: WakeUp,
    /// File of the calibration in `wake_up`.
    pub calibration: Option<String>,
    pub workers: Workers,
    pub senders: Senders,
    pub moved: Vec<ConnectionChoice>,
    /// Whether the run is inspected before its end ([`crate::aggregator::Aggregator::so_far`]). Tracks open
    /// connections and keeps the last operations.
    pub live: bool,
    /// Whether each autocommitted statement is an operation, as in a recording of `load` (clients
    /// there do not pause).
    pub statements_alone: bool,
    pub names: Vec<(Endpoint, Arc<str>)>,
    /// Also writes records to stdout.
    pub records: Option<RecordFormat>,
    /// The file of a run that is one of several.
    pub file: Option<RunFile>,
    /// The files of a run that has several: records of connections name one.
    pub files: Option<RunFiles>,
    pub exchanges: bool,
    /// Also writes all facts to this file.
    pub recording: Option<PathBuf>,
    /// Distances for prices of findings; `None` without findings.
    pub findings: Option<Distances>,
    pub longest: Option<LongestOperation>,
    pub samples: Option<Samples>,
    pub kept: Option<KeptOperations>,
    /// Pool for boxes of exchanges, if the decoding thread reuses them.
    pub boxes: Option<ExchangePool>,
    /// Records lost outputs of a run that survives the loss. Outputs are then non-blocking.
    pub output_health: Option<OutputHealth>,
}

//! Sinks of a run: each sum and each output, in a file of its own and with a row in [`SINKS`].

mod config;
mod current;
mod exports;
mod faults;
mod findings;
mod interim;
mod kept;
mod longest;
mod missing;
mod moved;
mod overview;
mod predictions;
mod progress;
mod recent;
mod record_output;
mod recording;
mod records;
mod samples;
mod tables;

pub use config::AggregatorConfig;
pub use exports::Exports;
pub use interim::{SoFar, Window};
pub use kept::KeptOperations;
pub use longest::LongestOperation;
pub(crate) use missing::MissingData;
pub(crate) use missing::seen::warnings as unseen;
pub(crate) use overview::Overviews;
pub(crate) use progress::SinceProgress;
pub use recent::RecentOperations;
pub use samples::Samples;
pub(crate) use samples::by_time;
pub(crate) use tables::TableRecords;
pub use tables::{TABLES_LAST, TablesInput};

use crate::moved::MovedConnections;
use analysis::current::Current;
use analysis::fact::Fact;
use analysis::findings::{Findings, InOperation};
use analysis::operations::Grouped;
use anyhow::Result;
use faults::Faults;
use model::{Conditions, ConnectionOutcome, Exchange, LinkOutcome, Operation, Protocol};
use predictions::Predictions;
use report::ReadOutcome;
use std::any::Any;
use std::io;
use std::time::Duration;

/// A sum or an output of a run. An error ends an output, and [`Faults`] decides its report.
pub trait RunSink: Any {
    /// Accepts a fact as observed, before poolers are recognised.
    fn observed(&mut self, _fact: &Fact) -> io::Result<()> {
        Ok(())
    }

    /// Accepts a fact behind poolers, before the operations that follow from it.
    fn fact(&mut self, _fact: &Fact) -> io::Result<()> {
        Ok(())
    }

    /// Accepts an operation, or a part of one.
    fn operation(&mut self, _operation: &mut InspectedOperation) -> io::Result<()> {
        Ok(())
    }

    /// Accepts an exchange outside all operations.
    fn exchange(&mut self, _exchange: &Exchange, _protocol: Protocol) -> io::Result<()> {
        Ok(())
    }

    /// Accepts the end of a connection, after its last operation.
    fn connection(&mut self, _outcome: &ConnectionOutcome) -> io::Result<()> {
        Ok(())
    }

    fn link(&mut self, _link: &LinkOutcome) -> io::Result<()> {
        Ok(())
    }

    /// Makes everything written readable. Called about once a second in a live run.
    fn checkpoint(&mut self) -> io::Result<()> {
        Ok(())
    }

    /// Adds intermediate results: at most `rows` of each kind, with findings priced at `prices`.
    fn so_far(&mut self, _rows: usize, _prices: &[Duration], _so_far: &mut SoFar) {}

    /// Adds results since the last window, or stores those of the sinks above.
    fn end_window(&mut self, _window: &mut Window) -> io::Result<()> {
        Ok(())
    }

    /// Adds results of the finished run.
    fn conclude(&mut self, _outcome: &mut ReadOutcome) {}

    /// Writes the outcome and completes the output.
    fn finish(self: Box<Self>, _outcome: &ReadOutcome) -> io::Result<()> {
        Ok(())
    }

    /// Subject of the warning if this output is given up; `None` for a sum.
    fn output(&self) -> Option<&'static str> {
        None
    }
}

pub struct InspectedOperation {
    pub operation: Operation,
    /// Set by findings, for the sinks below them.
    pub found: InOperation,
}

type Requested = Result<Option<Box<dyn RunSink>>>;

/// The sinks that a run requests, in the order in which they receive and conclude: totals before
/// findings, which need their groups, and findings before the readers of
/// [`InspectedOperation::found`].
const SINKS: &[fn(&AggregatorConfig, &Conditions) -> Requested] = &[
    |_, _| boxed(Some(Overviews::default())),
    |config, _| boxed(Some(MissingData::new(config.rule))),
    |config, _| boxed(config.live.then(Current::default)),
    |config, _| boxed(config.live.then(RecentOperations::default)),
    |_, _| boxed(Some(SinceProgress::default())),
    |config, _| boxed(config.findings.clone().map(Findings::new)),
    |config, _| boxed(config.longest.clone()),
    |config, _| boxed(config.samples.clone()),
    |config, _| boxed(config.kept.clone()),
    records::requested,
    recording::requested,
];

fn boxed<T: RunSink>(sink: Option<T>) -> Requested {
    Ok(sink.map(|sink| Box::new(sink) as Box<dyn RunSink>))
}

pub(crate) struct Sinks {
    list: Vec<Box<dyn RunSink>>,
    /// Takes operations by value, after all others.
    predictions: Option<Predictions>,
    faults: Faults,
    /// Whether the run has only these outputs, and no view at its end.
    is_all: bool,
}

impl Sinks {
    pub fn new(config: &AggregatorConfig, conditions: &Conditions, moved: &MovedConnections) -> Result<Self> {
        let mut list = Vec::new();
        for request in SINKS {
            list.extend(request(config, conditions)?);
        }
        let predictions = Predictions::requested(config, moved);
        if predictions.is_some() || config.samples.is_some() || config.live {
            list.push(Box::new(moved.clone()));
        }
        Ok(Self {
            list,
            predictions,
            faults: Faults::new(config.output_health.clone()),
            is_all: config.records.is_some(),
        })
    }

    /// Adds a sink during the run, in the place of an earlier one of its type.
    pub fn set<T: RunSink>(&mut self, sink: T) {
        match self.find_mut::<T>() {
            Some(earlier) => *earlier = sink,
            None => self.list.push(Box::new(sink)),
        }
    }

    pub fn find<T: RunSink>(&self) -> Option<&T> {
        let mut sinks = self.list.iter().map(|sink| sink.as_ref() as &dyn Any);
        sinks.find_map(|sink| sink.downcast_ref())
    }

    pub fn find_mut<T: RunSink>(&mut self) -> Option<&mut T> {
        let mut sinks = self.list.iter_mut().map(|sink| sink.as_mut() as &mut dyn Any);
        sinks.find_map(|sink| sink.downcast_mut())
    }

    /// Passes something to each sink. An output that fails receives nothing more.
    pub fn each(&mut self, mut pass: impl FnMut(&mut dyn RunSink) -> io::Result<()>) {
        let faults = &mut self.faults;
        self.list.retain_mut(|sink| match pass(sink.as_mut()) {
            Ok(()) => true,
            Err(fault) => {
                faults.report(sink.output(), fault);
                false
            }
        });
    }

    pub fn grouped(&mut self, grouped: Grouped) {
        match grouped {
            Grouped::Operation(operation) => {
                let mut inspected = InspectedOperation {
                    operation,
                    found: InOperation::default(),
                };
                self.each(|sink| sink.operation(&mut inspected));
                if let Some(predictions) = &mut self.predictions {
                    predictions.process_operation(inspected);
                }
            }
            Grouped::Alone(exchange, protocol) => self.each(|sink| sink.exchange(&exchange, protocol)),
        }
    }

    pub fn connection(&mut self, outcome: &ConnectionOutcome) {
        self.each(|sink| sink.connection(outcome));
        if let Some(predictions) = &mut self.predictions {
            predictions.close_connection(outcome.id);
        }
    }

    /// Whether an output is lost and the rest is unwanted. For a run that survives the loss of
    /// outputs, whether all are lost.
    pub fn is_over(&self) -> bool {
        self.faults.end_the_run() || (self.is_all && self.list.iter().all(|sink| sink.output().is_none()))
    }

    pub fn so_far(&mut self, rows: usize, prices: &[Duration], so_far: &mut SoFar) {
        for sink in &mut self.list {
            sink.so_far(rows, prices, so_far);
        }
    }

    pub fn conclude(&mut self, outcome: &mut ReadOutcome) {
        for sink in &mut self.list {
            sink.conclude(outcome);
        }
        if let Some(predictions) = self.predictions.take() {
            predictions.conclude(outcome);
        }
    }

    pub fn finish(mut self, outcome: &ReadOutcome) -> Result<()> {
        for sink in self.list {
            let output = sink.output();
            if let Err(fault) = sink.finish(outcome) {
                self.faults.report(output, fault);
            }
        }
        self.faults.finish()
    }
}

//! Extracts operations from the captures of a workload run, with the link of each connection.

use super::config::{Lab, WorkloadSettings};
use super::store::Captured;
use analysis::fact::Fact;
use analysis::findings::{Distances, Findings};
use analysis::operations::rule::Rule;
use analysis::operations::{Grouped, Operations};
use analysis::overview::{Overview, OverviewTotals};
use anyhow::Result;
use model::{
    ConnectionId, DistributionBuilder, MeasuredDurations, Operation, OperationKind, Timestamp, Warning,
};
use pipeline::input::{self, Reading};
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

#[derive(Debug, Default)]
pub struct ObservedOperations {
    /// In the order of their ends. Includes those that only connect, see `is_counted`.
    pub operations: Vec<Operation>,
    /// Index into [`Lab::links`] for each connection.
    pub links: HashMap<ConnectionId, usize>,
    pub warnings: Vec<Warning>,
    pub totals: OverviewTotals,
    pub findings: Option<Findings>,
}

impl ObservedOperations {
    /// `files` has one capture per link.
    pub fn read_captures(files: &[PathBuf], lab: &Lab, captured: &Captured) -> Result<Self> {
        let addresses = &captured.addresses;
        let mut observed = Self::default();
        let mut groups = Groups::new(lab.workload.operation, &captured.windows);
        let mut own: HashMap<ConnectionId, bool> = HashMap::new();
        let mut overview = Overview::default();
        let mut findings = Findings::new(Distances::default());
        let input = input::read_files(files, Reading::default(), &mut |mut fact| {
            if let Fact::Opened {
                connection,
                client,
                server,
                ..
            } = &mut fact
            {
                if let Some(link) = addresses.link(lab, *client, *server) {
                    observed.links.insert(*connection, link);
                }
                let by_workload = addresses.host(client.address) == Some(&lab.workload.host);
                own.insert(*connection, by_workload);
                if lab.measure.hosts_known {
                    *client = addresses.canonical(*client);
                    *server = addresses.canonical(*server);
                }
            }
            overview.fact(&fact);
            findings.fact(&fact);
            groups.fact(fact);
        })?;
        let (operations, inferred) = groups.finish();
        observed.operations = operations;
        // Activity of other hosts is not part of the workload.
        observed.operations.retain(|operation| {
            let outermost = operation.steps.iter().filter(|step| step.after.is_none());
            let mut connections = outermost.map(|step| step.exchange.connection);
            connections.any(|connection| own.get(&connection) == Some(&true))
        });
        observed.warnings = input.warnings;
        observed.warnings.extend(inferred);
        observed.name(&lab.workload);
        for operation in &observed.operations {
            overview.operation(operation);
            findings.operation(operation);
        }
        observed.findings = Some(findings);
        observed.totals = overview.finish();
        observed.totals.summary.packets = input.packets;
        Ok(observed)
    }

    /// One name for all counted operations, so that they are predicted together.
    fn name(&mut self, workload: &WorkloadSettings) {
        let (counted, other): (Arc<str>, Arc<str>) =
            (Arc::from(operation_word(workload)), Arc::from("setup"));
        for operation in &mut self.operations {
            let name = if is_counted(workload, operation.kind) {
                &counted
            } else {
                &other
            };
            operation.name = Arc::clone(name);
        }
    }

    /// Returns `None` without operations. Failed ones are only counted in `errors`.
    pub fn measured(&self, workload: &WorkloadSettings, errors: u64) -> Option<MeasuredDurations> {
        let mut durations = DistributionBuilder::new();
        let (mut begin, mut end) = (None::<Timestamp>, None::<Timestamp>);
        for operation in self.counted(workload) {
            durations.add(operation.duration);
            let ended = operation.at.after(operation.duration);
            begin = Some(begin.map_or(operation.at, |begin| begin.min(operation.at)));
            end = Some(end.map_or(ended, |end| end.max(ended)));
        }
        let elapsed = end?.since(begin?);
        let per_second = durations.count() as f64 / elapsed.as_secs_f64().max(1e-9);
        MeasuredDurations::from_durations(&mut durations, per_second, errors)
    }

    pub fn counted<'a>(&'a self, workload: &'a WorkloadSettings) -> impl Iterator<Item = &'a Operation> {
        let counted = |operation: &&Operation| is_counted(workload, operation.kind) && !operation.continues;
        self.operations.iter().filter(counted)
    }
}

/// Groups facts by the workload's rule, or into one operation per run of the command.
struct Groups<'a> {
    windows: &'a [(Timestamp, Timestamp)],
    grouping: Vec<Operations>,
    /// The run in which each connection was opened.
    of: HashMap<ConnectionId, usize>,
    found: Vec<(usize, Operation)>,
}

impl<'a> Groups<'a> {
    fn new(rule: Option<Rule>, windows: &'a [(Timestamp, Timestamp)]) -> Self {
        let windows = if rule.is_none() { windows } else { &[] };
        let rule = rule.unwrap_or(Rule::Whole);
        Self {
            windows,
            grouping: (0..windows.len().max(1)).map(|_| Operations::new(rule)).collect(),
            of: HashMap::new(),
            found: Vec::new(),
        }
    }

    fn fact(&mut self, fact: Fact) {
        let connection = match &fact {
            Fact::Opened { connection, at, .. } => {
                let window = self.windows.iter().rposition(|(begin, _)| begin <= at);
                self.of.insert(*connection, window.unwrap_or(0));
                *connection
            }
            Fact::Started { connection, .. }
            | Fact::Begun { connection, .. }
            | Fact::Left { connection, .. } => *connection,
            Fact::Exchange { exchange, .. } => exchange.connection,
            Fact::Closed(outcome) => outcome.id,
        };
        let window = self.of.get(&connection).copied().unwrap_or(0);
        let found = &mut self.found;
        self.grouping[window].fact(fact, &mut |grouped| {
            if let Grouped::Operation(operation) = grouped {
                found.push((window, operation));
            }
        });
    }

    /// Returns operations, and warnings about inferences.
    fn finish(self) -> (Vec<Operation>, Vec<Warning>) {
        let mut found = self.found;
        let mut inferred = Vec::new();
        for (window, grouping) in self.grouping.into_iter().enumerate() {
            inferred.extend(grouping.finish(&mut |grouped| {
                if let Grouped::Operation(operation) = grouped {
                    found.push((window, operation));
                }
            }));
        }
        let windows = self.windows;
        let whole = |(window, operation): (usize, Operation)| match windows.get(window) {
            Some(&span) => of_run(operation, window, span),
            None => operation,
        };
        (found.into_iter().map(whole).collect(), inferred)
    }
}

/// The operation spans the whole run of the command.
fn of_run(mut operation: Operation, run: usize, (begin, end): (Timestamp, Timestamp)) -> Operation {
    let before = operation.at.since(begin);
    let after = end.since(operation.at.after(operation.duration));
    for step in operation.steps.iter_mut().filter(|step| step.after.is_none()) {
        step.client_before += before;
    }
    operation.client_after += after;
    operation.duration += before + after;
    operation.attribution.client += before + after;
    operation.at = begin;
    operation.id = run as u64;
    operation
}

/// The noun for an operation.
pub fn operation_word(workload: &WorkloadSettings) -> &'static str {
    match workload.operation {
        None => "run",
        Some(Rule::Http) => "request",
        Some(Rule::Transaction) => "transaction",
        Some(Rule::Connection) => "connection",
        Some(Rule::Auto | Rule::Gap(_) | Rule::Marked | Rule::Whole) => "operation",
    }
}

/// Under the rule of transactions, connecting is a separate, uncounted operation.
fn is_counted(workload: &WorkloadSettings, kind: OperationKind) -> bool {
    match workload.operation {
        Some(Rule::Transaction) => kind == OperationKind::Transaction,
        Some(Rule::Http) => kind == OperationKind::Http,
        _ => true,
    }
}

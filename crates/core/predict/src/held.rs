//! Time that transactions are open on the targets: from the arrival of the first request until the
//! last reply leaves the server.
//!
//! Replayed with a single client: waits for other clients' row locks are not modelled. Transactions
//! that continue in another operation (not another part of it) are left out, because no replay has
//! the pause.

use crate::critical_path::CriticalPath;
use crate::plan::OperationPlan;
use crate::run::Times;
use crate::target::PredictionTarget;
use crate::virtual_time::VirtualTime;
use foldhash::HashMap;
use model::{ConnectionId, DistributionBuilder, HeldPrediction, Nanos, Operation, OperationTransaction};
use std::cmp::Reverse;
use std::sync::Arc;
use std::time::Duration;

/// By names of operation and transaction; at most [`MAX_NAMES`], others are left out.
#[derive(Debug, Default)]
pub struct HeldTimes {
    names: HashMap<(Arc<str>, Arc<str>), Vec<Spans>>,
    unfinished: HashMap<Unfinished, Span>,
}

#[derive(Debug, Clone, Default)]
struct Spans {
    open: DistributionBuilder,
    rows_held: DistributionBuilder,
}

#[derive(Debug, Clone, Copy, Default)]
struct Span {
    open: Nanos,
    rows_held: Option<Nanos>,
}

/// An open transaction: operation, connection, target and replay.
type Unfinished = (u64, ConnectionId, usize, usize);

pub struct HeldReplay<'a> {
    pub operation: &'a Operation,
    pub plan: &'a OperationPlan,
    pub target: usize,
    pub number: usize,
    pub times: &'a [Times],
    pub critical_path: &'a CriticalPath,
}

const MAX_NAMES: usize = 10_000;

impl HeldTimes {
    pub fn replayed(&mut self, replay: &HeldReplay<'_>, targets: usize) {
        let operation = replay.operation;
        for transaction in &operation.transactions {
            let key = (operation.id, transaction.connection, replay.target, replay.number);
            let before = match transaction.opened_by {
                Some(_) => Some(Span::default()),
                None => self.unfinished.remove(&key),
            };
            let Some(span) = before.and_then(|before| replay.span(transaction, before)) else {
                continue;
            };
            if transaction.is_over() {
                self.add(replay, transaction, span, targets);
            } else if operation.continues {
                self.unfinished.insert(key, span);
            }
        }
        if !operation.continues && !self.unfinished.is_empty() {
            self.unfinished.retain(|(id, ..), _| *id != operation.id);
        }
    }

    fn add(
        &mut self,
        replay: &HeldReplay<'_>,
        transaction: &OperationTransaction,
        span: Span,
        targets: usize,
    ) {
        let key = (replay.operation.name.clone(), transaction.name.clone());
        if self.names.len() >= MAX_NAMES && !self.names.contains_key(&key) {
            return;
        }
        let spans = self.names.entry(key);
        let spans = spans.or_insert_with(|| vec![Spans::default(); targets]);
        let spans = &mut spans[replay.target];
        spans.open.add(span.open.into());
        if let Some(rows_held) = span.rows_held {
            spans.rows_held.add(rows_held.into());
        }
    }

    /// Predictions by name, longest total first, then by target in order.
    pub fn finish(self, targets: &[PredictionTarget]) -> Vec<HeldPrediction> {
        let mut names: Vec<_> = self.names.into_iter().collect();
        names.sort_by_cached_key(|(names, spans)| {
            let in_all = spans.iter().map(|spans| spans.open.sum()).sum::<Duration>();
            (Reverse(in_all), names.clone())
        });
        let mut all = Vec::new();
        for ((operation_name, name), spans) in names {
            for (mut spans, target) in spans.into_iter().zip(targets) {
                let Some(median) = spans.open.percentile(50) else {
                    continue;
                };
                all.push(HeldPrediction {
                    name: name.clone(),
                    operation_name: operation_name.clone(),
                    replays: spans.open.count(),
                    rtt: target.link.rtt,
                    rate: target.link.rate,
                    link: target.link.to_string().into(),
                    median,
                    longest: spans.open.percentile(100).unwrap_or(median),
                    rows_held: spans.rows_held.percentile(50),
                });
            }
        }
        all
    }
}

impl HeldReplay<'_> {
    /// Time of the transaction up to its end or the part's end, plus `before` from earlier parts.
    fn span(&self, transaction: &OperationTransaction, before: Span) -> Option<Span> {
        let opened = match transaction.opened_by {
            Some(step) => self.arrived(step)?,
            None => VirtualTime::BEGIN,
        };
        let wrote = match (transaction.first_write, before.rows_held) {
            (Some(step), _) => Some(self.arrived(step)?),
            (None, Some(_)) => Some(VirtualTime::BEGIN),
            (None, None) => None,
        };
        let ended = match transaction.ended_by {
            Some(step) => self.left_server(step)?,
            None => VirtualTime::BEGIN.after(self.critical_path.duration.into()),
        };
        Some(Span {
            open: before.open.saturating_add(ended.since(opened)),
            rows_held: wrote.map(|wrote| {
                let before = before.rows_held.unwrap_or_default();
                before.saturating_add(ended.since(wrote))
            }),
        })
    }

    fn arrived(&self, step: u32) -> Option<VirtualTime> {
        let node = self.plan.first_nodes.get(step as usize)?;
        self.times[node.index()].arrived
    }

    fn left_server(&self, step: u32) -> Option<VirtualTime> {
        self.plan.first_nodes.get(step as usize)?;
        let node = self.plan.last_node(step as usize).index();
        let times = self.times[node];
        match times.replied {
            Some(replied) => Some(replied.after(self.plan.nodes[node].measured.server_inside)),
            None => times.arrived,
        }
    }
}

//! Servers with a limited number of workers make further requests wait.
//!
//! A request that finds all workers busy sends its first statement when an earlier one is answered.
//! On a longer link workers are busy longer, so this wait is simulated instead of kept as
//! computing. The limit may be processes, threads, or pooled connections held from the first
//! statement on; all look the same. A program that works on after its reply keeps its worker.

use crate::peak::Peak;
use crate::plan::{After, Dependencies, OperationPlan, PlanNode};
use model::{ConnectionId, Nanos, Timestamp};
use std::collections::HashSet;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Workers {
    #[default]
    Inferred,
    Count(u32),
    Unlimited,
}

#[derive(Debug, Default)]
pub struct Requests {
    spans: Vec<Span>,
    connections: HashSet<ConnectionId>,
}

#[derive(Debug, Clone, Copy)]
struct Span {
    arrived: Timestamp,
    began: Timestamp,
    ended: Timestamp,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CapacityLimit {
    pub workers: u32,
    /// Sorted arrival times and waits for a worker.
    waits: Vec<(Timestamp, Nanos)>,
}

impl Requests {
    pub fn add(&mut self, plan: &OperationPlan) {
        if self.spans.len() < MAX_REQUESTS
            && let Some((arrived, began)) = first_call(plan)
        {
            let ended = plan.replied_at.plus(plan.after_reply.measured);
            let calls = plan.nodes.iter().filter(|node| node.by_server);
            let connections = calls.map(|node| plan.connections[node.connection.index()]);
            self.connections.extend(connections.take(MAX_CONNECTIONS));
            self.spans.push(Span {
                arrived,
                began,
                ended,
            });
        }
    }

    /// Determines the limit; `None` if the measurement shows none.
    ///
    /// Concurrency cannot exceed the connections on which the server makes calls. If some requests
    /// waited for that, it is the number of workers. Captures may assign a statement to the wrong
    /// request, so half of them suffice. Otherwise the candidate is the maximum concurrency, from
    /// first call to answer. In order of arrival, one request in [`ONE_WAITED_IN`] must have waited
    /// for a worker, and all of these but one in [`ONE_DID_NOT_IN`] must have made the first call
    /// after that worker was free.
    pub fn limit(&self, wanted: Workers) -> Option<CapacityLimit> {
        let workers = match wanted {
            Workers::Unlimited => return None,
            Workers::Count(workers) => workers.max(1),
            Workers::Inferred => {
                let connections = u32::try_from(self.connections.len()).ok()?;
                let spans = self.spans.iter().map(|span| (span.began, span.ended));
                let most = Some(Peak::of_spans(spans).height).filter(|most| *most > 0)?;
                return self
                    .limit_of(connections.clamp(1, most), Some(SOME_DID_NOT_IN))
                    .or_else(|| self.limit_of(most, Some(ONE_DID_NOT_IN)));
            }
        };
        self.limit_of(workers, None)
    }

    /// The limit with this many workers; `None` if more than one in `too_many` of the expected
    /// waits did not happen.
    fn limit_of(&self, workers: u32, too_many: Option<usize>) -> Option<CapacityLimit> {
        let mut spans = self.spans.clone();
        spans.sort_unstable_by_key(|span| (span.arrived, span.began));
        let mut ended: Vec<Timestamp> = spans.iter().map(|span| span.ended).collect();
        ended.sort_unstable();
        let free = spans.iter().enumerate().map(|(number, span)| {
            let before = number.checked_sub(workers as usize);
            before.map_or(span.arrived, |before| ended[before].max(span.arrived))
        });
        let free: Vec<Timestamp> = free.collect();
        if let Some(too_many) = too_many {
            let waited = || {
                spans
                    .iter()
                    .zip(&free)
                    .filter(|(span, free)| **free > span.arrived)
            };
            let (waited, too_early) = (
                waited().count(),
                waited().filter(|(span, free)| span.began < **free).count(),
            );
            if waited < MIN_WAITS || waited * ONE_WAITED_IN < spans.len() || too_early * too_many > waited {
                return None;
            }
        }
        let waits = spans.iter().zip(free);
        let waits = waits.map(|(span, free)| (span.arrived, free.min(span.began).nanos_since(span.arrived)));
        Some(CapacityLimit {
            workers,
            waits: waits.collect(),
        })
    }
}

impl CapacityLimit {
    /// Wait of the request that arrived at `arrived`; zero if there is none.
    pub fn waited(&self, arrived: Timestamp) -> Nanos {
        let place = self.waits.partition_point(|(other, _)| *other < arrived);
        let found = self.waits.get(place).filter(|(other, _)| *other == arrived);
        found.map_or(Nanos::ZERO, |(_, waited)| *waited)
    }

    /// Removes the wait for a worker from the plan.
    pub fn take_out(&self, plan: &mut OperationPlan) {
        let Some((arrived, _)) = first_call(plan) else {
            return;
        };
        let waited = self.waited(arrived);
        for index in 0..plan.nodes.len() {
            if is_first_call(plan, &plan.nodes[index]) {
                let before = &mut plan.nodes[index].measured.client_before;
                *before = before.saturating_sub(waited);
            }
        }
    }
}

/// Arrival of the request at its server, and the start of the first call there.
fn first_call(plan: &OperationPlan) -> Option<(Timestamp, Timestamp)> {
    let first = plan.nodes.iter().filter(|node| is_first_call(plan, node));
    let first = first.min_by_key(|node| node.measured.computed_at[0])?;
    let began = first.measured.computed_at[0];
    Some((began.minus(first.measured.client_before), began))
}

fn is_first_call(plan: &OperationPlan, node: &PlanNode) -> bool {
    let Dependencies {
        after, after_what, ..
    } = node.dependencies;
    plan.request.is_some() && after == plan.request && after_what == After::RequestArrived
}

const MIN_WAITS: usize = 10;
const ONE_WAITED_IN: usize = 10;
const ONE_DID_NOT_IN: usize = 20;
const SOME_DID_NOT_IN: usize = 2;
const MAX_CONNECTIONS: usize = 1000;
const MAX_REQUESTS: usize = 1_000_000;

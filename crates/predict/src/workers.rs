//! Servers that work on as many requests at once as they have workers, and make the others wait.
//!
//! A request that finds all workers busy sends its first statement when one of those before it has been
//! answered. On a longer link workers are busy for longer, and others wait longer: a wait is not computing
//! that stays as it was, but is simulated again in the replay. What limits need not be processes: threads, or
//! connections of a pool that a request holds from its first statement on, show the same.

use crate::plan::{After, OperationPlan, PlanNode};
use model::ConnectionId;
use std::collections::HashSet;

/// How many requests a server works on at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Workers {
    /// As many as the measurement shows, if it shows a limit.
    #[default]
    Inferred,
    /// This many.
    Count(u32),
    /// All that arrive.
    Unlimited,
}

/// When requests came, when they were worked on, and when they were answered. Nanoseconds.
#[derive(Debug, Default)]
pub struct Requests {
    spans: Vec<Span>,
    /// The connections on which their server made calls.
    connections: HashSet<ConnectionId>,
}

#[derive(Debug, Clone, Copy)]
struct Span {
    arrived: u64,
    began: u64,
    ended: u64,
}

/// What limited the requests that were measured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CapacityLimit {
    /// How many were worked on at once.
    pub workers: u32,
    /// When requests came, and how long they waited for a worker; sorted.
    waits: Vec<(u64, u64)>,
}

impl Requests {
    /// Counts the request of `plan`, if it is one that made calls of its own.
    pub fn add(&mut self, plan: &OperationPlan) {
        if self.spans.len() < MAX_REQUESTS
            && let Some((arrived, began)) = first_call(plan)
        {
            let ended = plan.replied_at;
            let calls = plan.nodes.iter().filter(|node| node.by_server);
            let connections = calls.map(|node| plan.connections[node.connection as usize]);
            self.connections.extend(connections.take(MAX_CONNECTIONS));
            self.spans.push(Span {
                arrived,
                began,
                ended,
            });
        }
    }

    /// What limited them; `None` if nothing shows a limit.
    ///
    /// No more requests are worked on than there are connections on which their server makes calls: where
    /// some had to wait for that, that is the number of workers. A capture may give a statement to the wrong
    /// request, so that only half of those need show it. Otherwise: there are as many workers as requests
    /// were worked on at once at most, each from its first call to its answer. With them, in the order in
    /// which requests came, one in [`ONE_WAITED_IN`] must have waited for a worker; and all of these but one
    /// in [`ONE_DID_NOT_IN`] must indeed have made their first call after that worker was free: a server with
    /// enough workers does not wait for others to be answered.
    pub fn limit(&self, wanted: Workers) -> Option<CapacityLimit> {
        let workers = match wanted {
            Workers::Unlimited => return None,
            Workers::Count(workers) => workers.max(1),
            Workers::Inferred => {
                let connections = u32::try_from(self.connections.len()).ok()?;
                let most = self.most_at_once()?;
                return self
                    .limit_of(connections.clamp(1, most), Some(SOME_DID_NOT_IN))
                    .or_else(|| self.limit_of(most, Some(ONE_DID_NOT_IN)));
            }
        };
        self.limit_of(workers, None)
    }

    /// The limit with this many workers; `None` if more than one in `too_many` of those that should have
    /// waited did not.
    fn limit_of(&self, workers: u32, too_many: Option<usize>) -> Option<CapacityLimit> {
        let mut spans = self.spans.clone();
        spans.sort_unstable_by_key(|span| (span.arrived, span.began));
        let mut ended: Vec<u64> = spans.iter().map(|span| span.ended).collect();
        ended.sort_unstable();
        let free = spans.iter().enumerate().map(|(number, span)| {
            let before = number.checked_sub(workers as usize);
            before.map_or(span.arrived, |before| ended[before].max(span.arrived))
        });
        let free: Vec<u64> = free.collect();
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
        let waits = waits.map(|(span, free)| (span.arrived, free.min(span.began) - span.arrived));
        Some(CapacityLimit {
            workers,
            waits: waits.collect(),
        })
    }

    fn most_at_once(&self) -> Option<u32> {
        let spans = self.spans.iter();
        let mut changes: Vec<(u64, i32)> = spans
            .flat_map(|span| [(span.began, 1), (span.ended, -1)])
            .collect();
        changes.sort_unstable();
        let (mut at_once, mut most) = (0_i32, 0);
        for (_, change) in changes {
            at_once += change;
            most = most.max(at_once);
        }
        u32::try_from(most).ok().filter(|most| *most > 0)
    }
}

impl CapacityLimit {
    /// How long the request that came then waited for a worker; zero where none came.
    pub fn waited(&self, arrived: u64) -> u64 {
        let place = self.waits.partition_point(|(other, _)| *other < arrived);
        let found = self.waits.get(place).filter(|(other, _)| *other == arrived);
        found.map_or(0, |(_, waited)| *waited)
    }

    /// Takes out of the plan the time in which its request waited for a worker.
    pub fn take_out(&self, plan: &mut OperationPlan) {
        let Some((arrived, _)) = first_call(plan) else {
            return;
        };
        let waited = self.waited(arrived);
        for index in 0..plan.nodes.len() {
            if is_first_call(plan, &plan.nodes[index]) {
                let before = &mut plan.nodes[index].client_before;
                *before = before.saturating_sub(waited);
            }
        }
    }
}

/// When the request of the plan had reached its server, and when that made its first call, in the
/// measurement.
fn first_call(plan: &OperationPlan) -> Option<(u64, u64)> {
    let first = plan.nodes.iter().filter(|node| is_first_call(plan, node));
    let first = first.min_by_key(|node| node.computed_at[0])?;
    let began = first.computed_at[0];
    Some((began.saturating_sub(first.client_before), began))
}

fn is_first_call(plan: &OperationPlan, node: &PlanNode) -> bool {
    plan.request.is_some() && node.after == plan.request && node.after_what == After::RequestArrived
}

const MIN_WAITS: usize = 10;
const ONE_WAITED_IN: usize = 10;
const ONE_DID_NOT_IN: usize = 20;
const SOME_DID_NOT_IN: usize = 2;
const MAX_CONNECTIONS: usize = 1000;
const MAX_REQUESTS: usize = 1_000_000;

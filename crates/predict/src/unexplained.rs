//! What the model does not explain of an operation: what it took when it was measured, less its replay over
//! paths like those on which it was measured.
//!
//! The times of client and server, what senders held back, windows, and waits of which the network's part is
//! not known are in the replay as they were measured. So what is left is neither theirs nor the distance's:
//! docs/definitions.md#unexplained-wait.

use crate::connections::ConnectionHistory;
use crate::critical_path;
use crate::plan::{Crossing, OperationPlan, nanos};
use crate::replay::run_alone;
use crate::virtual_time::VirtualTime;
use crate::wake_up::WakeUp;
use link::LinkDescription;
use model::{Operation, OperationStep};
use std::time::Duration;

/// The paths on which operations were measured.
#[derive(Debug, Default)]
pub struct MeasuredPaths {
    connections: ConnectionHistory,
}

/// An operation, or a part of one, replayed where it was measured.
#[derive(Debug, Clone, Copy)]
pub struct ReplayedHere {
    /// By how many nanoseconds it took longer than this replay; negative where the replay takes longer.
    pub unexplained_ns: i64,
    measured: Duration,
    transfer: Duration,
}

impl MeasuredPaths {
    /// Replays an operation, or a part of one, where it was measured.
    pub fn replay(&mut self, operation: &Operation, plan: &OperationPlan) -> ReplayedHere {
        let (plan, links) = over_measured_paths(plan);
        let flows = plan
            .connections
            .iter()
            .map(|id| self.connections.take_flows(*id, operation.at));
        let flows: Vec<_> = flows.collect();
        let (times, flows) = run_alone(&plan, &links, WakeUp::None, flows.into_iter());
        let critical_path =
            critical_path::along(&plan, VirtualTime::BEGIN, &times, plan.client_after, &links);
        self.connections
            .put(&plan.connections, flows, operation, critical_path.duration);
        ReplayedHere {
            // Neither is longer than a year.
            unexplained_ns: plan.measured.cast_signed() - nanos(critical_path.duration).cast_signed(),
            measured: Duration::from_nanos(plan.measured),
            transfer: critical_path.attribution.transfer,
        }
    }
}

impl ReplayedHere {
    /// The wait that is kept where transfers take `transfer`: what they take longer there comes in its place,
    /// since a sender that was slow for another reason waits for the link meanwhile.
    pub fn wait(&self, transfer: Duration) -> Duration {
        let wait = u64::try_from(self.unexplained_ns).unwrap_or_default();
        let wait = Duration::from_nanos(wait);
        if wait < MIN_WAIT || wait < self.measured / MIN_SHARE {
            return Duration::ZERO;
        }
        wait.saturating_sub(transfer.saturating_sub(self.transfer))
    }
}

/// The same of one operation, whose connections nothing is known of before it.
pub fn replay_here(operation: &Operation, moved: &dyn Fn(&OperationStep) -> bool) -> ReplayedHere {
    let plan = OperationPlan::new(operation, &|step| moved(step).then_some(0));
    MeasuredPaths::default().replay(operation, &plan)
}

/// The plan with a link of its own for each connection, as long as its round trips were.
fn over_measured_paths(plan: &OperationPlan) -> (OperationPlan, Vec<LinkDescription>) {
    let mut round_trips: Vec<Vec<u64>> = vec![Vec::new(); plan.connections.len()];
    for node in &plan.nodes {
        if matches!(node.crossing, Crossing::Handshake | Crossing::Moved) {
            round_trips[node.connection as usize].push(node.round_trip);
        }
    }
    let links = round_trips.iter_mut().map(|round_trips| {
        round_trips.sort_unstable();
        let median = round_trips.get(round_trips.len() / 2).copied();
        LinkDescription::with_rtt(Duration::from_nanos(median.unwrap_or_default()))
    });
    // At least one, also for a plan without connections.
    let links: Vec<LinkDescription> = links.chain([LinkDescription::with_rtt(Duration::ZERO)]).collect();
    let numbers = (0..plan.connections.len() as u32).collect();
    let plan = OperationPlan {
        links: numbers,
        ..plan.clone()
    };
    (plan, links)
}

/// A shorter wait is none: round trips vary by as much.
const MIN_WAIT: Duration = Duration::from_millis(1);
/// One part in so many of what the operation took is no wait either.
const MIN_SHARE: u32 = 100;

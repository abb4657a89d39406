//! Unexplained wait: measured time of an operation less its replay over the measured paths.
//!
//! Client and server time, held-back time, windows and waits with an unknown network part are
//! replayed as measured. The remainder belongs to neither side nor to the distance:
//! docs/definitions.md#unexplained-wait.

use crate::connections::ConnectionHistory;
use crate::plan::{Crossing, OperationPlan, nanos};
use crate::replay::run_alone;
use crate::sequence::InSequence;
use crate::wake_up::WakeUp;
use link::LinkDescription;
use model::{ConnectionId, Nanos, Operation, OperationStep};
use std::time::Duration;

#[derive(Debug, Default)]
pub struct MeasuredPaths {
    connections: ConnectionHistory,
}

#[derive(Debug, Clone, Copy)]
pub struct ReplayedHere {
    /// Measured minus replayed time in nanoseconds, also negative.
    pub unexplained_ns: i64,
    measured: Duration,
    transfer: Duration,
}

impl MeasuredPaths {
    pub fn forget_connection(&mut self, id: ConnectionId) {
        self.connections.forget_connection(id);
    }

    pub fn replay(
        &mut self,
        operation: &Operation,
        plan: &mut OperationPlan,
        sequence: Option<&InSequence>,
    ) -> ReplayedHere {
        let links = measured_paths(plan);
        let own_links = (0..plan.connections.len() as u32).collect();
        let target_links = std::mem::replace(&mut plan.links, own_links);
        let here = self.replay_over(operation, plan, sequence, &links);
        plan.links = target_links;
        here
    }

    fn replay_over(
        &mut self,
        operation: &Operation,
        plan: &OperationPlan,
        sequence: Option<&InSequence>,
        links: &[LinkDescription],
    ) -> ReplayedHere {
        let flows = plan
            .connections
            .iter()
            .map(|id| self.connections.take_flows(*id, operation.at));
        let flows: Vec<_> = flows.collect();
        let alone = run_alone(plan, sequence, links, &WakeUp::None, flows.into_iter());
        let critical_path = alone.critical_path;
        self.connections
            .put(plan, alone.flows, operation, critical_path.duration);
        ReplayedHere {
            // Both are at most a year.
            unexplained_ns: plan.measured.get().cast_signed()
                - nanos(critical_path.duration).get().cast_signed(),
            measured: plan.measured.into(),
            transfer: critical_path.attribution.transfer,
        }
    }
}

impl ReplayedHere {
    /// Wait kept on a link where transfers take `transfer`. Longer transfers replace it, because a
    /// sender that is slow for another reason waits for the link meanwhile.
    pub fn wait(&self, transfer: Duration) -> Duration {
        let wait = u64::try_from(self.unexplained_ns).unwrap_or_default();
        let wait = Duration::from_nanos(wait);
        if wait < MIN_WAIT || wait < self.measured / MIN_SHARE {
            return Duration::ZERO;
        }
        wait.saturating_sub(transfer.saturating_sub(self.transfer))
    }
}

pub fn replay_here(operation: &Operation, moved: &dyn Fn(&OperationStep) -> bool) -> ReplayedHere {
    let mut plan = OperationPlan::new(operation, &|step| moved(step).then_some(0));
    let sequence = InSequence::from_plan(&plan);
    MeasuredPaths::default().replay(operation, &mut plan, sequence.as_ref())
}

/// One for each connection, and at least one.
fn measured_paths(plan: &OperationPlan) -> Vec<LinkDescription> {
    let mut round_trips: Vec<Vec<Nanos>> = vec![Vec::new(); plan.connections.len()];
    for node in &plan.nodes {
        if matches!(node.crossing, Crossing::Handshake | Crossing::Moved) {
            round_trips[node.connection.index()].push(node.measured.round_trip);
        }
    }
    let links = round_trips.iter_mut().map(|round_trips| {
        round_trips.sort_unstable();
        let median = round_trips.get(round_trips.len() / 2).copied();
        LinkDescription::with_rtt(median.unwrap_or_default().into())
    });
    links.chain([LinkDescription::with_rtt(Duration::ZERO)]).collect()
}

const MIN_WAIT: Duration = Duration::from_millis(1);
/// Waits below this fraction (1/`MIN_SHARE`) of the operation are ignored.
const MIN_SHARE: u32 = 100;

//! Replays one operation on one link, in virtual time.

use crate::connections::KeptFlows;
use crate::critical_path::{self, CriticalPath};
use crate::plan::OperationPlan;
use crate::run::{Computing, RunProgress, SimulatedRun, Times};
use crate::sequence::InSequence;
use crate::target::PredictionTarget;
use crate::virtual_time::VirtualTime;
use crate::wake_up::WakeUp;
use link::LinkDescription;
use model::{Attribution, Nanos, Operation, OperationStep};
use std::time::Duration;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replayed {
    pub duration: Duration,
    pub attribution: Attribution,
    pub turns_moved: u64,
    pub steps: Vec<StepTimes>,
}

/// Times of one exchange, from the operation's beginning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StepTimes {
    pub started: Duration,
    /// The client had the complete reply (without a reply: had sent its request).
    pub completed: Duration,
}

/// Replays `operation` on `target`; `moved` selects the exchanges on connections that move to the
/// target's link. All others keep their measured times.
pub fn replay(
    operation: &Operation,
    target: &PredictionTarget,
    wake_up: WakeUp,
    moved: &dyn Fn(&OperationStep) -> bool,
) -> Replayed {
    let plan = OperationPlan::new(operation, &|step| moved(step).then_some(0));
    let alone = run_alone(
        &plan,
        InSequence::from_plan(&plan).as_ref(),
        &[target.link],
        &wake_up,
        std::iter::empty(),
    );
    let critical_path = alone.critical_path;
    let steps = (0..operation.steps.len())
        .map(|index| step_times(&plan, &alone.times, index))
        .collect();
    Replayed {
        duration: critical_path.duration,
        attribution: critical_path.attribution,
        turns_moved: plan.turns_moved,
        steps,
    }
}

/// A plan that ran with a single client.
#[derive(Debug)]
pub struct RunAlone {
    pub times: Vec<Times>,
    pub flows: Vec<KeptFlows>,
    pub critical_path: CriticalPath,
}

/// Runs `plan` with a single client. `sequence` is that of `plan`, `before` holds the flows of an
/// earlier replay; connections without flows start from scratch.
pub fn run_alone(
    plan: &OperationPlan,
    sequence: Option<&InSequence>,
    links: &[LinkDescription],
    wake_up: &WakeUp,
    before: impl Iterator<Item = Option<KeptFlows>>,
) -> RunAlone {
    let before = before
        .chain(std::iter::repeat_with(|| None))
        .take(plan.connections.len())
        .collect();
    let before = match sequence {
        None => before,
        Some(sequence) => match sequence.flows(plan, links, before) {
            Ok(flows) => return sequence.run(plan, links, wake_up, flows),
            Err(before) => before,
        },
    };
    let (times, flows) = simulate(plan, links, wake_up, before);
    let critical_path = critical_path::along(plan, VirtualTime::BEGIN, &times, plan.client_after, links);
    RunAlone {
        times,
        flows,
        critical_path,
    }
}

pub(crate) fn simulate(
    plan: &OperationPlan,
    links: &[LinkDescription],
    wake_up: &WakeUp,
    before: Vec<Option<KeptFlows>>,
) -> (Vec<Times>, Vec<KeptFlows>) {
    let mut run = SimulatedRun::new(links, 1, Computing::default()).with_wake_up(*wake_up);
    let connections = plan
        .links
        .iter()
        .zip(before)
        .map(|(link, before)| run.add_connection(*link, before.map(|flows| *flows)))
        .collect();
    run.add_client(plan, connections, VirtualTime::BEGIN);
    while run.advance() != RunProgress::Over {}
    run.into_times_and_flows()
}

fn step_times(plan: &OperationPlan, times: &[Times], index: usize) -> StepTimes {
    let since_begin = |time: Option<VirtualTime>| {
        Duration::from(time.map_or(Nanos::ZERO, |time| time.since(VirtualTime::BEGIN)))
    };
    StepTimes {
        started: since_begin(times[plan.first_nodes[index].index()].started),
        completed: since_begin(times[plan.last_node(index).index()].completed),
    }
}

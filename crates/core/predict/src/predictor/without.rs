//! Replays operations without the exchanges that remedies leave out, with connections in the
//! resulting state.

use super::Predictor;
use crate::connections::{ConnectionHistory, KeptFlows};
use crate::plan::OperationPlan;
use crate::remedies::{self, Estimate};
use crate::replay::run_alone;
use crate::sequence::InSequence;
use crate::target::PredictionTarget;
use foldhash::HashMap;
use model::{ConnectionId, FindingKey, LeftOut, Operation, Remains};
use std::collections::BTreeMap;
use std::time::Duration;

/// Connection state after remedied operations: larger replies have opened windows by then. Per
/// name, finding (or all findings together) and target.
#[derive(Debug, Default)]
pub(super) struct RemediedConnections {
    of: HashMap<RemediedBy, Vec<ConnectionHistory>>,
}

/// Index of the operation's name and the remedied finding, or `None` for all findings.
type RemediedBy = (usize, Option<FindingKey>);

impl RemediedConnections {
    /// Removes and returns the histories; empty ones if there is no room.
    fn take_histories(&mut self, by: &RemediedBy, targets: usize) -> Vec<ConnectionHistory> {
        match self.of.remove(by) {
            Some(known) => known,
            None if self.of.len() < MAX_HISTORIES => vec![ConnectionHistory::default(); targets],
            None => Vec::new(),
        }
    }

    pub(super) fn forget_connection(&mut self, id: ConnectionId) {
        let histories = self.of.values_mut().flatten();
        histories.for_each(|history| history.forget_connection(id));
    }

    fn put(&mut self, by: RemediedBy, histories: Vec<ConnectionHistory>) {
        if !histories.is_empty() {
            self.of.insert(by, histories);
        }
    }
}

type Alone = Option<(Duration, Vec<KeptFlows>)>;

impl Predictor {
    /// Per target, the combined saving of remedies for an operation or a further part of it. `None`
    /// if it was not replayed without the left-out exchanges; the first operations of a name are.
    pub(super) fn replay_without(
        &mut self,
        operation: &Operation,
        plan: &OperationPlan,
        place: usize,
        left_out: &[LeftOut],
    ) -> Vec<Option<Duration>> {
        let named = &self.names[place];
        let is_enough = named.operations >= REPLAYED_WITHOUT || named.nodes_without >= MAX_NODES_PER_REMEDY;
        if left_out.is_empty() || is_enough {
            return vec![None; self.targets.len()];
        }
        let mut findings: BTreeMap<&FindingKey, Vec<&LeftOut>> = BTreeMap::new();
        for one in left_out.iter().filter(|one| !one.is_nothing()) {
            findings.entry(&one.finding).or_default().push(one);
        }
        let full = durations(&self.alone(operation, plan, &[]));
        let all: Vec<&LeftOut> = left_out.iter().collect();
        let [_, likely, _] = self.estimates(operation, plan, (place, None), &all);
        let save =
            |(full, without): (&Option<Duration>, Option<Duration>)| Some((*full)?.saturating_sub(without?));
        let together = full.iter().zip(likely).map(save).collect();
        let mut replays = 2;
        for (finding, of_it) in findings.into_iter().take(MAX_REMEDIES) {
            let [least, likely, most] =
                self.estimates(operation, plan, (place, Some(finding.clone())), &of_it);
            replays += 3;
            self.remedies
                .add(finding, operation.id, &full, [&least, &likely, &most]);
        }
        self.names[place].nodes_without += plan.nodes.len() * replays;
        together
    }

    /// Operation time without the left-out exchanges, with each [`Estimate`] for a single finding.
    /// The highest estimate uses the windows of unremedied operations, because the connections'
    /// idle time is unknown.
    fn estimates(
        &mut self,
        operation: &Operation,
        plan: &OperationPlan,
        by: RemediedBy,
        left_out: &[&LeftOut],
    ) -> [Vec<Option<Duration>>; 3] {
        let mut histories = self.remedied.take_histories(&by, self.targets.len());
        let without = |estimate| remedies::without(plan, left_out.iter().copied(), estimate);
        let plan = without(Estimate::Likely);
        let replayed = self.alone(operation, &plan, &histories);
        let likely = durations(&replayed);
        let (least, most) = match by.1.as_ref().map(|finding| finding.kind.remains()) {
            None => (likely.clone(), likely.clone()),
            Some(Remains::Rows | Remains::Client) => (
                durations(&self.alone(operation, &without(Estimate::Least), &histories)),
                durations(&self.alone(operation, &without(Estimate::Most), &[])),
            ),
            Some(Remains::Work | Remains::WorkAndBytes | Remains::Nothing) => {
                (likely.clone(), durations(&self.alone(operation, &plan, &[])))
            }
        };
        for (history, replayed) in histories.iter_mut().zip(replayed) {
            if let Some((duration, flows)) = replayed {
                history.put(&plan, flows, operation, duration);
            }
        }
        self.remedied.put(by, histories);
        [least, likely, most]
    }

    /// Replays a plan on each one-by-one target, with connections from `histories` or from the
    /// unremedied operations, which are not changed.
    fn alone(
        &self,
        operation: &Operation,
        plan: &OperationPlan,
        histories: &[ConnectionHistory],
    ) -> Vec<Alone> {
        let sequence = InSequence::from_plan(plan);
        let of_target = |(index, target): (usize, &PredictionTarget)| {
            self.is_alone(target).then(|| {
                let usual = &self.connections[index];
                let flows = plan.connections.iter().map(|id| {
                    let own = histories
                        .get(index)
                        .and_then(|own| own.peek_flows(*id, operation.at));
                    own.or_else(|| usual.peek_flows(*id, operation.at))
                });
                let links = &self.links[index];
                let alone = run_alone(plan, sequence.as_ref(), links, &self.wake_up, flows);
                (alone.critical_path.duration, alone.flows)
            })
        };
        self.targets.iter().enumerate().map(of_target).collect()
    }
}

fn durations(replayed: &[Alone]) -> Vec<Option<Duration>> {
    let duration = |one: &Alone| one.as_ref().map(|(duration, _)| *duration);
    replayed.iter().map(duration).collect()
}

/// Operations per name that are replayed without the left-out exchanges.
const REPLAYED_WITHOUT: u64 = 200;
/// Nodes of them, about half a second per target.
const MAX_NODES_PER_REMEDY: usize = 300_000;
/// Findings of an operation that are remedied singly.
const MAX_REMEDIES: usize = 8;
/// Names and findings with stored connections: each has those of at most [`REPLAYED_WITHOUT`]
/// operations.
const MAX_HISTORIES: usize = 64;

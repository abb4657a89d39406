//! Operations kept for replays with several clients or shared cores.

use crate::plan::{Crossing, Openings, OperationPlan, PlanNode, Work};
use crate::run::{Computing, RunProgress, SimulatedRun};
use crate::virtual_time::VirtualTime;
use crate::warming_up::{EXAMINED, Measured, cold};
use link::LinkDescription;
use model::{ConnectionId, DistributionBuilder, Nanos, Operation, Timestamp};
use std::collections::HashMap;
use std::time::Duration;

/// Operations of one name: all, or evenly spread ones if there are many.
#[derive(Debug, Default, Clone)]
pub struct SamplePool {
    operations: Vec<Recorded>,
    unfinished: HashMap<u64, Recorded>,
    /// One in `stride` operations is kept, and the total seen.
    stride: u64,
    came: u64,
    left_out: u64,
    nodes: usize,
}

/// One operation, in parts if it is very long.
#[derive(Debug, Default, Clone)]
pub struct Recorded {
    pub parts: Vec<Part>,
    places: HashMap<ConnectionId, usize>,
}

/// A plan, and the places of its connections within the whole operation.
#[derive(Debug, Clone)]
pub struct Part {
    pub plan: OperationPlan,
    /// Place of each connection of the plan, and whether the plan opens it.
    pub places: Vec<(usize, bool)>,
}

impl SamplePool {
    /// Adds an operation, or a part of one, prepared as `plan`.
    pub fn add(&mut self, operation: &Operation, mut plan: OperationPlan) {
        if gets_stuck(&plan) {
            plan.forget_reply_waits();
        }
        let mut recorded = self.unfinished.remove(&operation.id).unwrap_or_default();
        recorded.add(plan);
        if operation.continues {
            if self.unfinished.len() < MAX_UNFINISHED {
                self.unfinished.insert(operation.id, recorded);
            }
            return;
        }
        self.came += 1;
        if self.came.is_multiple_of(self.stride.max(1)) || self.operations.is_empty() {
            self.nodes += recorded.nodes();
            self.operations.push(recorded);
        }
        while self.operations.len() > MAX_OPERATIONS || (self.nodes > MAX_NODES && self.operations.len() > 1)
        {
            self.thin_out();
        }
    }

    pub fn operations(&self) -> &[Recorded] {
        &self.operations
    }

    /// Removes waits for cores from the measured computing.
    pub fn keep_work_only(&mut self, work: &Work) {
        self.plans().for_each(|plan| plan.keep_work_only(work));
    }

    /// How many of the first operations were cold.
    pub fn cold(&self) -> usize {
        let first = self.operations.iter().take(EXAMINED);
        let measured: Vec<Measured> = first.map(Recorded::without_link).collect();
        cold(&measured) * self.stride.max(1) as usize
    }

    pub fn leave_out_first(&mut self, cold: usize) {
        self.operations.drain(..cold / self.stride.max(1) as usize);
        self.left_out = cold as u64;
    }

    pub const fn left_out(&self) -> u64 {
        self.left_out
    }

    /// Whether operations are requests with calls of their server.
    pub fn needs_workers(&self) -> bool {
        let mut parts = self.operations.iter().flat_map(|one| &one.parts);
        parts.any(|part| part.plan.request.is_some())
    }

    /// Whether servers work on after their replies.
    pub fn works_after_reply(&self) -> bool {
        let mut parts = self.operations.iter().flat_map(|one| &one.parts);
        parts.any(|part| !part.plan.after_reply.is_none())
    }

    pub fn plans(&mut self) -> impl Iterator<Item = &mut OperationPlan> {
        let parts = self.operations.iter_mut().flat_map(|one| &mut one.parts);
        parts.map(|part| &mut part.plan)
    }

    pub fn open_from_pools(&mut self, openings: &mut Openings) {
        for Recorded { parts, places, .. } in &mut self.operations {
            for part in parts {
                part.plan = part.plan.with_openings(openings);
                let known = part.plan.connections.iter().map(|id| (places[id], false));
                part.places = known.collect();
                let others = part.plan.nodes.iter().filter(|node| !openings.concern(node));
                mark_opened(&mut part.places, others);
            }
        }
    }

    fn thin_out(&mut self) {
        let mut index = 0;
        self.operations.retain(|_| {
            index += 1;
            index % 2 == 1
        });
        self.nodes = self.operations.iter().map(Recorded::nodes).sum();
        self.stride = self.stride.max(1) * 2;
    }
}

impl Recorded {
    fn add(&mut self, plan: OperationPlan) {
        let places = plan.connections.iter().map(|id| {
            let next = self.places.len();
            (*self.places.entry(*id).or_insert(next), false)
        });
        let mut places: Vec<(usize, bool)> = places.collect();
        mark_opened(&mut places, plan.nodes.iter());
        self.parts.push(Part { places, plan });
    }

    fn nodes(&self) -> usize {
        self.parts.iter().map(|part| part.plan.nodes.len()).sum()
    }

    pub fn cost(&self) -> usize {
        let nodes = self.parts.iter().flat_map(|part| &part.plan.nodes);
        nodes
            .map(|node| 4 + ((node.bytes.request + node.bytes.reply) / BYTES_A_PACKET) as usize)
            .sum()
    }

    /// Measured duration.
    pub fn measured(&self) -> Nanos {
        self.parts.iter().map(|part| part.plan.measured).sum()
    }

    fn without_link(&self) -> Measured {
        let plans = || self.parts.iter().map(|part| &part.plan);
        Measured {
            computing: plans().map(OperationPlan::computing).sum(),
            round_trips: plans().map(|plan| plan.turns_moved).sum(),
        }
    }

    /// Start in the measurement.
    pub fn began(&self) -> Timestamp {
        let first = self.parts.first().and_then(|part| part.plan.nodes.first());
        first.map_or(Timestamp::default(), |node| node.measured.computed_at[0])
    }
}

fn mark_opened<'a>(places: &mut [(usize, bool)], nodes: impl Iterator<Item = &'a PlanNode>) {
    for node in nodes {
        places[node.connection.index()].1 |= node.crossing == Crossing::Handshake;
    }
}

/// Whether replies of the plan wait for each other. A lone client is released when no event is
/// left; among others it would wait forever.
fn gets_stuck(plan: &OperationPlan) -> bool {
    let waits = plan
        .nodes
        .iter()
        .any(|node| node.dependencies.reply_after.is_some());
    if !waits {
        return false;
    }
    let link = LinkDescription::with_rtt(Duration::ZERO);
    let mut run = SimulatedRun::new(&[link], 1, Computing::default());
    let connections = plan
        .connections
        .iter()
        .map(|_| run.add_connection(0, None))
        .collect();
    run.add_client(plan, connections, VirtualTime::BEGIN);
    while run.advance() != RunProgress::Over {}
    run.was_stuck
}

/// Pauses between operations on one connection.
#[derive(Debug, Default)]
pub struct Pauses {
    ended: HashMap<ConnectionId, Timestamp>,
}

impl Pauses {
    /// Adds the pause before `operation` if an earlier one on its first connection is known.
    pub fn add(&mut self, operation: &Operation, pauses: &mut DistributionBuilder) {
        let Some(first) = operation.steps.first() else {
            return;
        };
        let id = first.exchange.connection;
        if self.ended.len() >= MAX_CONNECTIONS {
            self.ended.clear();
        }
        let end = operation.at.after(operation.duration);
        if let Some(before) = self.ended.insert(id, end) {
            pauses.add(operation.at.since(before));
        }
    }
}

/// About 30 MB per name.
const MAX_NODES: usize = 150_000;
const MAX_OPERATIONS: usize = 1024;
const MAX_UNFINISHED: usize = 1000;
const MAX_CONNECTIONS: usize = 100_000;
const BYTES_A_PACKET: u64 = 1448;

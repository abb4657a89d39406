//! Workers of a server: a request for which it makes calls waits for one.

use super::SimulatedRun;
use crate::client_node::ClientNode;
use std::collections::VecDeque;

#[derive(Debug)]
pub struct WorkerPool {
    idle: u32,
    waiting: VecDeque<ClientNode>,
}

impl WorkerPool {
    /// Idle workers, at least one.
    pub fn new(workers: u32) -> Self {
        Self {
            idle: workers.max(1),
            waiting: VecDeque::new(),
        }
    }

    /// Whether the request gets a worker now; otherwise it waits.
    fn assign(&mut self, id: ClientNode) -> bool {
        if self.idle == 0 {
            self.waiting.push_back(id);
            return false;
        }
        self.idle -= 1;
        true
    }

    /// The request that gets the worker.
    fn free(&mut self) -> Option<ClientNode> {
        let next = self.waiting.pop_front();
        self.idle += u32::from(next.is_none());
        next
    }
}

impl SimulatedRun<'_> {
    /// Whether the request waits for no worker.
    pub(super) fn has_worker(&mut self, id: ClientNode) -> bool {
        let plan = self.client(id).plan;
        match &mut self.workers {
            Some(workers) if plan.request == Some(id.node()) => workers.assign(id),
            _ => true,
        }
    }

    /// The reply leaves the server.
    pub(super) fn free_worker(&mut self, id: ClientNode) {
        let plan = self.client(id).plan;
        if let Some(workers) = &mut self.workers
            && plan.request == Some(id.node())
            && let Some(next) = workers.free()
        {
            self.work_on(next);
        }
    }
}

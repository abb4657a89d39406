//! Workers of a server: a request for which it makes calls waits for one.

use super::{SimulatedRun, Wake};
use crate::client_node::ClientNode;
use crate::cores::Whose;
use model::Nanos;
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

    /// The reply leaves the server, which may work on for the request.
    pub(super) fn free_worker(&mut self, id: ClientNode) {
        let plan = self.client(id).plan;
        if self.workers.is_some() && plan.request == Some(id.node()) {
            let after = &plan.after_reply;
            let at = self.now().after(after.network(&self.links));
            match after.is_none() {
                true => self.end_after_reply(Nanos::ZERO),
                false => self.network.wake_at(at, Wake::AfterReply(after.computing)),
            }
        }
    }

    /// `work` is left of a worker's computing after its reply.
    pub(super) fn end_after_reply(&mut self, work: Nanos) {
        if !work.is_zero() {
            return self.compute(Whose::WebServers, work, Wake::AfterReply(Nanos::ZERO));
        }
        let next = self.workers.as_mut().and_then(WorkerPool::free);
        if let Some(next) = next {
            self.work_on(next);
        }
    }
}

//! How far the nodes of a plan are.

use crate::plan::{After, NodeId};
use crate::virtual_time::VirtualTime;
use crate::wake_up::Waking;

/// Position of a node on its way, which only increases. Without a reply a node is done once its
/// request is sent, and the request's arrival is only a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum NodeState {
    /// For its dependencies, its client's computing, or a pooled connection.
    #[default]
    Waiting,
    /// The client has begun to send the request.
    Sent,
    /// The request is at the server, and waits for a worker, an earlier request, calls or a lock.
    Queued,
    /// The server computes the reply.
    Computing,
    /// The server has begun to send the reply.
    Answered,
    /// The client has the complete reply.
    Done,
}

#[derive(Debug, Clone, Copy, Default)]
pub struct Times {
    /// The client begins to send.
    pub started: Option<VirtualTime>,
    /// The last byte of the request is at the server.
    pub arrived: Option<VirtualTime>,
    /// The first byte of the reply leaves the server.
    pub replied: Option<VirtualTime>,
    /// The last byte of the reply is at the client.
    pub completed: Option<VirtualTime>,
    /// Wake-up allowance within the client time before the request and the server time before the
    /// reply.
    pub waking: [Waking; 2],
}

#[derive(Debug, Default)]
pub struct Progress {
    states: Vec<NodeState>,
    times: Vec<Times>,
    not_done: usize,
    /// Nodes before it are not stuck.
    checked: usize,
}

impl Progress {
    /// Starts a plan with so many nodes.
    pub fn reset(&mut self, nodes: usize) {
        self.states.clear();
        self.states.resize(nodes, NodeState::default());
        self.times.clear();
        self.times.resize(nodes, Times::default());
        (self.not_done, self.checked) = (nodes, 0);
    }

    #[inline]
    pub fn state(&self, node: NodeId) -> NodeState {
        self.states[node.index()]
    }

    pub fn times(&self) -> &[Times] {
        &self.times
    }

    pub fn into_times(self) -> Vec<Times> {
        self.times
    }

    #[inline]
    pub const fn is_done(&self) -> bool {
        self.not_done == 0
    }

    /// Whether `what` of `node` has happened.
    #[inline]
    pub fn has_happened(&self, node: NodeId, what: After) -> bool {
        match what {
            After::Completion => self.state(node) == NodeState::Done,
            After::RequestSent => self.state(node) >= NodeState::Sent,
            After::RequestArrived => self.times[node.index()].arrived.is_some(),
        }
    }

    #[inline]
    pub fn wake_client(&mut self, node: NodeId, waking: Waking) {
        self.times[node.index()].waking[0] = waking;
    }

    #[inline]
    pub fn wake_server(&mut self, node: NodeId, waking: Waking) {
        self.times[node.index()].waking[1] = waking;
    }

    #[inline]
    pub fn mark_sent(&mut self, node: NodeId, now: VirtualTime) {
        self.enter(node, NodeState::Sent);
        self.times[node.index()].started = Some(now);
    }

    #[inline]
    pub fn mark_arrived(&mut self, node: NodeId, now: VirtualTime) {
        self.times[node.index()].arrived = Some(now);
    }

    #[inline]
    pub fn mark_queued(&mut self, node: NodeId) {
        self.enter(node, NodeState::Queued);
    }

    #[inline]
    pub fn mark_computing(&mut self, node: NodeId) {
        self.enter(node, NodeState::Computing);
    }

    #[inline]
    pub fn mark_answered(&mut self, node: NodeId, now: VirtualTime) {
        self.enter(node, NodeState::Answered);
        self.times[node.index()].replied = Some(now);
    }

    #[inline]
    pub fn mark_done(&mut self, node: NodeId, now: VirtualTime) {
        self.enter(node, NodeState::Done);
        self.times[node.index()].completed = Some(now);
        self.not_done -= 1;
    }

    /// The next node with a request at the server that nothing will answer.
    pub fn next_stuck(&mut self) -> Option<NodeId> {
        let rest = self.states.get(self.checked..)?;
        let found = rest.iter().position(|state| *state == NodeState::Queued);
        let stuck = found.map(|index| NodeId::new(self.checked + index));
        self.checked = stuck.map_or(self.states.len(), |stuck| stuck.index() + 1);
        stuck
    }

    #[inline]
    fn enter(&mut self, node: NodeId, state: NodeState) {
        let current = &mut self.states[node.index()];
        *current = state.max(*current);
    }
}

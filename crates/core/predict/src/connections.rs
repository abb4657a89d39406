//! Connection state between operations: grown windows and idle time.

use crate::plan::{OperationPlan, nanos};
use crate::virtual_time::VirtualTime;
use foldhash::HashMap;
use link::tcp::Flow;
use model::{ConnectionId, Operation, Timestamp};
use std::time::Duration;

/// Of a connection, to the server and to the client. Boxed, since they move often and are large.
pub type KeptFlows = Box<[Flow; 2]>;

#[derive(Debug, Clone, Default)]
pub struct ConnectionHistory {
    left: HashMap<ConnectionId, Left>,
}

#[derive(Debug, Clone)]
struct Left {
    flows: KeptFlows,
    /// End of the last operation, as measured.
    measured_end: Timestamp,
    /// The same in virtual time of the replay.
    replayed_end: VirtualTime,
}

impl Left {
    fn resume(mut self, at: Timestamp) -> KeptFlows {
        let begin = self.replayed_end.after(nanos(at.since(self.measured_end)));
        let [to, from] = [VirtualTime::BEGIN, begin].map(|time| i128::from(time.timestamp().as_nanos()));
        let by = i64::try_from(to - from).unwrap_or(i64::MIN);
        self.flows.iter_mut().for_each(|flow| flow.shift(by));
        self.flows
    }
}

impl ConnectionHistory {
    /// Takes the flows for an operation that begins at `at`, shifted so that the measured pause
    /// ends at [`VirtualTime::BEGIN`].
    pub fn take_flows(&mut self, id: ConnectionId, at: Timestamp) -> Option<KeptFlows> {
        Some(self.left.remove(&id)?.resume(at))
    }

    pub fn peek_flows(&self, id: ConnectionId, at: Timestamp) -> Option<KeptFlows> {
        Some(self.left.get(&id)?.clone().resume(at))
    }

    /// Stores the connections of `plan`, of `operation`, after a replay of `duration`.
    pub fn put(
        &mut self,
        plan: &OperationPlan,
        flows: Vec<KeptFlows>,
        operation: &Operation,
        duration: Duration,
    ) {
        let measured_end = operation.at.after(operation.duration);
        let replayed_end = VirtualTime::BEGIN.after(nanos(duration));
        let left = flows.into_iter().map(|flows| Left {
            flows,
            measured_end,
            replayed_end,
        });
        self.left.extend(plan.connections.iter().copied().zip(left));
        for closed in &plan.closed {
            self.left.remove(closed);
        }
        if self.left.len() > MAX_CONNECTIONS {
            self.forget(operation.at);
        }
    }

    pub fn forget_connection(&mut self, id: ConnectionId) {
        self.left.remove(&id);
    }

    /// Forgets connections that have been idle for long, as their windows have shrunk anyway. If
    /// all are recent, forgets all.
    fn forget(&mut self, now: Timestamp) {
        self.left
            .retain(|_, left| now.since(left.measured_end) < LONG_IDLE);
        if self.left.len() > MAX_CONNECTIONS {
            self.left.clear();
        }
    }
}

/// About 10 MB per target.
const MAX_CONNECTIONS: usize = 10_000;
const LONG_IDLE: Duration = Duration::from_secs(10);

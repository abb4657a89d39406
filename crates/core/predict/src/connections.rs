//! Connection state between operations: grown windows and idle time.

use crate::plan::nanos;
use crate::virtual_time::VirtualTime;
use link::tcp::Flow;
use model::{ConnectionId, Operation, Phase, Timestamp};
use std::collections::HashMap;
use std::time::Duration;

#[derive(Debug, Clone, Default)]
pub struct ConnectionHistory {
    left: HashMap<ConnectionId, Left>,
}

#[derive(Debug, Clone)]
struct Left {
    flows: [Flow; 2],
    /// End of the last operation, as measured.
    measured_end: Timestamp,
    /// The same in virtual time of the replay.
    replayed_end: VirtualTime,
}

impl ConnectionHistory {
    /// Takes the flows for an operation that begins at `at`, shifted so that the measured pause
    /// ends at [`VirtualTime::BEGIN`].
    pub fn take_flows(&mut self, id: ConnectionId, at: Timestamp) -> Option<[Flow; 2]> {
        let flows = self.peek_flows(id, at)?;
        self.left.remove(&id);
        Some(flows)
    }

    pub fn peek_flows(&self, id: ConnectionId, at: Timestamp) -> Option<[Flow; 2]> {
        let mut left = self.left.get(&id)?.clone();
        let begin = left.replayed_end.after(nanos(at.since(left.measured_end)));
        let [to, from] = [VirtualTime::BEGIN, begin].map(|time| i128::from(time.timestamp().as_nanos()));
        let by = i64::try_from(to - from).unwrap_or(i64::MIN);
        left.flows.iter_mut().for_each(|flow| flow.shift(by));
        Some(left.flows)
    }

    /// Stores the connections of `operation` after a replay of `duration`.
    pub fn put(&mut self, ids: &[ConnectionId], flows: Vec<Flow>, operation: &Operation, duration: Duration) {
        let measured_end = operation.at.after(operation.duration);
        let replayed_end = VirtualTime::BEGIN.after(nanos(duration));
        let mut flows = flows.into_iter();
        for id in ids {
            if let (Some(up), Some(down)) = (flows.next(), flows.next()) {
                self.left.insert(
                    *id,
                    Left {
                        flows: [up, down],
                        measured_end,
                        replayed_end,
                    },
                );
            }
        }
        for step in operation
            .steps
            .iter()
            .filter(|step| step.exchange.phase == Phase::Close)
        {
            self.left.remove(&step.exchange.connection);
        }
        if self.left.len() > MAX_CONNECTIONS {
            self.forget(operation.at);
        }
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

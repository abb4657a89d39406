//! What operations leave behind on their connections: windows that have grown, and since when they are idle.

use crate::plan::nanos;
use crate::virtual_time::VirtualTime;
use link::tcp::Flow;
use model::{ConnectionId, Operation, Phase, Timestamp};
use std::collections::HashMap;
use std::time::Duration;

/// The connections of earlier operations on one target.
#[derive(Debug, Clone, Default)]
pub struct ConnectionHistory {
    left: HashMap<ConnectionId, Left>,
}

/// A connection between two operations.
#[derive(Debug, Clone)]
struct Left {
    flows: [Flow; 2],
    /// End of the operation that left it, as measured.
    measured_end: Timestamp,
    /// The same in the virtual time of its replay.
    replayed_end: VirtualTime,
}

impl ConnectionHistory {
    /// The flows that an operation beginning at `at` finds, their times moved so that the measured pause
    /// before it lies directly before [`VirtualTime::BEGIN`].
    pub fn take_flows(&mut self, id: ConnectionId, at: Timestamp) -> Option<[Flow; 2]> {
        let flows = self.peek_flows(id, at)?;
        self.left.remove(&id);
        Some(flows)
    }

    /// The same; they stay as they are for another operation.
    pub fn peek_flows(&self, id: ConnectionId, at: Timestamp) -> Option<[Flow; 2]> {
        let mut left = self.left.get(&id)?.clone();
        let begin = left.replayed_end.after(nanos(at.since(left.measured_end)));
        let [to, from] = [VirtualTime::BEGIN, begin].map(|time| i128::from(time.as_nanos()));
        let by = i64::try_from(to - from).unwrap_or(i64::MIN);
        left.flows.iter_mut().for_each(|flow| flow.shift(by));
        Some(left.flows)
    }

    /// Keeps what `operation`, whose replay took `duration`, leaves on its connections.
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

    /// Forgets connections that have been idle for long: their windows have fallen back anyway. When all are
    /// recent, forgets all.
    fn forget(&mut self, now: Timestamp) {
        self.left
            .retain(|_, left| now.since(left.measured_end) < LONG_IDLE);
        if self.left.len() > MAX_CONNECTIONS {
            self.left.clear();
        }
    }
}

/// About 10 MB a target.
const MAX_CONNECTIONS: usize = 10_000;
const LONG_IDLE: Duration = Duration::from_secs(10);

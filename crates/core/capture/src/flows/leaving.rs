//! Connections that ended: followed for a while in full, then in little memory, then closed.

use super::{Flows, MAX_FLOWS};
use model::{ConnectionEvent, ConnectionId, Timestamp};
use std::time::Duration;

impl Flows<'_> {
    pub(super) fn leave(&mut self, slot: u32, id: ConnectionId, at: Timestamp) {
        self.leaving.push_back((at.after(LINGER), slot, id));
        self.drain_after(slot, id, at);
        self.forget_stale();
    }

    fn drain_after(&mut self, slot: u32, id: ConnectionId, at: Timestamp) {
        let until = at.after(REORDERING);
        self.draining.push_back((until, slot, id));
        self.due = self.due.min(until);
    }

    /// Keeps the lists no longer than the number of connections, at any rate of new ones.
    fn forget_stale(&mut self) {
        for list in [Self::leaving, Self::draining] {
            if list(self).len() > 2 * MAX_FLOWS {
                let mut entries = std::mem::take(list(self));
                entries.retain(|(_, slot, id)| self.is_current(*slot, *id));
                *list(self) = entries;
            }
        }
        if self.holding.len() > 2 * MAX_FLOWS {
            let mut entries = std::mem::take(&mut self.holding);
            entries.retain(|(slot, id)| self.is_current(*slot, *id));
            self.holding = entries;
        }
    }

    fn leaving(&mut self) -> &mut List {
        &mut self.leaving
    }

    fn draining(&mut self) -> &mut List {
        &mut self.draining
    }

    pub(super) fn attend_draining(&mut self, at: Timestamp) -> Timestamp {
        while let Some((time, slot, id)) = self.draining.front().copied() {
            if time >= at {
                return time;
            }
            self.draining.pop_front();
            let Some(flow) = self.slots[slot as usize].as_deref().filter(|flow| flow.id == id) else {
                continue;
            };
            let again = flow.last_at.after(REORDERING);
            if again >= at {
                self.draining.push_back((again, slot, id));
            } else if flow.is_drained() {
                self.rest(slot);
            }
        }
        NEVER
    }

    pub(super) fn attend_leaving(&mut self, at: Timestamp) -> Timestamp {
        while let Some((time, slot, id)) = self.leaving.front().copied() {
            if time >= at {
                return time;
            }
            self.leaving.pop_front();
            let Some((_, last_at)) = self.tracked(slot).filter(|(current, _)| *current == id) else {
                continue;
            };
            let again = last_at.after(LINGER);
            if again < at {
                self.close(slot, at);
            } else {
                self.leaving.push_back((again, slot, id));
            }
        }
        NEVER
    }

    pub(super) fn tracked(&self, slot: u32) -> Option<(ConnectionId, Timestamp)> {
        let open = self.slots[slot as usize].as_deref();
        let resting = self.resting[slot as usize].as_deref();
        open.map(|flow| (flow.id, flow.last_at))
            .or(resting.map(|flow| (flow.id, flow.last_at)))
    }

    fn is_current(&self, slot: u32, id: ConnectionId) -> bool {
        self.tracked(slot).is_some_and(|(current, _)| current == id)
    }

    fn rest(&mut self, slot: u32) {
        let Some(flow) = self.slots[slot as usize].take() else {
            return;
        };
        if !flow.drained {
            self.out.observer.event(flow.id, ConnectionEvent::Drained);
        }
        self.resting[slot as usize] = Some(Box::new(flow.rest()));
    }

    /// Follows a resting connection in full again: a late packet came, or its end.
    #[inline]
    pub(super) fn wake(&mut self, slot: u32) {
        if self.slots[slot as usize].is_none() {
            self.wake_resting(slot);
        }
    }

    #[cold]
    fn wake_resting(&mut self, slot: u32) {
        if let Some(resting) = self.resting[slot as usize].take() {
            let flow = resting.wake();
            self.drain_after(slot, flow.id, self.last_at);
            self.slots[slot as usize] = Some(Box::new(flow));
        }
    }
}

type List = std::collections::VecDeque<(Timestamp, u32, ConnectionId)>;

const NEVER: Timestamp = Timestamp::from_nanos(u64::MAX);
/// Time that an ended connection is kept after its last packet, so that late packets count for it.
const LINGER: Duration = Duration::from_secs(60);
/// Time after its last packet until a connection rests: no packet is reordered by so much.
const REORDERING: Duration = Duration::from_secs(1);

//! Delayed acknowledgements, and packets sent again after a timeout.

use super::events::{Control, What};
use super::{FlowId, NetworkEvent, SimulatedNetwork};
use crate::PacketOutcome;
use crate::tcp::StreamOffset;

impl<W: Ord> SimulatedNetwork<W> {
    pub(super) fn arm_ack_timer(&mut self, flow: FlowId) {
        if let Some(at) = self.flows[flow.index()].acknowledges_at() {
            self.push(at.max(self.now), What::AckTimer { flow });
        }
    }

    pub(super) fn ack_timer(&mut self, flow: FlowId) {
        if self.flows[flow.index()]
            .acknowledges_at()
            .is_some_and(|at| at <= self.now)
        {
            let ack = self.flow(flow).acknowledge_late();
            self.put_acknowledgement_on_link(flow, ack, StreamOffset::START);
        }
    }

    /// Needed only after a loss, as otherwise every acknowledgement arrives. There is one timer per
    /// flow: a later deadline is checked when it expires, and an earlier one replaces it.
    pub(super) fn arm_give_up_timer(&mut self, flow: FlowId) {
        let Some(at) = self.flows[flow.index()].gives_up_at() else {
            return;
        };
        let at = at.max(self.now);
        let armed = &mut self.gives_up_at[flow.index()];
        if armed.is_none_or(|armed| at < armed) {
            *armed = Some(at);
            self.push(at, What::GiveUpTimer { flow });
        }
    }

    pub(super) fn give_up_timer(&mut self, flow: FlowId) {
        if self.gives_up_at[flow.index()].is_some_and(|armed| armed > self.now) {
            return;
        }
        self.flush_acknowledged(flow);
        self.gives_up_at[flow.index()] = None;
        let due = self.flows[flow.index()].gives_up_at();
        if due.is_some_and(|at| at <= self.now) {
            if let Some(probe) = self.flows[flow.index()].gives_up(self.now) {
                self.put_on_link(flow, probe);
            }
            self.send(flow);
        }
        self.arm_give_up_timer(flow);
    }

    pub(super) fn send_control(&mut self, control: Control) {
        let outcome = self.put(control.direction, control.wire_bytes);
        let at = match outcome {
            PacketOutcome::Arrives(arrives) => arrives,
            PacketOutcome::Dropped(_) if control.attempts < MAX_CONTROL_ATTEMPTS => {
                let again = self.now.plus(control.timeout);
                let control = Control {
                    attempts: control.attempts + 1,
                    timeout: control.timeout.saturating_mul(2),
                    ..control
                };
                return self.push(again, What::SendControl(control));
            }
            // A real connection would break now, see `put_on_link`.
            PacketOutcome::Dropped(_) => self.now.plus(self.delays[control.direction]),
        };
        self.push(at, What::Emit(NetworkEvent::Arrived(control.waiter)));
    }
}

/// As `tcp_syn_retries` in Linux.
const MAX_CONTROL_ATTEMPTS: u32 = 6;

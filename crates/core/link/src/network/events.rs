//! Events of a network, inside and for its user.

use super::FlowId;
use crate::tcp::{Acknowledgement, StreamOffset, Waiter};
use model::{Direction, Nanos, Timestamp};

/// An event for the network's user.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum NetworkEvent<W> {
    /// A wake-up from [`super::SimulatedNetwork::wake_at`].
    Wake(W),
    /// This waiter's bytes or control packet have arrived.
    Arrived(Waiter),
    /// More in-order bytes of this flow have arrived, only in emulations.
    Received(FlowId),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Event<W> {
    pub(super) at: Timestamp,
    pub(super) order: u64,
    pub(super) what: What<W>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum What<W> {
    Emit(NetworkEvent<W>),
    Packet {
        flow: FlowId,
        length: u32,
        start: StreamOffset,
        ack: Acknowledgement,
    },
    Acknowledgement {
        flow: FlowId,
        ack: Acknowledgement,
        /// The start if it was not caused by a packet beyond a gap.
        beyond: StreamOffset,
    },
    Write {
        flow: FlowId,
        bytes: u64,
    },
    AckTimer {
        flow: FlowId,
    },
    GiveUpTimer {
        flow: FlowId,
    },
    SendControl(Control),
    OpenWindow {
        flow: FlowId,
    },
    Continue {
        flow: FlowId,
    },
}

/// An awaited packet without payload, retransmitted after timeouts that double (RFC 6298).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Control {
    pub(super) direction: Direction,
    pub(super) wire_bytes: u32,
    pub(super) timeout: Nanos,
    pub(super) attempts: u32,
    pub(super) waiter: Waiter,
}

//! What an emulation asks of a network beyond what a prediction does: bytes as they arrive, receivers that
//! are slow, connections that open and close, and an account of what passed.
//!
//! Calling order of an emulator: [`SimulatedNetwork::for_emulation`]; then, again and again,
//! [`SimulatedNetwork::advance_to`] the present until it gives nothing more, [`SimulatedNetwork::pass_time`]
//! to the present, and what happens in the world now ([`SimulatedNetwork::attach`],
//! [`SimulatedNetwork::write_bytes`], ...).

use super::{SimulatedNetwork, What, direction_of};
use crate::tcp::{Flow, Sending};
use crate::{DropCause, LinkDescription, PacketOutcome, Pipe, TCP_HEADER_BYTES};
use model::{Direction, Timestamp};
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

/// What passed in one direction of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DirectionCounts {
    /// Packets that reached the link, dropped ones included.
    pub packets: u64,
    /// Their wire bytes.
    pub wire_bytes: u64,
    /// Wire bytes that have arrived; packets without payload that are waited for (handshakes, resets) are not
    /// included.
    pub arrived_bytes: u64,
    /// Packets dropped because the queue had no room.
    pub dropped_by_queue: u64,
    /// Packets lost at random.
    pub dropped_by_loss: u64,
    /// Packets that arrived while the link was out.
    pub dropped_by_outage: u64,
    /// Since when packets have been serialised without a pause, on the network's clock; 0 before the first.
    pub busy_since: u64,
}

/// What a network keeps for an emulation.
#[derive(Debug, Default)]
pub(super) struct Emulation {
    /// Flows whose bytes have just arrived.
    progressed: VecDeque<u32>,
    connections: Vec<Attached>,
    flows: Vec<Record>,
    counts: [DirectionCounts; 2],
}

/// Whether a connection is in use, and how many events still name it.
#[derive(Debug, Clone, Copy, Default)]
struct Attached {
    in_use: bool,
    events: u32,
}

/// What is kept of a flow.
#[derive(Debug, Default)]
struct Record {
    /// Packets in the flow's direction: its own, and acknowledgements of the opposite flow.
    packets: u64,
    /// Packets with payload that was sent before.
    resent: u64,
    /// Highest offset sent.
    sent: u64,
    received: u64,
    /// Dropped packets whose bytes have not arrived yet: their last offset, and when they would have arrived.
    missing: BTreeMap<u64, u64>,
}

impl Emulation {
    pub(super) fn put(
        &mut self,
        pipe: &mut Pipe,
        at: Timestamp,
        direction: Direction,
        wire_bytes: u32,
    ) -> PacketOutcome {
        let counts = &mut self.counts[direction.index()];
        counts.packets += 1;
        counts.wire_bytes += u64::from(wire_bytes);
        if pipe.serialised_at() < at {
            counts.busy_since = at.as_nanos();
        }
        let outcome = pipe.accept(at, wire_bytes);
        if let PacketOutcome::Dropped(cause) = outcome {
            let count = match cause {
                DropCause::Queue => &mut counts.dropped_by_queue,
                DropCause::Loss => &mut counts.dropped_by_loss,
                DropCause::Outage => &mut counts.dropped_by_outage,
            };
            *count += 1;
        }
        outcome
    }

    /// An event that names a connection is on its way.
    pub(super) fn refer<W>(&mut self, what: &What<W>) {
        if let Some(flow) = flow_of(what)
            && let Some(connection) = self.connections.get_mut(flow as usize / 2)
        {
            connection.events += 1;
        }
    }
}

impl<W: Ord> SimulatedNetwork<W> {
    /// As [`SimulatedNetwork::new`], for an emulation.
    pub fn for_emulation(link: &LinkDescription, now: u64) -> Self {
        let mut network = Self::new(link, now);
        network.emulation = Some(Box::default());
        network
    }

    /// Lets time pass until `to`, when nothing happens before: [`SimulatedNetwork::advance_to`] has given
    /// nothing more.
    pub fn pass_time(&mut self, to: u64) {
        self.now = self.now.max(to);
    }

    /// The connection of this number begins, with new flows. The number must be free, see
    /// [`SimulatedNetwork::is_free`].
    pub fn attach(&mut self, connection: u32) {
        while self.flows.len() <= 2 * connection as usize {
            self.add_connection(None);
        }
        self.reset_flows(connection);
        if let Some(emulation) = &mut self.emulation {
            let needed = self.flows.len();
            emulation.connections.resize_with(needed / 2, Attached::default);
            emulation.flows.resize_with(needed, Record::default);
            emulation.connections[connection as usize].in_use = true;
        }
    }

    /// The connection of this number is over; its packets that are still on the way no longer matter.
    pub fn detach(&mut self, connection: u32) {
        self.reset_flows(connection);
        if let Some(emulation) = &mut self.emulation {
            emulation.connections[connection as usize].in_use = false;
            for record in &mut emulation.flows[2 * connection as usize..][..2] {
                *record = Record::default();
            }
        }
    }

    /// Whether the number of a connection that is over may be given to another: no packet names it any more.
    pub fn is_free(&self, connection: u32) -> bool {
        let attached = self
            .emulation
            .as_ref()
            .and_then(|emulation| emulation.connections.get(connection as usize));
        attached.is_none_or(|attached| !attached.in_use && attached.events == 0)
    }

    /// The application of `flow` writes `bytes` now. It should not write more than
    /// [`SimulatedNetwork::room`].
    pub fn write_bytes(&mut self, flow: u32, bytes: u64) {
        self.write_now(flow, bytes);
    }

    /// Bytes that the sender's buffer has room for.
    pub fn room(&self, flow: u32) -> u64 {
        self.flows[flow as usize].room()
    }

    /// Offset up to which the bytes of `flow` have arrived, all before them too.
    pub fn received(&self, flow: u32) -> u64 {
        self.flows[flow as usize].received()
    }

    /// Of the bytes of `flow` that have arrived, `unread` have not been taken by their reader: they take up
    /// the window.
    pub fn set_unread(&mut self, flow: u32, unread: u64) {
        if self.flows[flow as usize].set_unread(unread) {
            self.open_window(flow);
        }
    }

    /// For how long the sender of `flow` has had nothing to send and the link nothing of the same direction
    /// to serialise; absent while it has, and before it first had.
    pub fn idle(&self, flow: u32) -> Option<Duration> {
        let dry = self.flows[flow as usize].ran_dry_at()?;
        let link_free = self.pipes[direction_of(flow).index()].serialised_at().as_nanos();
        Some(Duration::from_nanos(self.now.saturating_sub(dry.max(link_free))))
    }

    /// When bytes of `flow` that have arrived by now were first due, if one of their packets was dropped.
    /// Reports each dropped packet once.
    pub fn take_recovered(&mut self, flow: u32) -> Option<u64> {
        let received = self.received(flow);
        let record = &mut self.emulation.as_mut()?.flows[flow as usize];
        let mut due: Option<u64> = None;
        while let Some(missing) = record
            .missing
            .first_entry()
            .filter(|missing| *missing.key() <= received)
        {
            let at = missing.remove();
            due = Some(due.map_or(at, |due| due.min(at)));
        }
        due
    }

    /// Packets that travelled in the direction of `flow`, and those of them that carried payload sent before.
    pub fn packets(&self, flow: u32) -> (u64, u64) {
        let record = self
            .emulation
            .as_ref()
            .and_then(|emulation| emulation.flows.get(flow as usize));
        record.map_or((0, 0), |record| (record.packets, record.resent))
    }

    /// What has passed so far in each direction.
    pub fn counts(&self) -> [DirectionCounts; 2] {
        self.emulation
            .as_ref()
            .map_or_else(Default::default, |emulation| emulation.counts)
    }

    /// The time a minimal packet takes in each direction, not counting serialisation.
    pub fn one_way(&self, direction: Direction) -> Duration {
        Duration::from_nanos(self.delays[direction.index()])
    }

    pub(super) fn has_progress(&self) -> bool {
        self.emulation
            .as_ref()
            .is_some_and(|emulation| !emulation.progressed.is_empty())
    }

    pub(super) fn next_progress(&mut self) -> Option<u32> {
        self.emulation.as_mut()?.progressed.pop_front()
    }

    /// A packet with payload of `flow` was put on the link.
    pub(super) fn note_data(&mut self, flow: u32, sending: &Sending, outcome: PacketOutcome) {
        self.note_packet(flow);
        let due = self.now.saturating_add(self.delays[direction_of(flow).index()]);
        let Some(emulation) = &mut self.emulation else {
            return;
        };
        let record = &mut emulation.flows[flow as usize];
        record.resent += u64::from(sending.end <= record.sent);
        record.sent = record.sent.max(sending.end);
        if matches!(outcome, PacketOutcome::Dropped(_)) {
            record.missing.entry(sending.end).or_insert(due);
        }
    }

    /// A packet was put on the link in the direction of `flow`.
    pub(super) fn note_packet(&mut self, flow: u32) {
        if let Some(emulation) = &mut self.emulation {
            emulation.flows[flow as usize].packets += 1;
        }
    }

    /// A packet of `flow` has arrived.
    pub(super) fn note_progress(&mut self, flow: u32) {
        let received = self.received(flow);
        let Some(emulation) = &mut self.emulation else {
            return;
        };
        let record = &mut emulation.flows[flow as usize];
        if received > record.received {
            record.received = received;
            emulation.progressed.push_back(flow);
        }
    }

    /// Whether an event that has come up still matters.
    pub(super) fn still_concerns(&mut self, what: &What<W>) -> bool {
        let Some(emulation) = &mut self.emulation else {
            return true;
        };
        let arrived = match *what {
            What::Packet { flow, length, .. } => Some((flow, length + TCP_HEADER_BYTES)),
            What::Acknowledgement { flow, .. } => Some((flow ^ 1, TCP_HEADER_BYTES)),
            _ => None,
        };
        if let Some((flow, wire_bytes)) = arrived {
            emulation.counts[direction_of(flow).index()].arrived_bytes += u64::from(wire_bytes);
        }
        let Some(flow) = flow_of(what) else { return true };
        let connection = &mut emulation.connections[flow as usize / 2];
        connection.events -= 1;
        connection.in_use
    }

    /// The receiver of `flow` reports to its sender how much room it has. When that is lost, it does so again
    /// after a while: a sender with bytes and no room asks (`tcp_send_probe0`, after `TCP_RTO_MIN` at the
    /// earliest).
    pub(super) fn open_window(&mut self, flow: u32) {
        let (received, allowed) = self.flows[flow as usize].acknowledge();
        if !self.put_acknowledgement_on_link(flow, received, allowed, 0) {
            self.push(self.now.saturating_add(PROBE_AFTER), What::OpenWindow { flow });
        }
    }

    fn reset_flows(&mut self, connection: u32) {
        let new = Flow::new(self.packet_bytes, self.delays[0] + self.delays[1]);
        let first = 2 * connection as usize;
        self.flows[first] = new.clone();
        self.flows[first + 1] = new;
        self.established[connection as usize] = 0;
        self.gives_up_at[first] = 0;
        self.gives_up_at[first + 1] = 0;
    }
}

/// The flow that an event names.
const fn flow_of<W>(what: &What<W>) -> Option<u32> {
    match *what {
        What::Packet { flow, .. }
        | What::Acknowledgement { flow, .. }
        | What::Write { flow, .. }
        | What::AckTimer { flow }
        | What::GiveUpTimer { flow }
        | What::OpenWindow { flow } => Some(flow),
        What::Told(_) | What::SendControl(_) => None,
    }
}

/// How long a sender without room waits before it asks for some.
const PROBE_AFTER: u64 = 200_000_000;

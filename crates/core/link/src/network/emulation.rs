//! Functions for emulations: arriving bytes, slow readers, opening and closing connections, and
//! statistics.
//!
//! Repeat: [`SimulatedNetwork::advance_to`] the present until `None`,
//! [`SimulatedNetwork::pass_time`] to the present, then outside events
//! ([`SimulatedNetwork::attach`], [`SimulatedNetwork::write_bytes`], ...).

use super::{ConnectionNumber, FlowId, NetworkEvent, SimulatedNetwork, What};
use crate::tcp::{Flow, Sending, StreamOffset, Waiter};
use crate::{DropCause, LinkDescription, PacketOutcome, Pipe, TCP_HEADER_BYTES};
use model::{BitRate, Direction, Nanos, PerDirection, Timestamp};
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

/// Traffic in one direction of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct DirectionCounts {
    /// Packets that reached the link, including dropped ones.
    pub packets: u64,
    /// Wire bytes of these packets.
    pub wire_bytes: u64,
    /// Arrived wire bytes, without awaited packets without payload (handshakes, resets).
    pub arrived_bytes: u64,
    /// Packets dropped by a full queue.
    pub dropped_by_queue: u64,
    /// Packets lost at random.
    pub dropped_by_loss: u64,
    /// Packets dropped by an outage.
    pub dropped_by_outage: u64,
    /// Start of the current uninterrupted serialisation on the network's clock, initially 0.
    pub busy_since: Timestamp,
}

#[derive(Debug, Default)]
pub(super) struct Emulation {
    progressed: VecDeque<FlowId>,
    connections: Vec<Attached>,
    flows: Vec<Record>,
    counts: PerDirection<DirectionCounts>,
}

/// Whether a connection is in use, and the number of its events.
#[derive(Debug, Clone, Copy, Default)]
struct Attached {
    in_use: bool,
    events: u32,
}

#[derive(Debug, Default)]
struct Record {
    /// Packets of the flow, and acknowledgements of the opposite one.
    packets: u64,
    resent: u64,
    sent: StreamOffset,
    received: StreamOffset,
    /// Last offsets of missing dropped packets, with their intended arrival.
    missing: BTreeMap<StreamOffset, Timestamp>,
}

impl Emulation {
    pub(super) fn put(
        &mut self,
        pipe: &mut Pipe,
        at: Timestamp,
        direction: Direction,
        wire_bytes: u32,
    ) -> PacketOutcome {
        let counts = &mut self.counts[direction];
        counts.packets += 1;
        counts.wire_bytes += u64::from(wire_bytes);
        if pipe.serialised_at() < at {
            counts.busy_since = at;
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

    pub(super) fn refer<W>(&mut self, what: &What<W>) {
        if let Some(flow) = flow_of(what)
            && let Some(connection) = self.connections.get_mut(flow.connection().index())
        {
            connection.events += 1;
        }
    }
}

impl<W: Ord> SimulatedNetwork<W> {
    /// Like [`SimulatedNetwork::new`], for an emulation.
    pub fn for_emulation(link: &LinkDescription, now: Timestamp) -> Self {
        let mut network = Self::new(link, now);
        network.emulation = Some(Box::default());
        network
    }

    /// Sets the clock to `to`, after [`SimulatedNetwork::advance_to`] has returned `None`.
    pub fn pass_time(&mut self, to: Timestamp) {
        self.now = self.now.max(to);
    }

    /// Changes the rate of one direction for packets from now on ([`Pipe::set_rate`]).
    pub fn set_rate(&mut self, direction: Direction, rate: BitRate) {
        self.pipes[direction].set_rate(rate);
    }

    /// Begins a connection with new flows under a free number ([`SimulatedNetwork::is_free`]).
    pub fn attach(&mut self, connection: ConnectionNumber) {
        while self.established.len() <= connection.index() {
            self.add_connection(None);
        }
        self.reset_flows(connection);
        if let Some(emulation) = &mut self.emulation {
            let needed = self.flows.len();
            emulation.connections.resize_with(needed / 2, Attached::default);
            emulation.flows.resize_with(needed, Record::default);
            emulation.connections[connection.index()].in_use = true;
        }
    }

    /// Ends a connection, and ignores its packets in flight.
    pub fn detach(&mut self, connection: ConnectionNumber) {
        self.reset_flows(connection);
        if let Some(emulation) = &mut self.emulation {
            emulation.connections[connection.index()].in_use = false;
            for flow in connection.flows() {
                emulation.flows[flow.index()] = Record::default();
            }
        }
    }

    /// Whether no event refers to the number of an ended connection.
    pub fn is_free(&self, connection: ConnectionNumber) -> bool {
        let attached = self
            .emulation
            .as_ref()
            .and_then(|emulation| emulation.connections.get(connection.index()));
        attached.is_none_or(|attached| !attached.in_use && attached.events == 0)
    }

    /// Writes `bytes` to `flow` now, at most [`SimulatedNetwork::room`].
    pub fn write_bytes(&mut self, flow: FlowId, bytes: u64) {
        self.write_now(flow, bytes);
    }

    /// A packet of `waiter` passes without the link.
    pub fn pass_at_once(&mut self, waiter: Waiter) {
        self.push(self.now, What::Emit(NetworkEvent::Arrived(waiter)));
    }

    /// Free bytes in the sender's buffer.
    pub fn room(&self, flow: FlowId) -> u64 {
        self.flows[flow.index()].room()
    }

    /// Bytes in the sender's buffer that have not been sent yet.
    pub fn unsent(&self, flow: FlowId) -> u64 {
        self.flows[flow.index()].unsent()
    }

    /// Offset up to which all bytes of `flow` have arrived.
    pub fn received(&self, flow: FlowId) -> StreamOffset {
        self.flows[flow.index()].received()
    }

    /// Sets the arrived but unread bytes, which occupy the window.
    pub fn set_unread(&mut self, flow: FlowId, unread: u64) {
        if self.flows[flow.index()].set_unread(unread) {
            self.open_window(flow);
        }
    }

    /// Idle time of the sender and its direction of the link, if idle after first use.
    pub fn idle(&self, flow: FlowId) -> Option<Duration> {
        let dry = self.flows[flow.index()].ran_dry_at()?;
        let link_free = self.pipes[flow.direction()].serialised_at();
        Some(self.now.since(dry.max(link_free)))
    }

    /// When recovered bytes of `flow` were first due, once per dropped packet.
    pub fn take_recovered(&mut self, flow: FlowId) -> Option<Timestamp> {
        let received = self.received(flow);
        let record = &mut self.emulation.as_mut()?.flows[flow.index()];
        let mut due: Option<Timestamp> = None;
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

    /// Packets in the direction of `flow`, and retransmissions with payload among them.
    pub fn packets(&self, flow: FlowId) -> (u64, u64) {
        let record = self
            .emulation
            .as_ref()
            .and_then(|emulation| emulation.flows.get(flow.index()));
        record.map_or((0, 0), |record| (record.packets, record.resent))
    }

    /// Traffic in each direction.
    pub fn counts(&self) -> PerDirection<DirectionCounts> {
        self.emulation
            .as_ref()
            .map_or_else(Default::default, |emulation| emulation.counts)
    }

    /// Travel time of a minimal packet, without serialisation.
    pub fn one_way(&self, direction: Direction) -> Duration {
        self.delays[direction].into()
    }

    pub(super) fn has_progress(&self) -> bool {
        self.emulation
            .as_ref()
            .is_some_and(|emulation| !emulation.progressed.is_empty())
    }

    pub(super) fn next_progress(&mut self) -> Option<FlowId> {
        self.emulation.as_mut()?.progressed.pop_front()
    }

    pub(super) fn note_data(&mut self, flow: FlowId, sending: &Sending, outcome: PacketOutcome) {
        self.note_packet(flow);
        let due = self.now.plus(self.delays[flow.direction()]);
        let Some(emulation) = &mut self.emulation else {
            return;
        };
        let record = &mut emulation.flows[flow.index()];
        record.resent += u64::from(sending.end <= record.sent);
        record.sent = record.sent.max(sending.end);
        if matches!(outcome, PacketOutcome::Dropped(_)) {
            record.missing.entry(sending.end).or_insert(due);
        }
    }

    pub(super) fn note_packet(&mut self, flow: FlowId) {
        if let Some(emulation) = &mut self.emulation {
            emulation.flows[flow.index()].packets += 1;
        }
    }

    pub(super) fn note_progress(&mut self, flow: FlowId) {
        let received = self.received(flow);
        let Some(emulation) = &mut self.emulation else {
            return;
        };
        let record = &mut emulation.flows[flow.index()];
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
            What::Acknowledgement { flow, .. } => Some((flow.reverse(), TCP_HEADER_BYTES)),
            What::Emit(_)
            | What::Write { .. }
            | What::AckTimer { .. }
            | What::GiveUpTimer { .. }
            | What::SendControl(_)
            | What::OpenWindow { .. }
            | What::Continue { .. } => None,
        };
        if let Some((flow, wire_bytes)) = arrived {
            emulation.counts[flow.direction()].arrived_bytes += u64::from(wire_bytes);
        }
        let Some(flow) = flow_of(what) else { return true };
        let connection = &mut emulation.connections[flow.connection().index()];
        connection.events -= 1;
        connection.in_use
    }

    /// Sends a window update of `flow`. If lost, it is repeated, as a blocked sender probes
    /// (`tcp_send_probe0`, after `TCP_RTO_MIN` at the earliest).
    pub(super) fn open_window(&mut self, flow: FlowId) {
        let ack = self.flow(flow).acknowledge();
        if !self.put_acknowledgement_on_link(flow, ack, StreamOffset::START) {
            self.push(self.now.plus(PROBE_AFTER), What::OpenWindow { flow });
        }
    }

    fn reset_flows(&mut self, connection: ConnectionNumber) {
        for flow in connection.flows() {
            *self.flow(flow) = Flow::new(self.packet_bytes, self.minimal_rtt());
            self.gives_up_at[flow.index()] = None;
        }
        self.established[connection.index()] = Timestamp::default();
    }
}

const fn flow_of<W>(what: &What<W>) -> Option<FlowId> {
    match *what {
        What::Packet { flow, .. }
        | What::Acknowledgement { flow, .. }
        | What::Write { flow, .. }
        | What::AckTimer { flow }
        | What::GiveUpTimer { flow }
        | What::OpenWindow { flow }
        | What::Continue { flow } => Some(flow),
        What::Emit(_) | What::SendControl(_) => None,
    }
}

/// Time until a blocked sender probes.
const PROBE_AFTER: Nanos = Nanos::from_millis(200);

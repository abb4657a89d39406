//! Functions for emulations: arriving bytes, slow readers, opening and closing connections, and
//! statistics.
//!
//! Repeat: [`SimulatedNetwork::advance_to`] the present until `None`,
//! [`SimulatedNetwork::pass_time`] to the present, then outside events
//! ([`SimulatedNetwork::attach`], [`SimulatedNetwork::write_bytes`], ...).

use super::{SimulatedNetwork, What, direction_of};
use crate::tcp::{Flow, Sending};
use crate::{DropCause, LinkDescription, PacketOutcome, Pipe, TCP_HEADER_BYTES};
use model::{Direction, Timestamp};
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
    pub busy_since: u64,
}

#[derive(Debug, Default)]
pub(super) struct Emulation {
    progressed: VecDeque<u32>,
    connections: Vec<Attached>,
    flows: Vec<Record>,
    counts: [DirectionCounts; 2],
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
    sent: u64,
    received: u64,
    /// Last offsets of missing dropped packets, with their intended arrival.
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

    pub(super) fn refer<W>(&mut self, what: &What<W>) {
        if let Some(flow) = flow_of(what)
            && let Some(connection) = self.connections.get_mut(flow as usize / 2)
        {
            connection.events += 1;
        }
    }
}

impl<W: Ord> SimulatedNetwork<W> {
    /// Like [`SimulatedNetwork::new`], for an emulation.
    pub fn for_emulation(link: &LinkDescription, now: u64) -> Self {
        let mut network = Self::new(link, now);
        network.emulation = Some(Box::default());
        network
    }

    /// Sets the clock to `to`, after [`SimulatedNetwork::advance_to`] has returned `None`.
    pub fn pass_time(&mut self, to: u64) {
        self.now = self.now.max(to);
    }

    /// Begins a connection with new flows under a free number ([`SimulatedNetwork::is_free`]).
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

    /// Ends a connection, and ignores its packets in flight.
    pub fn detach(&mut self, connection: u32) {
        self.reset_flows(connection);
        if let Some(emulation) = &mut self.emulation {
            emulation.connections[connection as usize].in_use = false;
            for record in &mut emulation.flows[2 * connection as usize..][..2] {
                *record = Record::default();
            }
        }
    }

    /// Whether no event refers to the number of an ended connection.
    pub fn is_free(&self, connection: u32) -> bool {
        let attached = self
            .emulation
            .as_ref()
            .and_then(|emulation| emulation.connections.get(connection as usize));
        attached.is_none_or(|attached| !attached.in_use && attached.events == 0)
    }

    /// Writes `bytes` to `flow` now, at most [`SimulatedNetwork::room`].
    pub fn write_bytes(&mut self, flow: u32, bytes: u64) {
        self.write_now(flow, bytes);
    }

    /// Free bytes in the sender's buffer.
    pub fn room(&self, flow: u32) -> u64 {
        self.flows[flow as usize].room()
    }

    /// Offset up to which all bytes of `flow` have arrived.
    pub fn received(&self, flow: u32) -> u64 {
        self.flows[flow as usize].received()
    }

    /// Sets the arrived but unread bytes, which occupy the window.
    pub fn set_unread(&mut self, flow: u32, unread: u64) {
        if self.flows[flow as usize].set_unread(unread) {
            self.open_window(flow);
        }
    }

    /// Idle time of the sender and its direction of the link, if idle after first use.
    pub fn idle(&self, flow: u32) -> Option<Duration> {
        let dry = self.flows[flow as usize].ran_dry_at()?;
        let link_free = self.pipes[direction_of(flow).index()].serialised_at().as_nanos();
        Some(Duration::from_nanos(self.now.saturating_sub(dry.max(link_free))))
    }

    /// Original arrival time of recovered bytes of `flow`, once per dropped packet.
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

    /// Packets in the direction of `flow`, and retransmissions with payload among them.
    pub fn packets(&self, flow: u32) -> (u64, u64) {
        let record = self
            .emulation
            .as_ref()
            .and_then(|emulation| emulation.flows.get(flow as usize));
        record.map_or((0, 0), |record| (record.packets, record.resent))
    }

    /// Traffic in each direction.
    pub fn counts(&self) -> [DirectionCounts; 2] {
        self.emulation
            .as_ref()
            .map_or_else(Default::default, |emulation| emulation.counts)
    }

    /// Travel time of a minimal packet, without serialisation.
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

    pub(super) fn note_packet(&mut self, flow: u32) {
        if let Some(emulation) = &mut self.emulation {
            emulation.flows[flow as usize].packets += 1;
        }
    }

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

    /// Sends a window update of `flow`. If lost, it is repeated, as a blocked sender probes
    /// (`tcp_send_probe0`, after `TCP_RTO_MIN` at the earliest).
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

/// Time until a blocked sender probes.
const PROBE_AFTER: u64 = 200_000_000;

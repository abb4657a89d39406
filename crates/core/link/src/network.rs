//! A link with TCP flows that share it, as a sequence of events.
//!
//! Emulations use a clock ([`SimulatedNetwork::next_at`]) and `network/emulation.rs`.

mod emulation;
mod events;
mod ids;
mod timers;

pub use emulation::DirectionCounts;
pub use events::NetworkEvent;
pub use ids::{ConnectionNumber, FlowId};

use crate::tcp::{Acknowledgement, Flow, Reaction, Sending, StreamOffset, Waiter};
use crate::{LinkDescription, PacketOutcome, Pipe, TCP_HEADER_BYTES};
use emulation::Emulation;
use events::{Control, Event, What};
use model::{Direction, Nanos, PerDirection, Timestamp};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// A link with flows and a clock, where `W` identifies wake-ups.
#[derive(Debug)]
pub struct SimulatedNetwork<W> {
    pipes: PerDirection<Pipe>,
    delays: PerDirection<Nanos>,
    packet_bytes: u32,
    flows: Vec<Flow>,
    /// Per connection, when the acknowledgement that ends the handshake reaches the server.
    established: Vec<Timestamp>,
    events: BinaryHeap<Reverse<Event<W>>>,
    order: u64,
    /// Per flow, when the sender's retransmission timer is due.
    gives_up_at: Vec<Option<Timestamp>>,
    satisfied: VecDeque<Waiter>,
    now: Timestamp,
    emulation: Option<Box<Emulation>>,
}

/// Bytes of a SYN or SYN-ACK: 52, and 8 of options (maximum segment size, window scale, SACK
/// permitted).
const HANDSHAKE_BYTES: u32 = 60;

impl<W: Ord> SimulatedNetwork<W> {
    /// An idle link without flows, with the clock at `now`.
    pub fn new(link: &LinkDescription, now: Timestamp) -> Self {
        let pipes = PerDirection::from_fn(|direction| link.pipe(direction));
        let delays = PerDirection::from_fn(|direction| Nanos::from(pipes[direction].delay()));
        Self {
            pipes,
            delays,
            packet_bytes: link.payload_per_packet(),
            flows: Vec::new(),
            established: Vec::new(),
            events: BinaryHeap::new(),
            order: 0,
            gives_up_at: Vec::new(),
            satisfied: VecDeque::new(),
            now,
            emulation: None,
        }
    }

    /// Adds a connection with optional earlier flows, and returns its number.
    pub fn add_connection(&mut self, before: Option<[Flow; 2]>) -> ConnectionNumber {
        let number = ConnectionNumber::new(self.established.len());
        let flows = before.unwrap_or_else(|| {
            let new = Flow::new(self.packet_bytes, self.minimal_rtt());
            [new.clone(), new]
        });
        self.flows.extend(flows);
        self.gives_up_at.extend([None; 2]);
        self.established.push(Timestamp::default());
        number
    }

    /// Limits the receive window of both sides to `most` bytes.
    pub fn limit_window(&mut self, connection: ConnectionNumber, most: u64) {
        for flow in connection.flows() {
            self.flow(flow).limit_window(most);
        }
    }

    /// Sets the server's initial window to at least `packets`, also after idle time.
    pub fn begin_with(&mut self, connection: ConnectionNumber, packets: u32) {
        self.flow(FlowId::new(connection, Direction::ServerToClient))
            .begin_with(packets);
    }

    /// Lets both sides of an unused connection send as BBR does.
    pub fn use_bbr(&mut self, connection: ConnectionNumber) {
        for flow in connection.flows() {
            self.flow(flow).use_bbr();
        }
    }

    /// The current flows, two per connection.
    pub fn into_flows(self) -> Vec<Flow> {
        self.flows
    }

    /// Begins the handshake of a new connection; a used one stays as it is.
    pub fn open(&mut self, connection: ConnectionNumber) {
        for flow in connection.flows() {
            let flow = self.flow(flow);
            if flow.is_unused() {
                flow.opened();
            }
        }
    }

    /// The current virtual time.
    pub const fn now(&self) -> Timestamp {
        self.now
    }

    /// Time of the next event, if any, for users with a clock.
    pub fn next_at(&self) -> Option<Timestamp> {
        if self.satisfied.is_empty() && !self.has_progress() {
            self.events.peek().map(|Reverse(event)| event.at)
        } else {
            Some(self.now)
        }
    }

    /// Schedules a wake-up at `at`.
    pub fn wake_at(&mut self, at: Timestamp, wake: W) {
        self.push(at, What::Emit(NetworkEvent::Wake(wake)));
    }

    /// Sends a handshake packet for `waiter`.
    pub fn send_handshake(&mut self, direction: Direction, waiter: Waiter) {
        self.send_control(Control {
            direction,
            wire_bytes: HANDSHAKE_BYTES,
            timeout: HANDSHAKE_TIMEOUT,
            attempts: 0,
            waiter,
        });
    }

    /// The client completes the handshake by an acknowledgement.
    pub fn establish(&mut self, connection: ConnectionNumber) {
        let outcome = self.put(Direction::ClientToServer, TCP_HEADER_BYTES);
        self.established[connection.index()] = match outcome {
            PacketOutcome::Arrives(arrives) => arrives,
            // Both sides retransmit their part of the handshake.
            PacketOutcome::Dropped(_) => self
                .now
                .plus(HANDSHAKE_TIMEOUT + self.delays[Direction::ClientToServer]),
        };
    }

    /// `waiter` waits until the server has the acknowledgement that ends the handshake, or on an
    /// older connection another one.
    pub fn wait_for_establishment(&mut self, connection: ConnectionNumber, waiter: Waiter) {
        let at = self.established[connection.index()];
        if at < self.now {
            self.send_empty(Direction::ClientToServer, waiter);
        } else {
            self.push(at, What::Emit(NetworkEvent::Arrived(waiter)));
        }
    }

    /// Sends a packet without payload for `waiter`.
    pub fn send_empty(&mut self, direction: Direction, waiter: Waiter) {
        let timeout = self.minimal_rtt().saturating_add(CONTROL_TIMEOUT);
        self.send_control(Control {
            direction,
            wire_bytes: TCP_HEADER_BYTES,
            timeout,
            attempts: 0,
            waiter,
        });
    }

    /// Writes `bytes` to `flow`, spread evenly over `span` from now; `waiter` waits for all of
    /// them.
    pub fn write(&mut self, flow: FlowId, bytes: u64, span: Nanos, waiter: Waiter) {
        let pieces = if span.is_zero() {
            1
        } else {
            bytes.div_ceil(u64::from(self.packet_bytes)).clamp(1, MAX_PIECES)
        };
        self.flows[flow.index()].announce(bytes, waiter);
        for piece in 1..=pieces {
            let size = bytes * piece / pieces - bytes * (piece - 1) / pieces;
            let after = if pieces == 1 {
                span
            } else {
                scale(span, piece - 1, pieces - 1)
            };
            if after.is_zero() {
                self.write_now(flow, size);
            } else {
                self.push(self.now.plus(after), What::Write { flow, bytes: size });
            }
        }
    }

    /// Writes `bytes` to `flow` together with a [`SimulatedNetwork::write`] that follows at this
    /// moment.
    pub fn append(&mut self, flow: FlowId, bytes: u64, waiter: Waiter) {
        self.flows[flow.index()].announce(bytes, waiter);
        self.settle_both(flow);
        self.flows[flow.index()].write(self.now, bytes);
    }

    /// Returns the next event, if any.
    pub fn advance(&mut self) -> Option<NetworkEvent<W>> {
        self.advance_to(Timestamp::from_nanos(u64::MAX))
    }

    /// Returns the next event until `limit`, if any.
    pub fn advance_to(&mut self, limit: Timestamp) -> Option<NetworkEvent<W>> {
        loop {
            if let Some(waiter) = self.satisfied.pop_front() {
                return Some(NetworkEvent::Arrived(waiter));
            }
            if let Some(flow) = self.next_progress() {
                return Some(NetworkEvent::Received(flow));
            }
            if self.events.peek()?.0.at > limit {
                return None;
            }
            let Reverse(event) = self.events.pop()?;
            self.now = event.at;
            if self.emulation.is_some() && !self.still_concerns(&event.what) {
                continue;
            }
            match event.what {
                What::Emit(network_event) => return Some(network_event),
                What::Packet {
                    flow,
                    length,
                    start,
                    ack,
                } => {
                    let end = start + u64::from(length);
                    self.packet(flow, Sending { start, end });
                    self.acknowledgement(flow.reverse(), ack, None);
                }
                What::Acknowledgement { flow, ack, beyond } => {
                    let beyond = Some(beyond).filter(|beyond| *beyond > StreamOffset::START);
                    self.acknowledgement(flow, ack, beyond);
                }
                What::Write { flow, bytes } => self.write_now(flow, bytes),
                What::AckTimer { flow } => self.ack_timer(flow),
                What::GiveUpTimer { flow } => self.give_up_timer(flow),
                What::SendControl(control) => self.send_control(control),
                What::OpenWindow { flow } => self.open_window(flow),
                What::Continue { flow } => self.send(flow),
            }
        }
    }

    fn write_now(&mut self, flow: FlowId, bytes: u64) {
        self.settle_both(flow);
        self.flows[flow.index()].write(self.now, bytes);
        self.send(flow);
    }

    fn settle_both(&mut self, flow: FlowId) {
        self.flush_acknowledged(flow);
        self.flush_acknowledged(flow.reverse());
    }

    /// Processes a delayed acknowledgement that left without an event, as it had no waiter.
    fn flush_acknowledged(&mut self, flow: FlowId) {
        let delay = self.delays[flow.direction().reverse()];
        let now = self.now;
        self.flow(flow).resolve_timer(now, delay);
    }

    fn send(&mut self, flow: FlowId) {
        let mut sent = false;
        while let Some(sending) = self.flows[flow.index()].next_packet(self.now) {
            self.put_on_link(flow, sending);
            sent = true;
        }
        if sent {
            self.flows[flow.index()].sent_all_it_can();
        }
        if let Some(at) = self.flows[flow.index()].continues_at(self.now) {
            self.push(at, What::Continue { flow });
        }
        self.arm_ack_timer(flow);
    }

    fn put_on_link(&mut self, flow: FlowId, sending: Sending) {
        let length = (sending.end - sending.start) as u32;
        let ack = self.flows[flow.reverse().index()].acknowledge_with_data(self.now);
        let outcome = self.put(flow.direction(), length + TCP_HEADER_BYTES);
        self.note_data(flow, &sending, outcome);
        let at = match outcome {
            PacketOutcome::Arrives(arrives) => arrives,
            // A real connection would break now. Continuing makes this one no faster than TCP's
            // retry limit.
            PacketOutcome::Dropped(_) if self.flows[flow.index()].has_lost_patience() => {
                self.now.plus(self.delays[flow.direction()])
            }
            PacketOutcome::Dropped(_) => {
                self.arm_give_up_timer(flow);
                return self.arm_give_up_timer(flow.reverse());
            }
        };
        let what = What::Packet {
            flow,
            length,
            start: sending.start,
            ack,
        };
        self.push(at, what);
    }

    fn packet(&mut self, flow: FlowId, packet: Sending) {
        let now = self.now;
        let receiving = &mut self.flows[flow.index()];
        let reaction = receiving.arrives(now, packet);
        while let Some(waiter) = receiving.satisfied() {
            self.satisfied.push_back(waiter);
        }
        self.note_progress(flow);
        match reaction {
            Reaction::Acknowledge => self.send_acknowledgement(flow, packet.end),
            Reaction::Wait => self.arm_ack_timer(flow),
        }
    }

    fn send_acknowledgement(&mut self, flow: FlowId, newest: StreamOffset) {
        let ack = self.flow(flow).acknowledge();
        let beyond = if newest > ack.received {
            newest
        } else {
            StreamOffset::START
        };
        self.put_acknowledgement_on_link(flow, ack, beyond);
    }

    /// Returns whether it will arrive.
    fn put_acknowledgement_on_link(
        &mut self,
        flow: FlowId,
        ack: Acknowledgement,
        beyond: StreamOffset,
    ) -> bool {
        let outcome = self.put(flow.reverse().direction(), TCP_HEADER_BYTES);
        self.note_packet(flow.reverse());
        match outcome {
            PacketOutcome::Arrives(arrives) => {
                self.push(arrives, What::Acknowledgement { flow, ack, beyond });
                true
            }
            PacketOutcome::Dropped(_) => {
                self.arm_give_up_timer(flow);
                false
            }
        }
    }

    fn acknowledgement(&mut self, flow: FlowId, ack: Acknowledgement, beyond: Option<StreamOffset>) {
        self.flows[flow.index()].acknowledged(self.now, ack, beyond);
        self.send(flow);
        if beyond.is_some() {
            self.arm_give_up_timer(flow);
        }
    }

    fn flow(&mut self, flow: FlowId) -> &mut Flow {
        &mut self.flows[flow.index()]
    }

    fn put(&mut self, direction: Direction, wire_bytes: u32) -> PacketOutcome {
        let pipe = &mut self.pipes[direction];
        let at = self.now;
        match &mut self.emulation {
            None => pipe.accept(at, wire_bytes),
            Some(emulation) => emulation.put(pipe, at, direction, wire_bytes),
        }
    }

    fn minimal_rtt(&self) -> Nanos {
        let [there, back] = Direction::ALL.map(|direction| self.delays[direction]);
        there + back
    }

    fn push(&mut self, at: Timestamp, what: What<W>) {
        if let Some(emulation) = &mut self.emulation {
            emulation.refer(&what);
        }
        self.order += 1;
        self.events.push(Reverse(Event {
            at,
            order: self.order,
            what,
        }));
    }
}

fn scale(span: Nanos, part: u64, whole: u64) -> Nanos {
    Nanos::new((u128::from(span.get()) * u128::from(part) / u128::from(whole.max(1))) as u64)
}

/// Pieces of a reply with server time inside.
const MAX_PIECES: u64 = 16;
/// As `TCP_TIMEOUT_INIT` in Linux.
const HANDSHAKE_TIMEOUT: Nanos = Nanos::from_millis(1_000);
/// `TCP_RTO_MIN`, in addition to the round trip.
const CONTROL_TIMEOUT: Nanos = Nanos::from_millis(200);

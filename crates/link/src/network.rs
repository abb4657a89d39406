//! A link with TCP flows that share it, as a sequence of events.
//!
//! Emulations use a clock ([`SimulatedNetwork::next_at`]) and `network/emulation.rs`.

mod emulation;

pub use emulation::DirectionCounts;

use crate::tcp::{Flow, Reaction, Sending};
use crate::{LinkDescription, PacketOutcome, Pipe, TCP_HEADER_BYTES};
use emulation::Emulation;
use model::{Direction, Timestamp};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

/// A link with flows and a clock, where `W` identifies wake-ups.
#[derive(Debug)]
pub struct SimulatedNetwork<W> {
    pipes: [Pipe; 2],
    delays: [u64; 2],
    packet_bytes: u32,
    flows: Vec<Flow>,
    /// Per connection, when the acknowledgement that ends the handshake reaches the server.
    established: Vec<u64>,
    events: BinaryHeap<Reverse<Event<W>>>,
    order: u64,
    /// Per flow, when the sender's retransmission timer is due, or 0.
    gives_up_at: Vec<u64>,
    satisfied: VecDeque<u64>,
    now: u64,
    emulation: Option<Box<Emulation>>,
}

/// An event for the network's user.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum NetworkEvent<W> {
    /// A wake-up from [`SimulatedNetwork::wake_at`].
    Wake(W),
    /// This waiter's bytes or control packet have arrived.
    Arrived(u64),
    /// More in-order bytes of this flow have arrived, only in emulations.
    Received(u32),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Event<W> {
    at: u64,
    order: u64,
    what: What<W>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum What<W> {
    Told(NetworkEvent<W>),
    Packet {
        flow: u32,
        length: u32,
        start: u64,
        received: u64,
        allowed: u64,
    },
    Acknowledgement {
        flow: u32,
        received: u64,
        allowed: u64,
        beyond: u64,
    },
    Write {
        flow: u32,
        bytes: u64,
    },
    AckTimer {
        flow: u32,
    },
    GiveUpTimer {
        flow: u32,
    },
    SendControl(Control),
    OpenWindow {
        flow: u32,
    },
}

/// An awaited packet without payload, retransmitted after timeouts that double (RFC 6298).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Control {
    direction: Direction,
    wire_bytes: u32,
    timeout: u64,
    attempts: u32,
    waiter: u64,
}

/// Bytes of a SYN or SYN-ACK: 52, and 8 of options (maximum segment size, window scale, SACK
/// permitted).
const HANDSHAKE_BYTES: u32 = 60;

impl<W: Ord> SimulatedNetwork<W> {
    /// An idle link without flows, with the clock at `now`.
    pub fn new(link: &LinkDescription, now: u64) -> Self {
        let pipes = [
            link.pipe(Direction::ClientToServer),
            link.pipe(Direction::ServerToClient),
        ];
        let delays = pipes
            .each_ref()
            .map(|pipe| u64::try_from(pipe.delay().as_nanos()).unwrap_or(u64::MAX));
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

    /// Adds a connection with optional earlier flows. The flow of `direction` has number `2 *
    /// connection + direction.index()`.
    pub fn add_connection(&mut self, before: Option<[Flow; 2]>) {
        let flows = before.unwrap_or_else(|| {
            let new = Flow::new(self.packet_bytes, self.delays[0] + self.delays[1]);
            [new.clone(), new]
        });
        self.flows.extend(flows);
        self.gives_up_at.extend([0; 2]);
        self.established.push(0);
    }

    /// Limits the receive window of both sides to `most` bytes.
    pub fn limit_window(&mut self, connection: u32, most: u64) {
        for flow in self.flows.iter_mut().skip(2 * connection as usize).take(2) {
            flow.limit_window(most);
        }
    }

    /// Sets the server's initial window to at least `packets`, also after idle time.
    pub fn begin_with(&mut self, connection: u32, packets: u32) {
        let flow = 2 * connection as usize + Direction::ServerToClient.index();
        if let Some(flow) = self.flows.get_mut(flow) {
            flow.begin_with(packets);
        }
    }

    /// Number of added connections.
    pub fn connections(&self) -> u32 {
        self.established.len() as u32
    }

    /// The current flows, two per connection.
    pub fn into_flows(self) -> Vec<Flow> {
        self.flows
    }

    /// Begins the handshake of a new connection.
    pub fn open(&mut self, connection: u32) {
        for direction in 0..2 {
            let flow = &mut self.flows[2 * connection as usize + direction];
            if flow.is_unused() {
                flow.opened();
            }
        }
    }

    /// The current virtual time.
    pub const fn now(&self) -> u64 {
        self.now
    }

    /// Time of the next event, if any, for users with a clock.
    pub fn next_at(&self) -> Option<u64> {
        if self.satisfied.is_empty() && !self.has_progress() {
            self.events.peek().map(|Reverse(event)| event.at)
        } else {
            Some(self.now)
        }
    }

    /// Schedules a wake-up at `at`.
    pub fn wake_at(&mut self, at: u64, wake: W) {
        self.push(at, What::Told(NetworkEvent::Wake(wake)));
    }

    /// Sends a handshake packet for `waiter`.
    pub fn send_handshake(&mut self, direction: Direction, waiter: u64) {
        self.send_control(Control {
            direction,
            wire_bytes: HANDSHAKE_BYTES,
            timeout: HANDSHAKE_TIMEOUT,
            attempts: 0,
            waiter,
        });
    }

    /// The client completes the handshake by an acknowledgement.
    pub fn establish(&mut self, connection: u32) {
        let outcome = self.put(Direction::ClientToServer, TCP_HEADER_BYTES);
        self.established[connection as usize] = match outcome {
            PacketOutcome::Arrives(arrives) => arrives.as_nanos(),
            // Both sides retransmit their part of the handshake.
            PacketOutcome::Dropped(_) => self.now.saturating_add(HANDSHAKE_TIMEOUT + self.delays[0]),
        };
    }

    /// `waiter` waits until the server has the acknowledgement that ends the handshake, or on an
    /// older connection another one.
    pub fn wait_for_establishment(&mut self, connection: u32, waiter: u64) {
        let at = self.established[connection as usize];
        if at < self.now {
            self.send_empty(Direction::ClientToServer, waiter);
        } else {
            self.push(at, What::Told(NetworkEvent::Arrived(waiter)));
        }
    }

    /// Sends a packet without payload for `waiter`.
    pub fn send_empty(&mut self, direction: Direction, waiter: u64) {
        let timeout = (self.delays[0] + self.delays[1]).saturating_add(CONTROL_TIMEOUT);
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
    pub fn write(&mut self, flow: u32, bytes: u64, span: u64, waiter: u64) {
        let pieces = if span == 0 {
            1
        } else {
            bytes.div_ceil(u64::from(self.packet_bytes)).clamp(1, MAX_PIECES)
        };
        self.flows[flow as usize].announce(bytes, waiter);
        for piece in 1..=pieces {
            let size = bytes * piece / pieces - bytes * (piece - 1) / pieces;
            let after = if pieces == 1 {
                span
            } else {
                scale(span, piece - 1, pieces - 1)
            };
            if after == 0 {
                self.write_now(flow, size);
            } else {
                self.push(self.now.saturating_add(after), What::Write { flow, bytes: size });
            }
        }
    }

    /// Writes `bytes` to `flow` together with a [`SimulatedNetwork::write`] that follows at this
    /// moment.
    pub fn append(&mut self, flow: u32, bytes: u64, waiter: u64) {
        self.flows[flow as usize].announce(bytes, waiter);
        self.settle_both(flow);
        self.flows[flow as usize].write(self.now, bytes);
    }

    /// Returns the next event, if any.
    pub fn advance(&mut self) -> Option<NetworkEvent<W>> {
        self.advance_to(u64::MAX)
    }

    /// Returns the next event until `limit`, if any.
    pub fn advance_to(&mut self, limit: u64) -> Option<NetworkEvent<W>> {
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
                What::Told(network_event) => return Some(network_event),
                What::Packet {
                    flow,
                    length,
                    start,
                    received,
                    allowed,
                } => {
                    self.packet(flow, start, start + u64::from(length));
                    self.acknowledgement(flow ^ 1, received, allowed, None);
                }
                What::Acknowledgement {
                    flow,
                    received,
                    allowed,
                    beyond,
                } => {
                    self.acknowledgement(flow, received, allowed, (beyond > 0).then_some(beyond));
                }
                What::Write { flow, bytes } => self.write_now(flow, bytes),
                What::AckTimer { flow } => self.ack_timer(flow),
                What::GiveUpTimer { flow } => self.give_up_timer(flow),
                What::SendControl(control) => self.send_control(control),
                What::OpenWindow { flow } => self.open_window(flow),
            }
        }
    }

    fn write_now(&mut self, flow: u32, bytes: u64) {
        self.settle_both(flow);
        self.flows[flow as usize].write(self.now, bytes);
        self.send(flow);
    }

    fn settle_both(&mut self, flow: u32) {
        self.flush_acknowledged(flow);
        self.flush_acknowledged(flow ^ 1);
    }

    /// Processes a delayed acknowledgement that left without an event, as it had no waiter.
    fn flush_acknowledged(&mut self, flow: u32) {
        let delay = self.delays[(flow & 1) as usize ^ 1];
        self.flows[flow as usize].resolve_timer(self.now, delay);
    }

    fn send(&mut self, flow: u32) {
        let mut sent = false;
        while let Some(sending) = self.flows[flow as usize].next_packet(self.now) {
            self.put_on_link(flow, sending);
            sent = true;
        }
        if sent {
            self.flows[flow as usize].sent_all_it_can(self.now);
        }
        self.arm_ack_timer(flow);
    }

    fn put_on_link(&mut self, flow: u32, sending: Sending) {
        let length = (sending.end - sending.start) as u32;
        let direction = (flow & 1) as usize;
        let (received, allowed) = self.flows[(flow ^ 1) as usize].acknowledge_with_data(self.now);
        let outcome = self.put(direction_of(flow), length + TCP_HEADER_BYTES);
        self.note_data(flow, &sending, outcome);
        let at = match outcome {
            PacketOutcome::Arrives(arrives) => arrives.as_nanos(),
            // A real connection would break now. Continuing makes this one no faster than TCP's
            // retry limit.
            PacketOutcome::Dropped(_) if self.flows[flow as usize].has_lost_patience() => {
                self.now.saturating_add(self.delays[direction])
            }
            PacketOutcome::Dropped(_) => {
                self.arm_give_up_timer(flow);
                return self.arm_give_up_timer(flow ^ 1);
            }
        };
        let what = What::Packet {
            flow,
            length,
            start: sending.start,
            received,
            allowed,
        };
        self.push(at, what);
    }

    fn packet(&mut self, flow: u32, start: u64, end: u64) {
        let now = self.now;
        let receiving = &mut self.flows[flow as usize];
        let reaction = receiving.arrives(now, start, end);
        while let Some(waiter) = receiving.satisfied() {
            self.satisfied.push_back(waiter);
        }
        self.note_progress(flow);
        match reaction {
            Reaction::Acknowledge => self.send_acknowledgement(flow, end),
            Reaction::Wait => self.arm_ack_timer(flow),
        }
    }

    fn send_acknowledgement(&mut self, flow: u32, newest: u64) {
        let (received, allowed) = self.flows[flow as usize].acknowledge();
        let beyond = if newest > received { newest } else { 0 };
        self.put_acknowledgement_on_link(flow, received, allowed, beyond);
    }

    /// Returns whether it will arrive.
    fn put_acknowledgement_on_link(&mut self, flow: u32, received: u64, allowed: u64, beyond: u64) -> bool {
        let outcome = self.put(direction_of(flow ^ 1), TCP_HEADER_BYTES);
        self.note_packet(flow ^ 1);
        match outcome {
            PacketOutcome::Arrives(arrives) => {
                let what = What::Acknowledgement {
                    flow,
                    received,
                    allowed,
                    beyond,
                };
                self.push(arrives.as_nanos(), what);
                true
            }
            PacketOutcome::Dropped(_) => {
                self.arm_give_up_timer(flow);
                false
            }
        }
    }

    fn acknowledgement(&mut self, flow: u32, received: u64, allowed: u64, beyond: Option<u64>) {
        self.flows[flow as usize].acknowledged(self.now, received, allowed, beyond);
        self.send(flow);
    }

    fn arm_ack_timer(&mut self, flow: u32) {
        if let Some(at) = self.flows[flow as usize].acknowledges_at() {
            self.push(at.max(self.now), What::AckTimer { flow });
        }
    }

    fn ack_timer(&mut self, flow: u32) {
        if self.flows[flow as usize]
            .acknowledges_at()
            .is_some_and(|at| at <= self.now)
        {
            let (received, allowed) = self.flows[flow as usize].acknowledge_late();
            self.put_acknowledgement_on_link(flow, received, allowed, 0);
        }
    }

    /// Needed only after a loss, as otherwise every acknowledgement arrives. There is one timer per
    /// flow: a later deadline is checked when the earlier one expires.
    fn arm_give_up_timer(&mut self, flow: u32) {
        if self.gives_up_at[flow as usize] == 0
            && let Some(at) = self.flows[flow as usize].gives_up_at()
        {
            let at = at.max(self.now);
            self.gives_up_at[flow as usize] = at;
            self.push(at, What::GiveUpTimer { flow });
        }
    }

    fn give_up_timer(&mut self, flow: u32) {
        self.flush_acknowledged(flow);
        self.gives_up_at[flow as usize] = 0;
        let due = self.flows[flow as usize].gives_up_at();
        if due.is_some_and(|at| at <= self.now) {
            if let Some(probe) = self.flows[flow as usize].gives_up(self.now) {
                self.put_on_link(flow, probe);
            }
            self.send(flow);
        }
        self.arm_give_up_timer(flow);
    }

    fn send_control(&mut self, control: Control) {
        let outcome = self.put(control.direction, control.wire_bytes);
        let at = match outcome {
            PacketOutcome::Arrives(arrives) => arrives.as_nanos(),
            PacketOutcome::Dropped(_) if control.attempts < MAX_CONTROL_ATTEMPTS => {
                let again = self.now.saturating_add(control.timeout);
                let control = Control {
                    attempts: control.attempts + 1,
                    timeout: control.timeout.saturating_mul(2),
                    ..control
                };
                return self.push(again, What::SendControl(control));
            }
            // A real connection would break now, see `put_on_link`.
            PacketOutcome::Dropped(_) => self.now.saturating_add(self.delays[control.direction.index()]),
        };
        self.push(at, What::Told(NetworkEvent::Arrived(control.waiter)));
    }

    fn put(&mut self, direction: Direction, wire_bytes: u32) -> PacketOutcome {
        let pipe = &mut self.pipes[direction.index()];
        let at = Timestamp::from_nanos(self.now);
        match &mut self.emulation {
            None => pipe.accept(at, wire_bytes),
            Some(emulation) => emulation.put(pipe, at, direction, wire_bytes),
        }
    }

    fn push(&mut self, at: u64, what: What<W>) {
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

const fn direction_of(flow: u32) -> Direction {
    if flow & 1 == 0 {
        Direction::ClientToServer
    } else {
        Direction::ServerToClient
    }
}

fn scale(amount: u64, part: u64, whole: u64) -> u64 {
    (u128::from(amount) * u128::from(part) / u128::from(whole.max(1))) as u64
}

/// Pieces of a reply with server time inside.
const MAX_PIECES: u64 = 16;
/// As `TCP_TIMEOUT_INIT` in Linux.
const HANDSHAKE_TIMEOUT: u64 = 1_000_000_000;
/// `TCP_RTO_MIN`, in addition to the round trip.
const CONTROL_TIMEOUT: u64 = 200_000_000;
/// As `tcp_syn_retries` in Linux.
const MAX_CONTROL_ATTEMPTS: u32 = 6;

//! A connection over a link that only delays, without a queue of events.
//!
//! Equal to [`crate::network::SimulatedNetwork`] to the nanosecond, with the same flows at the end,
//! where each message leaves at once and its sender then waits for the other side.

use crate::LinkDescription;
use crate::tcp::{Acknowledgement, Flow, Reaction, Sending};
use model::{Direction, Nanos, PerDirection, Timestamp};
use std::collections::VecDeque;

/// One connection with sides that send in turns.
#[derive(Debug)]
pub struct DelayedConnection<'a> {
    flows: &'a mut [Flow; 2],
    delays: PerDirection<Nanos>,
    /// Arrival and acknowledged direction, in order of arrival.
    acknowledgements: VecDeque<(Timestamp, Direction, Acknowledgement)>,
    /// When the server has the acknowledgement that ends the handshake.
    established: Timestamp,
    packets: Vec<(Sending, Acknowledgement)>,
}

impl<'a> DelayedConnection<'a> {
    /// Of `flows` that send each of their messages at once ([`Flow::sends_at_once`]), over a `link`
    /// that only delays.
    pub fn new(link: &LinkDescription, flows: &'a mut [Flow; 2]) -> Self {
        Self {
            flows,
            delays: PerDirection::from_fn(|direction| link.one_way(direction).into()),
            acknowledgements: VecDeque::new(),
            established: Timestamp::default(),
            packets: Vec::new(),
        }
    }

    /// A used connection stays as it is.
    pub fn open(&mut self) {
        let unused = self.flows.iter_mut().filter(|flow| flow.is_unused());
        unused.for_each(Flow::opened);
    }

    /// The client has the server's part of the handshake at `at`.
    pub fn establish(&mut self, at: Timestamp) {
        self.established = self.carry_empty(Direction::ClientToServer, at);
    }

    /// When the server has the acknowledgement that ends the handshake, or on an older connection
    /// another one, sent at `at`.
    pub fn established(&self, at: Timestamp) -> Timestamp {
        match self.established < at {
            true => self.carry_empty(Direction::ClientToServer, at),
            false => self.established,
        }
    }

    /// Returns when a packet without payload arrives.
    pub fn carry_empty(&self, direction: Direction, at: Timestamp) -> Timestamp {
        at.plus(self.delays[direction])
    }

    /// Returns when the last byte arrives, for times that never decrease.
    pub fn carry(&mut self, direction: Direction, at: Timestamp, bytes: u64) -> Timestamp {
        self.pass_time(at);
        let back = direction.reverse();
        for way in [direction, back] {
            self.flows[way.index()].resolve_timer(at, self.delays[way.reverse()]);
        }
        self.send(direction, at, bytes);
        let arrives = at.plus(self.delays[direction]);
        self.pass_time(arrives);
        let returns = arrives.plus(self.delays[back]);
        for (packet, ack) in self.packets.drain(..) {
            let (sender, receiver) = both(self.flows, direction);
            if sender.arrives(arrives, packet) == Reaction::Acknowledge {
                let ack = sender.acknowledge();
                self.acknowledgements.push_back((returns, direction, ack));
            }
            receiver.acknowledged(arrives, ack, None);
        }
        arrives
    }

    fn send(&mut self, direction: Direction, at: Timestamp, bytes: u64) {
        let (sender, receiver) = both(self.flows, direction);
        sender.announce_to_nobody(bytes);
        sender.write(at, bytes);
        while let Some(packet) = sender.next_packet(at) {
            self.packets.push((packet, receiver.acknowledge_with_data(at)));
        }
        sender.sent_all_it_can();
        debug_assert_eq!(sender.unsent(), 0, "it was to be sent at once");
    }

    fn pass_time(&mut self, until: Timestamp) {
        while let Some((at, direction, ack)) = self.acknowledgements.pop_front_if(|(at, ..)| *at <= until) {
            self.flows[direction.index()].acknowledged(at, ack, None);
        }
    }

    /// Lets everything on its way arrive.
    pub fn finish(mut self) {
        self.pass_time(Timestamp::from_nanos(u64::MAX));
    }
}

/// Both flows of a new connection over `link`.
pub fn new_flows(link: &LinkDescription) -> [Flow; 2] {
    let rtt = Direction::ALL.map(|direction| Nanos::from(link.one_way(direction)));
    let new = Flow::new(link.payload_per_packet(), rtt[0] + rtt[1]);
    [new.clone(), new]
}

const fn both(flows: &mut [Flow; 2], direction: Direction) -> (&mut Flow, &mut Flow) {
    let [up, down] = flows;
    match direction {
        Direction::ClientToServer => (up, down),
        Direction::ServerToClient => (down, up),
    }
}

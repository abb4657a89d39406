//! A relay with one emulated link for all connections: the model of `link::network`, driven by
//! the clock.
//!
//! ```text
//!  client --socket--> read --> sender, link, receiver (model) --due--> send --socket--> server
//!                              one thread owns the network and all connections
//! ```
//! Bytes enter the model at the time the kernel received them. The model, also used by prediction,
//! decides per packet when they are due at the other end.
//!
//! - This machine's kernel answers the client's connect at once, but the handshake crosses the link:
//!   the relay connects to the server when the SYN has arrived, the client's first bytes enter when
//!   the answer is back, and a server that speaks first is read when the client's ACK has arrived.
//! - An end (FIN) counts as one byte after the last; a reset drops everything behind it.
//! - The model bounds the memory of a connection: each way at most the sender's buffer (4 MB) and
//!   the receiver's window (3.9 MB), and none while idle. A source without room is not read; a sink
//!   that does not read closes the window.
//! - The server's real round-trip time comes on top of the link's.
//!
//! Start reading at `Shaper::run` (`shaped/sockets.rs`).

mod check;
mod connection;
mod connection_state;
mod event_reorderer;
mod floor;
mod half_connection;
mod outside;
mod sockets;
#[cfg(test)]
mod tests;

pub(super) use check::Check;
pub(super) use floor::measure as measure_floor;
pub(super) use sockets::Sockets;

use super::READ_LIMIT;
use super::counters::Batch;
use super::sparing::{SparedConnection, Sparing};
use connection::{Delivery, Passing, Shaped};
use connection_state::{ConnectionState, Control};
use link::LinkDescription;
use link::network::{ConnectionNumber, FlowId, NetworkEvent, SimulatedNetwork};
use model::{Closing, Direction, PerDirection, Side, Timestamp};
use outside::{Outside, Readiness};
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;
use sys::socket::Received;

/// The rules, without a socket: [`Sockets`] drives them by the kernel's.
pub(super) struct Shaper<O> {
    outside: O,
    check: Arc<Check>,
    link: LinkDescription,
    sparing: Option<Arc<dyn Sparing>>,
    /// Wakes name slots with pending events for their observers.
    network: SimulatedNetwork<u32>,
    slots: Vec<Slot>,
    /// Closed slots, oldest first; the link may still carry their packets.
    over: VecDeque<usize>,
    /// Closed in this round: an event of the round may still name them.
    ended: Vec<usize>,
    to_read: VecDeque<(usize, Direction)>,
    held_back: Vec<(usize, Direction)>,
    calling: usize,
    /// Pending wakes, one for each connection with events to show.
    to_show: usize,
    arrival: Option<Arrived>,
    buffer: Vec<u8>,
    batch: Batch,
}

struct Arrived {
    flow: FlowId,
    first: Timestamp,
    last: Timestamp,
    packets: u32,
}

struct Slot {
    stage: ConnectionState,
    /// Packets without payload on the link that name this slot.
    controls: u32,
    opened: Timestamp,
    syn: Timestamp,
    /// Until it is open.
    sparing: Option<Box<dyn SparedConnection + Send>>,
    spares_connecting: bool,
}

impl<O: Outside> Shaper<O> {
    pub(super) fn new(outside: O, link: LinkDescription, check: Arc<Check>) -> Self {
        let network = SimulatedNetwork::for_emulation(&link, outside.now());
        Self {
            outside,
            check,
            link,
            sparing: None,
            network,
            slots: Vec::new(),
            over: VecDeque::new(),
            ended: Vec::new(),
            to_read: VecDeque::new(),
            held_back: Vec::new(),
            calling: 0,
            to_show: 0,
            arrival: None,
            buffer: vec![0; READ_LIMIT],
            batch: Batch::default(),
        }
    }

    pub(super) fn with_sparing(self, sparing: Option<Arc<dyn Sparing>>) -> Self {
        Self { sparing, ..self }
    }

    /// When [`Shaper::settle`] must be called, unless something happens before.
    fn next_due(&self) -> Option<Timestamp> {
        match self.to_read.is_empty() {
            true => self.network.next_at(),
            false => Some(Timestamp::default()),
        }
    }

    /// Whether [`Shaper::settle`] must be called now and then.
    fn is_calling(&self) -> bool {
        self.calling > 0
    }

    fn ready(&mut self, slot: usize, side: Side, event: Readiness) {
        let from_here = side.sends();
        if let Some(ConnectionState::Calling(_)) = self.slots.get(slot).map(|slot| &slot.stage) {
            self.catch_up(self.outside.now());
            self.call_progress(slot);
        }
        match self.slots.get_mut(slot).map(|slot| &mut slot.stage) {
            Some(ConnectionState::Open(connection)) => {
                if event.readable {
                    let lane = connection.lane(from_here);
                    lane.readable = true;
                    lane.ending |= event.ending;
                    self.to_read.push_back((slot, from_here));
                }
                if event.writable && connection.lane(from_here.reverse()).sink_full {
                    self.deliver(slot, from_here.reverse(), None);
                }
            }
            Some(ConnectionState::Answering { ending }) => *ending |= event.ending,
            _ => {}
        }
    }

    fn read_all(&mut self) {
        while let Some((slot, direction)) = self.to_read.pop_front() {
            self.read_socket(slot, direction);
        }
    }

    /// Ends a round: forwards everything due by now.
    fn settle(&mut self) {
        self.catch_up(self.outside.now());
        self.read_where_there_is_room();
        if self.calling > 0 {
            self.give_up_late();
        }
        self.over.extend(self.ended.drain(..));
        self.outside.counters().add(&mut self.batch);
        self.account();
    }

    fn read_socket(&mut self, slot: usize, direction: Direction) {
        let room = usize::try_from(self.room(slot, direction))
            .unwrap_or(usize::MAX)
            .min(READ_LIMIT);
        let Some(connection) = self.open(slot).filter(|connection| connection.reads(direction)) else {
            return;
        };
        if room < MIN_ROOM {
            if !std::mem::replace(&mut connection.lane(direction).held_back, true) {
                self.held_back.push((slot, direction));
            }
            return;
        }
        let mut buffer = std::mem::take(&mut self.buffer);
        self.read_into(slot, direction, buffer.get_mut(..room).unwrap_or_default());
        self.buffer = buffer;
    }

    fn read_into(&mut self, slot: usize, direction: Direction, buffer: &mut [u8]) {
        let received = self.outside.receive(slot, direction.sender(), buffer);
        let Some(connection) = self.open(slot) else { return };
        match received {
            Received::Bytes {
                count,
                emptied,
                stamp,
            } => {
                let lane = connection.lane(direction);
                lane.readable = !emptied || lane.ending;
                if lane.readable {
                    self.to_read.push_back((slot, direction));
                }
                let at = stamp.map(|stamp| self.outside.timestamp(stamp));
                self.enter(slot, direction, buffer.get(..count).unwrap_or_default(), at);
            }
            Received::Nothing if connection.is_source_broken(direction) => self.reset(slot, direction),
            Received::Nothing => connection.lane(direction).readable = false,
            Received::End if connection.is_source_broken(direction) => self.reset(slot, direction),
            Received::End => self.finish(slot, direction),
            Received::Broken(_) => self.reset(slot, direction),
        }
    }

    fn enter(&mut self, slot: usize, direction: Direction, bytes: &[u8], at: Option<Timestamp>) {
        let now = self.outside.now();
        let at = at.map_or(now, |at| at.min(now));
        self.catch_up(at);
        let flow = flow(slot, direction);
        let idle = self.network.idle(flow);
        let Some(connection) = self
            .open(slot)
            .filter(|connection| connection.resetting.is_none())
        else {
            return;
        };
        let is_spared = connection.is_spared(direction, at, bytes);
        connection.lane(direction).enter(bytes, idle);
        match is_spared {
            true => self.spare(slot, direction, bytes.len()),
            false => self.network.write_bytes(flow, bytes.len() as u64),
        }
    }

    /// Bytes that entered at rest pass without the link.
    fn spare(&mut self, slot: usize, direction: Direction, count: usize) {
        let now = self.network.now();
        if let Some(connection) = self.open(slot) {
            connection.lane(direction).spare(count);
        }
        self.arrived(slot, direction, now, Passing::Spared);
        self.deliver(slot, direction, None);
    }

    /// The end enters the link as one byte, as in TCP.
    fn finish(&mut self, slot: usize, direction: Direction) {
        self.catch_up(self.outside.now());
        if let Some(connection) = self
            .open(slot)
            .filter(|connection| connection.resetting.is_none())
        {
            connection.lane(direction).finish();
            self.network.write_bytes(flow(slot, direction), 1);
        }
    }

    fn reset(&mut self, slot: usize, direction: Direction) {
        self.catch_up(self.outside.now());
        let now = self.network.now();
        let Some(connection) = self
            .open(slot)
            .filter(|connection| connection.resetting.is_none())
        else {
            return;
        };
        connection.resetting = Some(direction);
        if direction == Direction::ClientToServer {
            connection.ends_at(now);
        }
        self.send_control(slot, Control::Reset, direction);
    }

    fn read_where_there_is_room(&mut self) {
        let mut held_back = std::mem::take(&mut self.held_back);
        let with_room = held_back
            .extract_if(.., |(slot, direction)| {
                self.room(*slot, *direction) >= MIN_ROOM as u64
            })
            .collect::<Vec<_>>();
        self.held_back = held_back;
        for (slot, direction) in with_room {
            if let Some(connection) = self.open(slot) {
                connection.lane(direction).held_back = false;
                self.to_read.push_back((slot, direction));
            }
        }
    }

    /// Spared bytes occupy no sender's buffer, so those before them must have left.
    fn room(&self, slot: usize, direction: Direction) -> u64 {
        match self.slots.get(slot).map(|slot| &slot.stage) {
            Some(ConnectionState::Open(connection)) if connection.waits_for_sink(direction) => 0,
            _ => self.network.room(flow(slot, direction)),
        }
    }

    /// Adjacent packets of a flow due by then are forwarded together.
    fn catch_up(&mut self, to: Timestamp) {
        while let Some(network_event) = self.network.advance_to(to) {
            match network_event {
                NetworkEvent::Received(flow) => self.received(flow),
                NetworkEvent::Arrived(waiter) => {
                    self.hand_on();
                    self.control_arrived(waiter);
                }
                NetworkEvent::Wake(slot) => {
                    self.hand_on();
                    self.to_show -= 1;
                    self.show(slot);
                }
            }
        }
        self.hand_on();
        self.network.pass_time(to);
    }

    fn received(&mut self, flow: FlowId) {
        let due = self.network.now();
        if let Some(arrival) = &mut self.arrival
            && arrival.flow == flow
            && arrival.packets < MAX_PACKETS_PER_BATCH
        {
            arrival.last = due;
            arrival.packets += 1;
            return;
        }
        self.hand_on();
        self.arrival = Some(Arrived {
            flow,
            first: due,
            last: due,
            packets: 1,
        });
    }

    fn hand_on(&mut self) {
        let Some(arrival) = self.arrival.take() else {
            return;
        };
        let slot = arrival.flow.connection().index();
        let direction = arrival.flow.direction();
        if direction == Direction::ClientToServer {
            // Bytes imply the acknowledgement that ends the handshake.
            self.establish(slot);
        }
        self.arrived(slot, direction, arrival.last, Passing::Link);
        self.deliver(slot, direction, Some(arrival.first));
    }

    fn arrived(&mut self, slot: usize, direction: Direction, at: Timestamp, passing: Passing) {
        let Some(ConnectionState::Open(connection)) = self.slots.get_mut(slot).map(|slot| &mut slot.stage)
        else {
            return;
        };
        let flow = flow(slot, direction);
        if let Some(event_at) = connection.arrived(flow, at, passing, &mut self.network, &self.outside) {
            self.show_later(slot as u32, event_at);
        }
    }

    fn deliver(&mut self, slot: usize, direction: Direction, due: Option<Timestamp>) {
        let Some(ConnectionState::Open(connection)) = self.slots.get_mut(slot).map(|slot| &mut slot.stage)
        else {
            return;
        };
        let before = connection.lane(direction).waiting();
        let delivery = connection.deliver(direction, &mut self.outside);
        let sent = before - connection.lane(direction).waiting();
        if sent > 0 {
            self.batch.segment(direction, sent, None);
        }
        if let (Delivery::Whole, Some(due), true) = (delivery, due, sent > 0) {
            let late = self.outside.now().since(due);
            match direction {
                Direction::ClientToServer => connection.late_to_server = Some(late),
                Direction::ServerToClient => {
                    // The first bytes after a request end a round trip.
                    if let Some(before) = connection.late_to_server.take() {
                        self.check.late(before + late);
                    }
                }
            }
        }
        if delivery == Delivery::SinkBroken {
            connection.sink_broke(direction);
            // Passes on an end that has arrived: nothing else would.
            connection.deliver(direction, &mut self.outside);
            self.to_read.push_back((slot, direction.reverse()));
        }
        let (waiting, done) = (connection.lane(direction).waiting(), connection.is_done());
        self.network.set_unread(flow(slot, direction), waiting as u64);
        if done {
            self.close(slot, Closing::Finished);
        }
    }

    fn show(&mut self, slot: u32) {
        let until = self.network.now().before(self.lag());
        let next = self
            .open(slot as usize)
            .and_then(|connection| connection.show_until(until));
        if let Some(event_at) = next {
            self.show_later(slot, event_at);
        }
    }

    fn show_later(&mut self, slot: u32, event_at: Timestamp) {
        self.to_show += 1;
        self.network.wake_at(event_at.after(self.lag()), slot);
    }

    /// `None` if all events have been shown.
    fn shown_until(&self) -> Option<Timestamp> {
        (self.to_show > 0).then(|| self.network.now().before(self.lag()))
    }

    /// Delay of showing events to the client.
    fn lag(&self) -> Duration {
        self.network.one_way(Direction::ClientToServer)
    }

    fn account(&self) {
        let (counts, due) = (self.network.counts(), self.network.now());
        let one_way = PerDirection::from_fn(|direction| self.network.one_way(direction));
        self.check.passed(counts, due, self.outside.now(), one_way);
    }

    fn open(&mut self, slot: usize) -> Option<&mut Shaped> {
        match self.slots.get_mut(slot).map(|slot| &mut slot.stage) {
            Some(ConnectionState::Open(connection)) => Some(connection),
            _ => None,
        }
    }

    fn close(&mut self, slot: usize, how: Closing) {
        let packets = PerDirection::from_fn(|direction| self.network.packets(flow(slot, direction)));
        let now = self.network.now();
        if let ConnectionState::Open(connection) = self.put(slot, ConnectionState::Over) {
            connection.close(how, now, packets, &mut self.outside);
            self.outside.counters().closed();
            self.release(slot);
        }
    }

    fn release(&mut self, slot: usize) {
        self.put(slot, ConnectionState::Over);
        let now = self.network.now();
        if let Some(mut sparing) = self.slots.get_mut(slot).and_then(|slot| slot.sparing.take()) {
            sparing.closed(now);
        }
        self.network.detach(ConnectionNumber::new(slot));
        self.ended.push(slot);
        self.outside.close(slot);
    }

    fn put(&mut self, slot: usize, stage: ConnectionState) -> ConnectionState {
        match self.slots.get_mut(slot) {
            Some(slot) => std::mem::replace(&mut slot.stage, stage),
            None => ConnectionState::Over,
        }
    }

    fn close_all(&mut self) {
        for slot in 0..self.slots.len() {
            self.close(slot, Closing::Unfinished);
        }
        self.outside.counters().add(&mut self.batch);
        self.account();
    }
}

fn flow(slot: usize, direction: Direction) -> FlowId {
    FlowId::new(ConnectionNumber::new(slot), direction)
}

/// 64 KiB of full packets.
const MAX_PACKETS_PER_BATCH: u32 = 45;

const MIN_ROOM: usize = 32 * 1024;

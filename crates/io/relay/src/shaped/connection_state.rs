//! Opening a connection over the link, and packets without payload.

use super::connection::{HandshakeTimes, Shaped};
use super::event_reorderer::EventReorderer;
use super::outside::{Call, Outside};
use super::{Shaper, Slot};
use crate::connecting::CONNECT_LIMIT;
use link::network::{ConnectionNumber, SimulatedNetwork};
use link::tcp::Waiter;
use model::{Closing, Direction, Timestamp};
use sys::error::LiveError;

pub(super) enum ConnectionState {
    /// The client's SYN is in flight.
    Knocking,
    /// The relay connects to the server, to this address since then.
    Calling(Timestamp),
    /// The server's answer is in flight to the client. The server may have ended already: its socket
    /// says so only once.
    Answering {
        ending: bool,
    },
    /// The refusal is in flight to the client.
    Refusing(LiveError),
    Open(Box<Shaped>),
    Over,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Control {
    Syn,
    SynAck,
    Ack,
    Reset,
}

impl Control {
    const ALL: [Self; 4] = [Self::Syn, Self::SynAck, Self::Ack, Self::Reset];
}

impl<O: Outside> Shaper<O> {
    /// A client has come. Returns its slot.
    pub(super) fn knock(&mut self, at: Timestamp) -> usize {
        self.catch_up(at.min(self.outside.now()));
        let slot = self.free_slot();
        self.network.attach(ConnectionNumber::new(slot));
        let opened = self.network.now();
        let sparing = self.sparing.as_ref().map(|sparing| sparing.connection(opened));
        if let Some(slot) = self.slots.get_mut(slot) {
            slot.stage = ConnectionState::Knocking;
            (slot.opened, slot.syn) = (opened, opened);
            slot.spares_connecting = sparing
                .as_ref()
                .is_some_and(|sparing| sparing.spares_connecting());
            slot.sparing = sparing;
        }
        self.send_control(slot, Control::Syn, Direction::ClientToServer);
        slot
    }

    fn free_slot(&mut self) -> usize {
        for _ in 0..self.over.len().min(LOOKED_AT) {
            match self.over.pop_front() {
                Some(slot) if is_free(slot, &self.network, &self.slots) => return slot,
                Some(slot) => self.over.push_back(slot),
                None => break,
            }
        }
        self.slots.push(Slot {
            stage: ConnectionState::Over,
            controls: 0,
            opened: Timestamp::default(),
            syn: Timestamp::default(),
            sparing: None,
            spares_connecting: false,
        });
        self.slots.len() - 1
    }

    pub(super) fn send_control(&mut self, slot: usize, control: Control, direction: Direction) {
        let waiter = Waiter((slot * Control::ALL.len() + control as usize) as u64);
        let mut is_spared = false;
        if let Some(slot) = self.slots.get_mut(slot) {
            slot.controls += 1;
            is_spared = slot.spares_connecting;
        }
        match control {
            Control::Syn | Control::SynAck if is_spared => self.network.pass_at_once(waiter),
            Control::Syn | Control::SynAck => self.network.send_handshake(direction, waiter),
            Control::Ack | Control::Reset => self.network.send_empty(direction, waiter),
        }
    }

    pub(super) fn control_arrived(&mut self, Waiter(waiter): Waiter) {
        let slot = waiter as usize / Control::ALL.len();
        let control = Control::ALL[waiter as usize % Control::ALL.len()];
        if let Some(slot) = self.slots.get_mut(slot) {
            slot.controls -= 1;
        }
        match control {
            Control::Syn => self.syn_arrived(slot),
            Control::SynAck => self.answered(slot),
            Control::Ack => self.establish(slot),
            Control::Reset => self.reset_arrived(slot),
        }
    }

    fn syn_arrived(&mut self, slot: usize) {
        let now = self.network.now();
        let left = now.before(self.network.one_way(Direction::ClientToServer));
        if let Some(place) = self.slots.get_mut(slot)
            && matches!(place.stage, ConnectionState::Knocking)
        {
            // A dropped SYN was sent again: the one that arrived counts.
            let again = left.since(place.opened) >= RETRANSMITTED;
            place.syn = if again { left } else { place.opened };
            self.calling += 1;
            let call = self.outside.call(slot);
            self.called(slot, call);
        }
    }

    pub(super) fn call_progress(&mut self, slot: usize) {
        let call = self.outside.call_progress(slot);
        self.called(slot, call);
    }

    /// The outcome enters the link at the network's current time.
    fn called(&mut self, slot: usize, call: Call) {
        let (outcome, control) = match call {
            Call::Waits(since) => {
                self.put(slot, ConnectionState::Calling(since));
                return;
            }
            Call::Answered => (ConnectionState::Answering { ending: false }, Control::SynAck),
            Call::Refused(error) => (ConnectionState::Refusing(error), Control::Reset),
        };
        self.calling -= 1;
        self.put(slot, outcome);
        self.send_control(slot, control, Direction::ServerToClient);
    }

    pub(super) fn give_up_late(&mut self) {
        let now = self.outside.now();
        for slot in 0..self.slots.len() {
            if let Some(ConnectionState::Calling(since)) = self.slots.get(slot).map(|slot| &slot.stage)
                && now.since(*since) > CONNECT_LIMIT
            {
                let call = self.outside.call_next(slot);
                self.called(slot, call);
            }
        }
    }

    /// The SYN-ACK is at the client: its ACK enters the link, and its bytes behind.
    fn answered(&mut self, slot: usize) {
        let ConnectionState::Answering { ending } = self.put(slot, ConnectionState::Over) else {
            return;
        };
        let ends = match self.outside.watch_client(slot) {
            Ok(ends) => ends,
            Err(error) => return self.turn_away(slot, error),
        };
        let times = HandshakeTimes {
            opened: self.slots[slot].opened,
            syn: self.slots[slot].syn,
            syn_ack: self.network.now(),
        };
        self.network.open(ConnectionNumber::new(slot));
        self.outside.counters().opened();
        let (id, observer) = self.outside.observe();
        let lag = self.network.one_way(Direction::ClientToServer);
        let reorderer = EventReorderer::new(id, observer, lag);
        let mut connection = Shaped::open(slot, reorderer, ends, times, self.link.rtt, &self.outside);
        let is_spared = self.slots[slot].spares_connecting;
        connection.set_sparing(self.slots[slot].sparing.take(), is_spared);
        connection.lane(Direction::ServerToClient).ending = ending;
        self.put(slot, ConnectionState::Open(Box::new(connection)));
        match is_spared {
            true => self.establish(slot),
            false => self.send_control(slot, Control::Ack, Direction::ClientToServer),
        }
        self.to_read.push_back((slot, Direction::ClientToServer));
    }

    /// The server has the ACK and may speak.
    pub(super) fn establish(&mut self, slot: usize) {
        if let Some(connection) = self.open(slot)
            && !std::mem::replace(&mut connection.established, true)
        {
            self.to_read.push_back((slot, Direction::ServerToClient));
        }
    }

    fn reset_arrived(&mut self, slot: usize) {
        let now = self.network.now();
        if let Some(connection) = self.open(slot) {
            connection.ends_at(now);
            self.close(slot, Closing::Reset);
        } else if let ConnectionState::Refusing(error) = self.put(slot, ConnectionState::Over) {
            self.turn_away(slot, error);
        }
    }

    fn turn_away(&mut self, slot: usize, error: LiveError) {
        self.outside.reset(slot);
        self.outside.counters().failed(error);
        self.release(slot);
    }
}

fn is_free(slot: usize, network: &SimulatedNetwork<u32>, slots: &[Slot]) -> bool {
    network.is_free(ConnectionNumber::new(slot)) && slots.get(slot).is_some_and(|slot| slot.controls == 0)
}

/// TCP sends a SYN again after a second (RFC 6298); one that late was sent again, or waited in a
/// queue.
const RETRANSMITTED: std::time::Duration = std::time::Duration::from_millis(900);

const LOOKED_AT: usize = 16;

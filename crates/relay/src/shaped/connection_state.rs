//! Opening a connection over the link, and packets without payload.

use super::connection::{Ends, HandshakeTimes, Shaped};
use super::{Shaper, Slot};
use crate::connecting::{CONNECT_LIMIT, Connecting, Try};
use crate::worker::token;
use link::network::{ConnectionNumber, SimulatedNetwork};
use link::tcp::Waiter;
use model::{Closing, Direction, Side, Timestamp};
use std::os::fd::AsFd;
use sys::error::LiveError;
use sys::resolve;
use sys::socket::Socket;

pub(super) enum ConnectionState {
    /// The client's SYN is in flight.
    Knocking(Socket),
    /// The relay connects to the server.
    Calling(Box<Connecting>),
    /// The server's answer is in flight to the client.
    Answering(Box<Ends>),
    /// The refusal is in flight to the client.
    Refusing(Socket, LiveError),
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

impl Shaper {
    pub(super) fn knock(&mut self, client: Socket, at: Timestamp) {
        self.catch_up(at.min(self.now()));
        let slot = self.free_slot();
        self.network.attach(ConnectionNumber::new(slot));
        let opened = self.network.now();
        if let Some(slot) = self.slots.get_mut(slot) {
            slot.stage = ConnectionState::Knocking(client);
            (slot.opened, slot.syn) = (opened, opened);
        }
        self.send_control(slot, Control::Syn, Direction::ClientToServer);
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
        });
        self.slots.len() - 1
    }

    pub(super) fn send_control(&mut self, slot: usize, control: Control, direction: Direction) {
        let waiter = Waiter((slot * Control::ALL.len() + control as usize) as u64);
        if let Some(slot) = self.slots.get_mut(slot) {
            slot.controls += 1;
        }
        match control {
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
        if let ConnectionState::Knocking(client) = self.put(slot, ConnectionState::Over) {
            if let Some(slot) = self.slots.get_mut(slot) {
                // A dropped SYN was sent again: the one that arrived counts.
                let again = left.since(slot.opened) >= RETRANSMITTED;
                slot.syn = if again { left } else { slot.opened };
            }
            self.calling += 1;
            let attempt = Connecting::begin(client, &self.shared);
            self.attempted(slot, attempt);
        }
    }

    fn attempted(&mut self, slot: usize, attempt: Try) {
        let connecting = match attempt {
            Try::Next(connecting) => connecting,
            Try::GivenUp(client, error) => {
                self.calling -= 1;
                return self.refuse(slot, client, error);
            }
        };
        match self
            .poller
            .watch(connecting.server.as_fd(), token(slot, Side::Server))
        {
            Ok(()) => {
                self.put(slot, ConnectionState::Calling(Box::new(connecting)));
                self.call_progress(slot);
            }
            Err(error) => {
                self.calling -= 1;
                self.refuse(slot, connecting.client, error);
            }
        }
    }

    /// The outcome enters the link at the network's current time.
    pub(super) fn call_progress(&mut self, slot: usize) {
        let Some(ConnectionState::Calling(connecting)) = self.slots.get(slot).map(|slot| &slot.stage) else {
            return;
        };
        match connecting.server.connected() {
            Ok(false) => {}
            Ok(true) => {
                if let ConnectionState::Calling(connecting) = self.put(slot, ConnectionState::Over) {
                    self.calling -= 1;
                    let ends = Ends {
                        client: connecting.client,
                        server: connecting.server,
                        address: connecting.address,
                    };
                    self.put(slot, ConnectionState::Answering(Box::new(ends)));
                    self.send_control(slot, Control::SynAck, Direction::ServerToClient);
                }
            }
            Err(reason) => {
                let error = resolve::failed(&self.shared.target, connecting.address, reason);
                self.call_next(slot, error);
            }
        }
    }

    fn call_next(&mut self, slot: usize, error: LiveError) {
        if let ConnectionState::Calling(connecting) = self.put(slot, ConnectionState::Over) {
            let attempt = connecting.next(&self.shared, error);
            self.attempted(slot, attempt);
        }
    }

    pub(super) fn give_up_late(&mut self) {
        let now = self.shared.clock.now();
        for slot in 0..self.slots.len() {
            if let Some(ConnectionState::Calling(connecting)) = self.slots.get(slot).map(|slot| &slot.stage)
                && now.since(connecting.tried_at) > CONNECT_LIMIT
            {
                let error = connecting.timed_out(&self.shared);
                self.call_next(slot, error);
            }
        }
    }

    fn refuse(&mut self, slot: usize, client: Socket, error: LiveError) {
        self.put(slot, ConnectionState::Refusing(client, error));
        self.send_control(slot, Control::Reset, Direction::ServerToClient);
    }

    /// The SYN-ACK is at the client: its ACK enters the link, and its bytes behind.
    fn answered(&mut self, slot: usize) {
        let ConnectionState::Answering(ends) = self.put(slot, ConnectionState::Over) else {
            return;
        };
        if let Err(error) = self.poller.watch(ends.client.as_fd(), token(slot, Side::Client)) {
            ends.client.reset();
            self.shared.counters.failed(error);
            return self.release(slot);
        }
        let opening = HandshakeTimes {
            opened: self.slots[slot].opened,
            syn: self.slots[slot].syn,
            syn_ack: self.network.now(),
        };
        self.network.open(ConnectionNumber::new(slot));
        self.shared.counters.opened();
        let lag = self.network.one_way(Direction::ClientToServer);
        let connection = Shaped::open(*ends, opening, self.link.rtt, lag, &self.shared);
        self.put(slot, ConnectionState::Open(Box::new(connection)));
        self.send_control(slot, Control::Ack, Direction::ClientToServer);
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
        } else if let ConnectionState::Refusing(client, error) = self.put(slot, ConnectionState::Over) {
            client.reset();
            self.shared.counters.failed(error);
            self.release(slot);
        }
    }
}

fn is_free(slot: usize, network: &SimulatedNetwork<u32>, slots: &[Slot]) -> bool {
    network.is_free(ConnectionNumber::new(slot)) && slots.get(slot).is_some_and(|slot| slot.controls == 0)
}

/// TCP sends a SYN again after a second (RFC 6298); one that late was sent again, or waited in a
/// queue.
const RETRANSMITTED: std::time::Duration = std::time::Duration::from_millis(900);

const LOOKED_AT: usize = 16;

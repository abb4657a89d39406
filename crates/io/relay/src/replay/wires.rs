//! The sockets of a replay: both ends of every connection, in one epoll.

use super::ReplayError;
use super::boxes::{Inbox, Outbox};
use super::outside::{Happened, Outside};
use super::wake::Tag;
use model::{PerSide, Side};
use std::collections::VecDeque;
use std::time::Duration;
use sys::error::OsError;
use sys::socket::{Received, Sent};

#[derive(Debug, Default)]
pub(super) struct Channel {
    /// Whether the client has begun to connect.
    is_asked: bool,
    pub(super) connected: bool,
    pub(super) accepted: bool,
    pub(super) out: PerSide<Outbox>,
    pub(super) inbox: PerSide<Inbox>,
    /// The server answers one request after another.
    pub(super) server_busy: bool,
    pub(super) server_waiting: VecDeque<Tag>,
    pub(super) handshake: Option<Tag>,
    pub(super) greeting: Option<Tag>,
    /// Removed once all bytes have arrived.
    leaving: bool,
}

impl Channel {
    fn is_open(&self, end: Side) -> bool {
        match end {
            Side::Client => self.connected,
            Side::Server => self.accepted,
        }
    }

    fn is_settled(&self) -> bool {
        self.inbox.iter().all(Inbox::is_settled)
    }
}

#[derive(Debug, Clone, Copy)]
pub(super) enum Event {
    Connected(u32),
    Accepted(u32),
    Arrived { end: Side, tag: Tag },
    Writable { slot: u32, end: Side },
}

pub(super) struct Wires<O> {
    pub(super) outside: O,
    slots: Vec<Option<Channel>>,
    happened: Vec<Happened>,
}

impl<O: Outside> Wires<O> {
    pub(super) fn new(outside: O) -> Self {
        Self {
            outside,
            slots: Vec::new(),
            happened: Vec::new(),
        }
    }

    pub(super) fn add(&mut self) -> u32 {
        self.slots.push(Some(Channel::default()));
        self.slots.len() as u32 - 1
    }

    pub(super) fn connect(&mut self, slot: u32) -> Result<(), ReplayError> {
        self.outside.connect(slot)?;
        if let Some(channel) = self.channel(slot) {
            channel.is_asked = true;
        }
        Ok(())
    }

    pub(super) fn channel(&mut self, slot: u32) -> Option<&mut Channel> {
        self.slots.get_mut(slot as usize)?.as_mut()
    }

    pub(super) fn leave(&mut self, slot: u32) {
        if let Some(channel) = self.channel(slot) {
            channel.leaving = true;
        }
        self.drop_settled(slot);
    }

    fn drop_settled(&mut self, slot: u32) {
        if let Some(place) = self.slots.get_mut(slot as usize)
            && place
                .as_ref()
                .is_some_and(|channel| channel.leaving && channel.is_settled())
        {
            *place = None;
            self.outside.close(slot);
        }
    }

    pub(super) fn is_settled(&self) -> bool {
        self.slots.iter().flatten().all(Channel::is_settled)
    }

    pub(super) fn flush(&mut self, slot: u32, end: Side, now: u64) -> Result<(), ReplayError> {
        let Some(channel) = self.slots.get_mut(slot as usize).and_then(Option::as_mut) else {
            return Ok(());
        };
        if !channel.is_open(end) {
            return Ok(());
        }
        loop {
            let ready = channel.out[end].ready(now);
            if ready == 0 {
                return Ok(());
            }
            match self.outside.send(slot, end, ready) {
                Sent::Bytes(0) => return Ok(()),
                Sent::Bytes(count) => channel.out[end].sent(count as u64),
                Sent::Broken(reason) => return Err(broken(end, reason)),
            }
        }
    }

    pub(super) fn wait(&mut self, longest: Duration, events: &mut Vec<Event>) -> Result<(), ReplayError> {
        let mut happened = std::mem::take(&mut self.happened);
        self.outside.wait(longest, &mut happened)?;
        happened
            .drain(..)
            .try_for_each(|what| self.handle(what, events))?;
        self.happened = happened;
        Ok(())
    }

    fn handle(&mut self, what: Happened, events: &mut Vec<Event>) -> Result<(), ReplayError> {
        match what {
            Happened::Accepted(slot) => {
                if let Some(channel) = self.channel(slot) {
                    channel.accepted = true;
                    events.push(Event::Accepted(slot));
                }
            }
            Happened::Ready {
                slot,
                end,
                readable,
                writable,
            } => {
                if writable {
                    if end == Side::Client {
                        self.connected(slot, events)?;
                    }
                    events.push(Event::Writable { slot, end });
                }
                if readable {
                    self.read_socket(slot, end, events)?;
                }
            }
        }
        Ok(())
    }

    fn connected(&mut self, slot: u32, events: &mut Vec<Event>) -> Result<(), ReplayError> {
        let Some(channel) = self.slots.get_mut(slot as usize).and_then(Option::as_mut) else {
            return Ok(());
        };
        if !channel.connected
            && self
                .outside
                .connected(slot)
                .map_err(|reason| broken(Side::Client, reason))?
        {
            channel.connected = true;
            events.push(Event::Connected(slot));
        }
        Ok(())
    }

    fn read_socket(&mut self, slot: u32, end: Side, events: &mut Vec<Event>) -> Result<(), ReplayError> {
        let Some(channel) = self.slots.get_mut(slot as usize).and_then(Option::as_mut) else {
            return Ok(());
        };
        while channel.is_open(end) {
            match self.outside.receive(slot, end) {
                Received::Bytes { count, .. } => {
                    if !channel.inbox[end].receive(count as u64) {
                        return Err(ReplayError::TooMuchCame { end: name_of(end) });
                    }
                    while let Some(tag) = channel.inbox[end].next_whole() {
                        events.push(Event::Arrived { end, tag });
                    }
                }
                Received::Nothing => break,
                Received::End if channel.leaving => break,
                Received::End => return Err(ReplayError::Closed { end: name_of(end) }),
                Received::Broken(reason) => return Err(broken(end, reason)),
            }
        }
        self.drop_settled(slot);
        Ok(())
    }

    pub(super) fn lacking(&self) -> Option<&'static str> {
        self.slots.iter().flatten().find_map(|channel| match channel {
            channel if !channel.is_asked => None,
            channel if !channel.connected => Some("the end of a handshake"),
            channel if !channel.accepted => Some("a connection at the server"),
            channel if !channel.inbox[Side::Server].is_settled() => Some("bytes of a request"),
            channel if !channel.inbox[Side::Client].is_settled() => Some("bytes of a reply"),
            _ => None,
        })
    }
}

pub(super) fn broken(end: Side, reason: OsError) -> ReplayError {
    ReplayError::Connection {
        end: name_of(end),
        reason,
    }
}

const fn name_of(end: Side) -> &'static str {
    match end {
        Side::Client => "client",
        Side::Server => "server",
    }
}

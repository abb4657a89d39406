//! The sockets of a replay: both ends of every connection, in one epoll.

use super::boxes::{Inbox, Outbox};
use super::run::Tag;
use super::{ClientSocket, Ends, ReplayError};
use model::{PerSide, Side};
use std::collections::VecDeque;
use std::os::fd::AsFd;
use std::time::Duration;
use sys::StopToken;
use sys::error::{LiveError, OsError};
use sys::poller::{Poller, ReadyEvent, ReadyList};
use sys::socket::{Received, Sent, Socket};
use sys::wait::{PollFlags, until_ready};

#[derive(Debug, Default)]
pub(super) struct Channel {
    ends: PerSide<Option<Socket>>,
    pub(super) connected: bool,
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
    pub(super) fn is_accepted(&self) -> bool {
        self.ends[Side::Server].is_some()
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

pub(super) struct Wires<'a> {
    ends: &'a Ends<'a>,
    poller: Poller,
    ready: ReadyList,
    slots: Vec<Option<Channel>>,
    asked: VecDeque<(u16, u32)>,
    pool: Vec<ClientSocket>,
    buffer: Vec<u8>,
    filler: Vec<u8>,
}

const LISTENER: u64 = 0;
const STOP: u64 = u64::MAX;

impl<'a> Wires<'a> {
    pub(super) fn new(ends: &'a Ends<'a>, stop: &StopToken) -> Result<Self, ReplayError> {
        let poller = Poller::new()?;
        ends.listener
            .set_nonblocking(true)
            .map_err(|error| system("make a listener non-blocking", &error))?;
        poller.watch(ends.listener.as_fd(), LISTENER)?;
        poller.watch_stop(stop, STOP)?;
        Ok(Self {
            ends,
            poller,
            ready: ReadyList::default(),
            slots: Vec::new(),
            asked: VecDeque::new(),
            pool: Vec::new(),
            buffer: vec![0; 1 << 18],
            filler: filler(),
        })
    }

    /// Makes sockets in advance, so that the clock does not run meanwhile.
    pub(super) fn stock(&mut self, sockets: usize) -> Result<(), ReplayError> {
        if !self.pool.is_empty() {
            return Ok(());
        }
        while self.pool.len() < sockets.min(MAX_PREPARED_SOCKETS) {
            let socket = (self.ends.open)()?;
            self.pool.push(socket);
        }
        Ok(())
    }

    pub(super) fn add(&mut self) -> u32 {
        self.slots.push(Some(Channel::default()));
        self.slots.len() as u32 - 1
    }

    pub(super) fn connect(&mut self, slot: u32) -> Result<(), ReplayError> {
        let socket = match self.pool.pop() {
            Some(socket) => socket,
            None => (self.ends.open)()?,
        };
        let broken = |reason| broken(Side::Client, reason);
        socket.0.begin_to_connect(&self.ends.address).map_err(broken)?;
        let port = socket.0.local_port().map_err(broken)?;
        self.poller.watch(socket.0.as_fd(), token(slot, Side::Client))?;
        self.asked.push_back((port, slot));
        if let Some(channel) = self.channel(slot) {
            channel.ends[Side::Client] = Some(socket.0);
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
        }
    }

    pub(super) fn is_settled(&self) -> bool {
        self.slots.iter().flatten().all(Channel::is_settled)
    }

    pub(super) fn flush(&mut self, slot: u32, end: Side, now: u64) -> Result<(), ReplayError> {
        let Some(channel) = self.slots.get_mut(slot as usize).and_then(Option::as_mut) else {
            return Ok(());
        };
        if end == Side::Client && !channel.connected {
            return Ok(());
        }
        let Some(socket) = &channel.ends[end] else {
            return Ok(());
        };
        loop {
            let ready = channel.out[end].ready(now).min(self.filler.len() as u64) as usize;
            if ready == 0 {
                return Ok(());
            }
            match socket.send(&self.filler[..ready]) {
                Sent::Bytes(0) => return Ok(()),
                Sent::Bytes(count) => channel.out[end].sent(count as u64),
                Sent::Broken(reason) => return Err(broken(end, reason)),
            }
        }
    }

    pub(super) fn wait(&mut self, longest: Duration, events: &mut Vec<Event>) -> Result<(), ReplayError> {
        if !longest.is_zero() {
            until_ready(self.poller.as_fd(), PollFlags::IN, longest);
        }
        self.poller.wait(&mut self.ready, Some(Duration::ZERO));
        let ready: Vec<ReadyEvent> = self.ready.iter().collect();
        ready.into_iter().try_for_each(|ready| self.handle(ready, events))
    }

    fn handle(&mut self, ready: ReadyEvent, events: &mut Vec<Event>) -> Result<(), ReplayError> {
        match ready.token {
            LISTENER => return self.accept(events),
            STOP => return Ok(()),
            _ => {}
        }
        let (slot, end) = slot_and_end(ready.token);
        if ready.writable() {
            if end == Side::Client {
                self.connected(slot, events)?;
            }
            events.push(Event::Writable { slot, end });
        }
        if ready.readable() {
            self.read_socket(slot, end, events)?;
        }
        Ok(())
    }

    fn connected(&mut self, slot: u32, events: &mut Vec<Event>) -> Result<(), ReplayError> {
        let Some(channel) = self.channel(slot).filter(|channel| !channel.connected) else {
            return Ok(());
        };
        let Some(socket) = &channel.ends[Side::Client] else {
            return Ok(());
        };
        match socket.connected() {
            Ok(false) => {}
            Ok(true) => {
                channel.connected = true;
                events.push(Event::Connected(slot));
            }
            Err(reason) => return Err(broken(Side::Client, reason)),
        }
        Ok(())
    }

    fn read_socket(&mut self, slot: u32, end: Side, events: &mut Vec<Event>) -> Result<(), ReplayError> {
        let Some(channel) = self.slots.get_mut(slot as usize).and_then(Option::as_mut) else {
            return Ok(());
        };
        if end == Side::Client && !channel.connected {
            return Ok(());
        }
        while let Some(socket) = &channel.ends[end] {
            match socket.receive(&mut self.buffer) {
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

    fn accept(&mut self, events: &mut Vec<Event>) -> Result<(), ReplayError> {
        loop {
            let (stream, peer) = match self.ends.listener.accept() {
                Ok(accepted) => accepted,
                Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => return Ok(()),
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(system("accept a connection", &error)),
            };
            let Some(slot) = self.who_asked(peer.port()) else {
                // Not a connection of this replay.
                continue;
            };
            let socket = Socket::adopt(stream).map_err(|reason| broken(Side::Server, reason))?;
            self.poller.watch(socket.as_fd(), token(slot, Side::Server))?;
            if let Some(channel) = self.channel(slot) {
                channel.ends[Side::Server] = Some(socket);
                events.push(Event::Accepted(slot));
            }
        }
    }

    /// Finds an accepted connection by its port or, behind a relay, by the order of requests.
    fn who_asked(&mut self, port: u16) -> Option<u32> {
        let place = if self.ends.through_relay {
            (!self.asked.is_empty()).then_some(0)
        } else {
            self.asked.iter().position(|(asked, _)| *asked == port)
        };
        self.asked.remove(place?).map(|(_, slot)| slot)
    }

    pub(super) fn lacking(&self) -> Option<&'static str> {
        self.slots.iter().flatten().find_map(|channel| match channel {
            channel if channel.ends[Side::Client].is_none() => None,
            channel if !channel.connected => Some("the end of a handshake"),
            channel if !channel.is_accepted() => Some("a connection at the server"),
            channel if !channel.inbox[Side::Server].is_settled() => Some("bytes of a request"),
            channel if !channel.inbox[Side::Client].is_settled() => Some("bytes of a reply"),
            _ => None,
        })
    }
}

fn token(slot: u32, end: Side) -> u64 {
    1 + 2 * u64::from(slot) + end as u64
}

fn slot_and_end(token: u64) -> (u32, Side) {
    let number = token - 1;
    let end = if number.is_multiple_of(2) {
        Side::Client
    } else {
        Side::Server
    };
    ((number / 2) as u32, end)
}

fn broken(end: Side, reason: OsError) -> ReplayError {
    ReplayError::Connection {
        end: name_of(end),
        reason,
    }
}

fn system(operation: &'static str, error: &std::io::Error) -> ReplayError {
    ReplayError::System(LiveError::System {
        operation,
        reason: OsError::from_io_error(error),
    })
}

/// A pattern that explains itself in a capture.
fn filler() -> Vec<u8> {
    b"longwire filler "
        .iter()
        .copied()
        .cycle()
        .take(1 << 16)
        .collect()
}

const fn name_of(end: Side) -> &'static str {
    match end {
        Side::Client => "client",
        Side::Server => "server",
    }
}

const MAX_PREPARED_SOCKETS: usize = 200;

//! The kernel's sockets and clock.

use super::outside::{Happened, Outside};
use super::wires::broken;
use super::{ClientSocket, Ends, ReplayError};
use model::{PerSide, Side};
use std::collections::VecDeque;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};
use sys::StopToken;
use sys::error::{LiveError, OsError};
use sys::poller::{Poller, ReadyEvent, ReadyList};
use sys::socket::{Received, Sent, Socket};
use sys::wait::{PollFlags, until_ready};

pub(super) struct Sockets<'a> {
    ends: &'a Ends<'a>,
    poller: Poller,
    ready: ReadyList,
    slots: Vec<PerSide<Option<Socket>>>,
    asked: VecDeque<(u16, u32)>,
    pool: Vec<ClientSocket>,
    buffer: Vec<u8>,
    filler: Vec<u8>,
    began: Instant,
}

const LISTENER: u64 = 0;
const STOP: u64 = u64::MAX;

impl<'a> Sockets<'a> {
    pub(super) fn new(ends: &'a Ends<'a>, stop: &StopToken) -> Result<Self, ReplayError> {
        let poller = Poller::new()?;
        ends.listener
            .set_nonblocking(true)
            .map_err(|error| system("make a listener non-blocking", &error))?;
        poller.watch(ends.listener.as_fd(), LISTENER)?;
        stop.wake_poller(&poller, STOP)?;
        Ok(Self {
            ends,
            poller,
            ready: ReadyList::default(),
            slots: Vec::new(),
            asked: VecDeque::new(),
            pool: Vec::new(),
            buffer: vec![0; 1 << 18],
            filler: filler(),
            began: Instant::now(),
        })
    }

    fn put(&mut self, slot: u32, end: Side, socket: Socket) {
        let slot = slot as usize;
        if self.slots.len() <= slot {
            self.slots.resize_with(slot + 1, PerSide::default);
        }
        self.slots[slot][end] = Some(socket);
    }

    fn socket(&self, slot: u32, end: Side) -> Option<&Socket> {
        self.slots.get(slot as usize)?[end].as_ref()
    }

    fn accept(&mut self, happened: &mut Vec<Happened>) -> Result<(), ReplayError> {
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
            self.put(slot, Side::Server, socket);
            happened.push(Happened::Accepted(slot));
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
}

impl Outside for Sockets<'_> {
    fn now(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    fn stock(&mut self, sockets: usize) -> Result<(), ReplayError> {
        if !self.pool.is_empty() {
            return Ok(());
        }
        while self.pool.len() < sockets.min(MAX_PREPARED_SOCKETS) {
            let socket = (self.ends.open)()?;
            self.pool.push(socket);
        }
        Ok(())
    }

    fn connect(&mut self, slot: u32) -> Result<(), ReplayError> {
        let socket = match self.pool.pop() {
            Some(socket) => socket,
            None => (self.ends.open)()?,
        };
        let broken = |reason| broken(Side::Client, reason);
        socket.0.begin_to_connect(&self.ends.address).map_err(broken)?;
        let port = socket.0.local_port().map_err(broken)?;
        self.poller.watch(socket.0.as_fd(), token(slot, Side::Client))?;
        self.asked.push_back((port, slot));
        self.put(slot, Side::Client, socket.0);
        Ok(())
    }

    fn connected(&mut self, slot: u32) -> Result<bool, OsError> {
        self.socket(slot, Side::Client)
            .map_or(Ok(false), Socket::connected)
    }

    fn send(&mut self, slot: u32, from: Side, bytes: u64) -> Sent {
        let bytes = bytes.min(self.filler.len() as u64) as usize;
        self.socket(slot, from)
            .map_or(Sent::Bytes(0), |socket| socket.send(&self.filler[..bytes]))
    }

    fn receive(&mut self, slot: u32, at: Side) -> Received {
        match self.slots.get(slot as usize).map(|ends| &ends[at]) {
            Some(Some(socket)) => socket.receive(&mut self.buffer),
            _ => Received::Nothing,
        }
    }

    fn close(&mut self, slot: u32) {
        if let Some(ends) = self.slots.get_mut(slot as usize) {
            *ends = PerSide::default();
        }
    }

    fn wait(&mut self, longest: Duration, happened: &mut Vec<Happened>) -> Result<(), ReplayError> {
        let sleep = longest.saturating_sub(AWAKE);
        if !sleep.is_zero() {
            until_ready(self.poller.as_fd(), PollFlags::IN, sleep);
        }
        self.poller.wait(&mut self.ready, Some(Duration::ZERO));
        let ready: Vec<ReadyEvent> = self.ready.iter().collect();
        for event in ready {
            match event.token {
                LISTENER => {
                    self.accept(happened)?;
                    continue;
                }
                STOP => continue,
                _ => {}
            }
            let (slot, end) = slot_and_end(event.token);
            happened.push(Happened::Ready {
                slot,
                end,
                readable: event.readable(),
                writable: event.writable(),
            });
        }
        Ok(())
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

const MAX_PREPARED_SOCKETS: usize = 200;
/// Time spent spinning, about as long as the kernel takes to wake a thread.
const AWAKE: Duration = Duration::from_micros(50);

//! The kernel's sockets, timer and clock, and the thread that waits for them.

use super::Shaper;
use super::outside::{Call, Outside, Readiness};
use crate::connecting::{Connecting, Try};
use crate::connection::{UNKNOWN, endpoint};
use crate::counters::AtomicCounters;
use crate::worker::{Arrival, BELL, Mailbox, token};
use crate::{Lifecycle, Shared};
use model::{ConnectionId, Endpoint, Nanos, Observer, PerSide, Side, Timestamp};
use std::net::SocketAddr;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::Duration;
use sys::clock::{WallOffset, WallStamp};
use sys::error::LiveError;
use sys::poller::{Poller, ReadyEvent, ReadyList};
use sys::realtime::become_realtime;
use sys::resolve;
use sys::socket::{Received, Sent, Socket};
use sys::timer::Timer;

pub(crate) struct Sockets {
    shared: Arc<Shared>,
    mailbox: Arc<Mailbox>,
    poller: Poller,
    timer: Timer,
    /// The deadline, and whether the timer expires a little earlier.
    alarm: Option<Timestamp>,
    rests: bool,
    /// The thread has slept for this due time, so it now spins.
    rested_for: Option<Timestamp>,
    /// At the start of the round.
    wall: WallOffset,
    seats: Vec<Seat>,
}

enum Seat {
    Free,
    Client(Socket),
    Calling(Connecting),
    Both(PerSide<Socket>, SocketAddr),
}

impl Sockets {
    pub(crate) fn new(shared: Arc<Shared>, mailbox: Arc<Mailbox>) -> Result<Self, LiveError> {
        let (poller, timer) = (Poller::new()?, Timer::new()?);
        poller.register_waker(mailbox.waker(), BELL)?;
        poller.watch(timer.as_fd(), ALARM)?;
        Ok(Self {
            shared,
            mailbox,
            poller,
            timer,
            alarm: None,
            rests: false,
            rested_for: None,
            wall: WallOffset::now(),
            seats: Vec::new(),
        })
    }

    fn continues(&self) -> bool {
        match self.shared.lifecycle() {
            Lifecycle::Running => true,
            Lifecycle::Leaving => self.mailbox.load() > 0,
            Lifecycle::Ending => false,
        }
    }

    /// Sleeps on the timer until shortly before the due time, then spins.
    fn wait(&mut self, ready: &mut ReadyList, due: Option<Timestamp>, calling: bool) {
        let patience = calling.then_some(CALL_CHECK);
        let Some(due) = due else {
            return self.poller.wait(ready, patience);
        };
        let left = due.nanos_since(self.now());
        if left.is_zero() || self.rested_for == Some(due) {
            return self.poller.wait(ready, Some(Duration::ZERO));
        }
        if self.alarm != Some(due) {
            let rests = left >= REST;
            let sleep = if rests { left - AWAKE } else { left };
            self.timer.set(Some(sleep.into()));
            self.alarm = Some(due);
            self.rests = rests;
        }
        self.poller.wait(ready, patience);
    }

    fn alarmed(&mut self) {
        let due = self.alarm.take();
        self.rested_for = due.filter(|_| self.rests);
    }

    fn put(&mut self, slot: usize, seat: Seat) -> Seat {
        if self.seats.len() <= slot {
            self.seats.resize_with(slot + 1, || Seat::Free);
        }
        std::mem::replace(&mut self.seats[slot], seat)
    }

    fn socket(&self, slot: usize, side: Side) -> Option<&Socket> {
        match self.seats.get(slot) {
            Some(Seat::Both(sockets, _)) => Some(&sockets[side]),
            _ => None,
        }
    }

    fn call_another(&mut self, slot: usize, error: LiveError) -> Call {
        let Seat::Calling(connecting) = self.put(slot, Seat::Free) else {
            return Call::Waits(self.now());
        };
        let attempt = connecting.next(&self.shared, error);
        self.attempted(slot, attempt)
    }

    fn attempted(&mut self, slot: usize, attempt: Try) -> Call {
        let connecting = match attempt {
            Try::Next(connecting) => connecting,
            Try::GivenUp(client, error) => {
                self.put(slot, Seat::Client(client));
                return Call::Refused(error);
            }
        };
        let watched = self
            .poller
            .watch(connecting.server.as_fd(), token(slot, Side::Server));
        self.put(slot, Seat::Calling(connecting));
        match watched {
            Ok(()) => self.call_progress(slot),
            Err(error) => Call::Refused(error),
        }
    }
}

impl Outside for Sockets {
    fn now(&self) -> Timestamp {
        self.shared.clock.now()
    }

    fn timestamp(&self, stamp: WallStamp) -> Timestamp {
        self.shared.clock.to_timestamp(stamp, self.wall)
    }

    fn call(&mut self, slot: usize) -> Call {
        let Seat::Client(client) = self.put(slot, Seat::Free) else {
            return Call::Waits(self.now());
        };
        let attempt = Connecting::begin(client, &self.shared);
        self.attempted(slot, attempt)
    }

    fn call_progress(&mut self, slot: usize) -> Call {
        let Some(Seat::Calling(connecting)) = self.seats.get(slot) else {
            return Call::Waits(self.now());
        };
        match connecting.server.connected() {
            Ok(false) => Call::Waits(connecting.tried_at),
            Ok(true) => {
                if let Seat::Calling(connecting) = self.put(slot, Seat::Free) {
                    let sockets = PerSide::new(connecting.client, connecting.server);
                    self.put(slot, Seat::Both(sockets, connecting.address));
                }
                Call::Answered
            }
            Err(reason) => {
                let error = resolve::failed(&self.shared.target, connecting.address, reason);
                self.call_another(slot, error)
            }
        }
    }

    fn call_next(&mut self, slot: usize) -> Call {
        let Some(Seat::Calling(connecting)) = self.seats.get(slot) else {
            return Call::Waits(self.now());
        };
        let error = connecting.timed_out(&self.shared);
        self.call_another(slot, error)
    }

    fn watch_client(&mut self, slot: usize) -> Result<PerSide<Endpoint>, LiveError> {
        let Some(Seat::Both(sockets, server)) = self.seats.get(slot) else {
            return Ok(PerSide::splat(UNKNOWN));
        };
        let client = &sockets[Side::Client];
        self.poller.watch(client.as_fd(), token(slot, Side::Client))?;
        let client = client.peer().map_or(UNKNOWN, endpoint);
        Ok(PerSide::new(client, endpoint(*server)))
    }

    fn receive(&mut self, slot: usize, from: Side, buffer: &mut [u8]) -> Received {
        self.socket(slot, from)
            .map_or(Received::Nothing, |socket| socket.receive(buffer))
    }

    fn send(&mut self, slot: usize, to: Side, bytes: &[u8]) -> Sent {
        self.socket(slot, to)
            .map_or(Sent::Bytes(0), |socket| socket.send(bytes))
    }

    fn finish(&mut self, slot: usize, to: Side) {
        if let Some(socket) = self.socket(slot, to) {
            socket.finish();
        }
    }

    fn reset(&mut self, slot: usize) {
        match self.put(slot, Seat::Free) {
            Seat::Free => {}
            Seat::Client(client) => client.reset(),
            Seat::Calling(connecting) => connecting.client.reset(),
            Seat::Both(sockets, _) => sockets.into_iter().for_each(Socket::reset),
        }
    }

    fn close(&mut self, slot: usize) {
        self.put(slot, Seat::Free);
        self.mailbox.release();
    }

    fn server_rtt(&self, slot: usize) -> Option<Duration> {
        self.socket(slot, Side::Server)?.info()?.min_rtt
    }

    fn counters(&self) -> &AtomicCounters {
        &self.shared.counters
    }

    fn observe(&mut self) -> (ConnectionId, Box<dyn Observer + Send>) {
        let id = self.shared.next_id();
        (id, self.shared.factory.observe(id))
    }
}

impl Shaper<Sockets> {
    pub(crate) fn run(mut self) {
        become_realtime();
        let mut ready = ReadyList::default();
        let watermark = self.outside.shared.factory.watermark();
        while self.outside.continues() {
            let (due, calling) = (self.next_due(), self.is_calling());
            self.outside.wait(&mut ready, due, calling);
            watermark.hold(self.outside.now());
            self.outside.wall = WallOffset::now();
            let mut rung = false;
            for event in ready.iter() {
                match event.token {
                    BELL => rung = true,
                    ALARM => self.outside.alarmed(),
                    _ => self.socket_event(event),
                }
            }
            self.read_all();
            if rung {
                self.take_in();
            }
            self.settle();
            match self.shown_until() {
                Some(shown_until) => watermark.advance(shown_until),
                None => watermark.release(),
            }
        }
        self.close_all();
    }

    fn socket_event(&mut self, event: ReadyEvent) {
        let Ok(slot) = usize::try_from(event.token / 2) else {
            return;
        };
        let side = match event.token.is_multiple_of(2) {
            true => Side::Client,
            false => Side::Server,
        };
        let readiness = Readiness {
            readable: event.readable(),
            writable: event.writable(),
            ending: event.ending(),
        };
        self.ready(slot, side, readiness);
    }

    fn take_in(&mut self) {
        for arrival in self.outside.mailbox.take_arrivals() {
            match arrival {
                Arrival::Client(client, at) => {
                    let slot = self.knock(at);
                    self.outside.put(slot, Seat::Client(client));
                }
                // TLS is refused together with a link; nothing else makes pairs.
                Arrival::Ready(_) => self.outside.mailbox.release(),
            }
        }
    }
}

const ALARM: u64 = u64::MAX - 1;

/// A wake-up may take this long, so the thread spins this long before a due time.
const AWAKE: Nanos = Nanos::new(150_000);
/// Spins only after longer sleeps, so that a busy link does not keep a processor busy.
const REST: Nanos = Nanos::new(4 * AWAKE.get());

const CALL_CHECK: Duration = Duration::from_millis(100);

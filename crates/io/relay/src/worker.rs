//! An epoll loop over connections. Slots freed in a round are reused only in the next, so that an
//! event of the same round never reaches a new connection.

use super::connecting::{CONNECT_LIMIT, Connecting, Try};
use super::connection::{Connection, Fate, ReadyPair};
use super::counters::Batch;
use super::forwarded_direction::Round;
use super::journal::Journal;
use super::{Lifecycle, Shared};
use model::{Closing, Side, Timestamp};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use sys::clock::WallOffset;
use sys::error::LiveError;
use sys::poller::{Poller, ReadyEvent, ReadyList, Waker};
use sys::resolve;
use sys::socket::Socket;
use sys::spin::AdaptiveSpin;

#[derive(Debug)]
pub(super) enum Arrival {
    Client(Socket, Timestamp),
    Ready(Box<ReadyPair>),
}

#[derive(Debug)]
pub(super) struct Mailbox {
    waker: Waker,
    arrivals: Mutex<Vec<Arrival>>,
    /// Includes connections in the mailbox.
    load: AtomicUsize,
}

impl Mailbox {
    pub(super) fn new() -> Result<Self, LiveError> {
        Ok(Self {
            waker: Waker::new()?,
            arrivals: Mutex::default(),
            load: AtomicUsize::new(0),
        })
    }

    pub(super) fn load(&self) -> usize {
        self.load.load(Ordering::Relaxed)
    }

    pub(super) fn expect(&self) {
        self.load.fetch_add(1, Ordering::Relaxed);
    }

    pub(super) fn deliver(&self, arrival: Arrival) {
        self.arrivals
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(arrival);
        self.waker.wake();
    }

    pub(super) fn unexpect(&self) {
        self.load.fetch_sub(1, Ordering::Relaxed);
        self.waker.wake();
    }

    pub(super) fn wake(&self) {
        self.waker.wake();
    }

    pub(super) fn waker(&self) -> &Waker {
        &self.waker
    }

    pub(super) fn release(&self) {
        self.load.fetch_sub(1, Ordering::Relaxed);
    }

    pub(super) fn take_arrivals(&self) -> Vec<Arrival> {
        std::mem::take(&mut *self.arrivals.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

pub(super) struct Worker {
    shared: Arc<Shared>,
    mailbox: Arc<Mailbox>,
    poller: Poller,
    slots: Vec<Slot>,
    free: Vec<usize>,
    freed: Vec<usize>,
    connecting: usize,
    journal: Journal,
    batch: Batch,
    again: Vec<usize>,
    spin: AdaptiveSpin,
}

enum Slot {
    Free,
    Connecting(Box<Connecting>),
    Open(Box<Connection>),
}

impl Worker {
    pub(super) fn new(shared: Arc<Shared>, mailbox: Arc<Mailbox>) -> Result<Self, LiveError> {
        let poller = Poller::new()?;
        poller.register_waker(&mailbox.waker, BELL)?;
        Ok(Self {
            shared,
            mailbox,
            poller,
            slots: Vec::new(),
            free: Vec::new(),
            freed: Vec::new(),
            connecting: 0,
            journal: Journal::new(),
            batch: Batch::default(),
            again: Vec::new(),
            spin: AdaptiveSpin::default(),
        })
    }

    pub(super) fn run(mut self) {
        let mut ready = ReadyList::default();
        let watermark = self.shared.factory.watermark();
        while self.continues() {
            self.wait(&mut ready);
            watermark.hold(self.shared.clock.now());
            let offset = WallOffset::now();
            for slot in std::mem::take(&mut self.again) {
                self.with_open(slot, offset, |connection, round| {
                    connection.resume_both(slot, round)
                });
            }
            let mut rung = false;
            for event in ready.iter() {
                if event.token == BELL {
                    rung = true;
                } else {
                    self.event(event, offset);
                }
            }
            self.show_journal();
            self.shared.counters.add(&mut self.batch);
            if rung {
                self.take_in(offset);
            }
            if self.connecting > 0 {
                self.give_up_late(offset);
            }
            self.free.append(&mut self.freed);
            watermark.release();
        }
        self.close_all();
    }

    fn wait(&mut self, ready: &mut ReadyList) {
        let patience = self.patience();
        if self.mailbox.load() > FEW {
            // Other workers need the processor that polling would take.
            self.poller.wait(ready, patience);
        } else {
            self.spin.wait(&self.poller, ready, patience);
        }
    }

    fn continues(&self) -> bool {
        match self.shared.lifecycle() {
            Lifecycle::Running => true,
            Lifecycle::Leaving => self.mailbox.load() > 0,
            Lifecycle::Ending => false,
        }
    }

    fn patience(&self) -> Option<Duration> {
        if !self.again.is_empty() {
            Some(Duration::ZERO)
        } else {
            (self.connecting > 0).then_some(CONNECT_CHECK)
        }
    }

    fn event(&mut self, event: ReadyEvent, offset: WallOffset) {
        let Ok(slot) = usize::try_from(event.token / 2) else {
            return;
        };
        let side = if event.token.is_multiple_of(2) {
            Side::Client
        } else {
            Side::Server
        };
        match self.slots.get(slot) {
            Some(Slot::Open(_)) => {
                self.with_open(slot, offset, |connection, round| {
                    connection.ready(slot, side, event, round)
                });
            }
            Some(Slot::Connecting(_)) => {
                self.connect_progress(slot, offset);
                // An end that came with the connection is said only once.
                self.with_open(slot, offset, |connection, round| {
                    connection.ready(slot, side, event, round)
                });
            }
            Some(Slot::Free) | None => {}
        }
    }

    fn with_open(
        &mut self,
        slot: usize,
        offset: WallOffset,
        act: impl FnOnce(&mut Connection, &mut Round<'_>) -> Fate,
    ) {
        let Some(Slot::Open(connection)) = self.slots.get_mut(slot) else {
            return;
        };
        let (journal, batch) = (&mut self.journal, &mut self.batch);
        let mut round = Round {
            journal,
            batch,
            clock: self.shared.clock,
            offset,
        };
        match act(connection, &mut round) {
            Fate::Stays => {}
            Fate::Again => self.again.push(slot),
            Fate::Over(how) => {
                self.show_journal();
                self.close(slot, how);
            }
        }
    }

    fn show_journal(&mut self) {
        let slots = &mut self.slots;
        self.journal.show(|note, bytes| {
            if let Some(Slot::Open(connection)) = slots.get_mut(note.slot) {
                connection.observe(note.direction, note.at, note.sender_idle, bytes);
            }
        });
    }

    fn take_in(&mut self, offset: WallOffset) {
        for arrival in self.mailbox.take_arrivals() {
            let slot = self.free.pop().unwrap_or_else(|| {
                self.slots.push(Slot::Free);
                self.slots.len() - 1
            });
            match arrival {
                Arrival::Client(client, _) => {
                    self.connecting += 1;
                    self.attempted(slot, Connecting::begin(client, &self.shared), offset);
                }
                Arrival::Ready(pair) => {
                    match self
                        .poller
                        .watch(pair.server.socket().as_fd(), token(slot, Side::Server))
                    {
                        Ok(()) => self.open(slot, *pair, offset),
                        Err(error) => self.turn_away(slot, pair.client, error),
                    }
                }
            }
        }
    }

    fn attempted(&mut self, slot: usize, attempt: Try, offset: WallOffset) {
        let connecting = match attempt {
            Try::Next(connecting) => connecting,
            Try::GivenUp(client, error) => {
                self.connecting -= 1;
                return self.turn_away(slot, client, error);
            }
        };
        match self
            .poller
            .watch(connecting.server.as_fd(), token(slot, Side::Server))
        {
            Ok(()) => {
                self.put(slot, Slot::Connecting(Box::new(connecting)));
                self.connect_progress(slot, offset);
            }
            Err(error) => {
                self.connecting -= 1;
                self.turn_away(slot, connecting.client, error);
            }
        }
    }

    fn connect_progress(&mut self, slot: usize, offset: WallOffset) {
        let Some(Slot::Connecting(connecting)) = self.slots.get(slot) else {
            return;
        };
        match connecting.server.connected() {
            Ok(false) => {}
            Ok(true) => {
                if let Slot::Connecting(connecting) = self.put(slot, Slot::Free) {
                    self.connecting -= 1;
                    let pair = connecting.ready(&self.shared);
                    self.open(slot, pair, offset);
                }
            }
            Err(reason) => {
                let error = resolve::failed(&self.shared.target, connecting.address, reason);
                self.try_next(slot, error, offset);
            }
        }
    }

    fn try_next(&mut self, slot: usize, error: LiveError, offset: WallOffset) {
        if let Slot::Connecting(connecting) = self.put(slot, Slot::Free) {
            let attempt = connecting.next(&self.shared, error);
            self.attempted(slot, attempt, offset);
        }
    }

    fn give_up_late(&mut self, offset: WallOffset) {
        let now = self.shared.clock.now();
        for slot in 0..self.slots.len() {
            if let Some(Slot::Connecting(connecting)) = self.slots.get(slot)
                && now.since(connecting.tried_at) > CONNECT_LIMIT
            {
                let error = connecting.timed_out(&self.shared);
                self.try_next(slot, error, offset);
            }
        }
    }

    fn open(&mut self, slot: usize, pair: ReadyPair, offset: WallOffset) {
        if let Err(error) = self.poller.watch(pair.client.as_fd(), token(slot, Side::Client)) {
            return self.turn_away(slot, pair.client, error);
        }
        self.shared.counters.opened();
        let connection = Connection::open(pair, &self.shared);
        self.put(slot, Slot::Open(Box::new(connection)));
        self.with_open(slot, offset, |connection, round| {
            connection.resume_both(slot, round)
        });
        self.show_journal();
    }

    fn turn_away(&mut self, slot: usize, client: Socket, error: LiveError) {
        client.reset();
        self.shared.counters.failed(error);
        self.release(slot);
    }

    fn close(&mut self, slot: usize, how: Closing) {
        if let Slot::Open(connection) = self.put(slot, Slot::Free) {
            connection.close(how, self.shared.clock.now());
            self.shared.counters.closed();
            self.release(slot);
        }
    }

    fn release(&mut self, slot: usize) {
        self.put(slot, Slot::Free);
        self.freed.push(slot);
        self.mailbox.release();
    }

    fn put(&mut self, slot: usize, content: Slot) -> Slot {
        match self.slots.get_mut(slot) {
            Some(place) => std::mem::replace(place, content),
            None => Slot::Free,
        }
    }

    fn close_all(&mut self) {
        for slot in 0..self.slots.len() {
            self.close(slot, Closing::Unfinished);
        }
        self.shared.counters.add(&mut self.batch);
    }
}

pub(super) fn token(slot: usize, side: Side) -> u64 {
    let side = match side {
        Side::Client => 0,
        Side::Server => 1,
    };
    slot as u64 * 2 + side
}

pub(super) const BELL: u64 = u64::MAX;

/// With more connections a worker does not poll before it sleeps: on two processors polling cost 8
/// clients, four a worker, 4 to 8 % of their throughput. One client gains, two are unaffected; 3 to
/// 7 were not measured.
const FEW: usize = 1;
const CONNECT_CHECK: Duration = Duration::from_millis(100);

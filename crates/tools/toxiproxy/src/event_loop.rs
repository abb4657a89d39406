//! A proxy's thread, with its listening socket, connections and commands.
//!
//! A round waits for a socket, command or timer, executes commands, then moves the bytes of
//! affected connections.

use crate::connecting::Connecting;
use crate::connection::{Connection, Fate, Moment, PassedOn};
use crate::proxy::{Command, Mailbox, ProxyPlan};
use crate::toxics::Toxic;
use model::{PerSide, Side, Timestamp};
use std::net::{SocketAddr, TcpListener};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use sys::Clock;
use sys::clock::WallOffset;
use sys::error::LiveError;
use sys::poller::{Poller, ReadyEvent, ReadyList};
use sys::socket::Socket;
use sys::timer::Timer;

pub(crate) struct EventLoop {
    listener: TcpListener,
    own: SocketAddr,
    plan: ProxyPlan,
    mailbox: Arc<Mailbox>,
    poller: Poller,
    timer: Timer,
    clock: Clock,
    connecting: Connecting,
    /// A connection keeps its index; freed ones are reused from the next round on.
    slots: Vec<Slot>,
    free: Vec<usize>,
    freed: Vec<usize>,
    /// Seeds the draws of each connection.
    number: u64,
    buffer: Vec<u8>,
    /// Wait for this time ends with polling, since the thread has slept before.
    rested_for: Option<Timestamp>,
    /// Whether clients are waiting for a free descriptor.
    short_of_descriptors: bool,
    stopped: bool,
}

#[derive(Default)]
struct Slot {
    connection: Option<Connection>,
    /// Whether it needs work in this round.
    concerned: bool,
    wake: Option<Timestamp>,
    held_bytes: usize,
}

impl EventLoop {
    pub(crate) fn new(
        (listener, own): (TcpListener, SocketAddr),
        plan: ProxyPlan,
        mailbox: Arc<Mailbox>,
    ) -> Result<Self, LiveError> {
        let (poller, timer) = (Poller::new()?, Timer::new()?);
        poller.register_waker(mailbox.waker(), COMMANDS)?;
        poller.watch(timer.as_fd(), ALARM)?;
        poller.watch(listener.as_fd(), CLIENTS)?;
        Ok(Self {
            listener,
            own,
            plan,
            mailbox,
            poller,
            timer,
            clock: Clock::anchored_now(),
            connecting: Connecting::default(),
            slots: Vec::new(),
            free: Vec::new(),
            freed: Vec::new(),
            number: 0,
            buffer: vec![0; READ_LIMIT],
            rested_for: None,
            short_of_descriptors: false,
            stopped: false,
        })
    }

    pub(crate) fn run(mut self) {
        let mut ready = ReadyList::default();
        while !self.stopped {
            self.wait(&mut ready);
            let mut has_clients = std::mem::take(&mut self.short_of_descriptors);
            for event in ready.iter() {
                match event.token {
                    COMMANDS | ALARM => {}
                    CLIENTS => has_clients = true,
                    _ => self.process_event(event),
                }
            }
            self.obey();
            if has_clients {
                self.accept();
            }
            self.pump();
            self.free.append(&mut self.freed);
        }
        for slot in 0..self.slots.len() {
            self.end(slot, Fate::Close);
        }
    }

    /// Waits for a socket, a command or the next due time; sleeps until shortly before that, then
    /// polls.
    fn wait(&mut self, ready: &mut ReadyList) {
        let patience = self.short_of_descriptors.then_some(DESCRIPTOR_PAUSE);
        let Some(due) = self.slots.iter().filter_map(|slot| slot.wake).min() else {
            self.timer.set(None);
            return self.poller.wait(ready, patience);
        };
        let left = due.since(self.clock.now());
        if left.is_zero() || (self.rested_for == Some(due) && left <= AWAKE) {
            return self.poller.wait(ready, Some(Duration::ZERO));
        }
        let rests = left >= REST || self.rested_for == Some(due);
        self.rested_for = rests.then_some(due);
        self.timer.set(Some(match rests {
            true => left - AWAKE,
            false => left,
        }));
        self.poller.wait(ready, patience);
    }

    fn process_event(&mut self, event: ReadyEvent) {
        let (place, side) = place_of(event.token);
        let Some(slot) = self.slots.get_mut(place) else {
            return;
        };
        if let Some(connection) = &mut slot.connection {
            connection.ready(side, event.readable(), event.writable());
            slot.concerned = true;
        }
    }

    fn obey(&mut self) {
        for command in self.mailbox.take_commands() {
            match command {
                Command::Open(sockets) => self.open(sockets),
                Command::Unreachable => self.plan.common.counters.unreachable(),
                Command::Add(toxic) => {
                    self.concern(&toxic, |connection, now, toxic| {
                        connection.chain(toxic.direction).add(now, toxic);
                    });
                    self.plan.toxics.push(toxic);
                }
                Command::Change(toxic) => {
                    self.concern(&toxic, |connection, now, toxic| {
                        connection.chain(toxic.direction).change(now, toxic);
                    });
                    let old = self.plan.toxics.iter_mut().find(|old| old.name == toxic.name);
                    if let Some(old) = old {
                        *old = toxic;
                    }
                }
                Command::Remove(name) => self.remove(&name),
                Command::Confirm(sender) => {
                    self.pump();
                    // The receiver is gone after a timeout.
                    sender.send(()).ok();
                }
                Command::Stop => self.stopped = true,
            }
        }
    }

    fn remove(&mut self, name: &str) {
        if let Some(index) = self.plan.toxics.iter().position(|toxic| toxic.name == name) {
            let toxic = self.plan.toxics.remove(index);
            self.concern(&toxic, |connection, now, toxic| {
                connection.chain(toxic.direction).remove(now, &toxic.name);
            });
        }
    }

    /// Applies a change to every connection.
    fn concern(&mut self, toxic: &Toxic, change: impl Fn(&mut Connection, Timestamp, &Toxic)) {
        let now = self.clock.now();
        for slot in &mut self.slots {
            if let Some(connection) = &mut slot.connection {
                change(connection, now, toxic);
                slot.concerned = true;
            }
        }
    }

    fn accept(&mut self) {
        loop {
            match self.listener.accept() {
                Ok((stream, _)) => {
                    let upstream = self.plan.upstream.clone();
                    let begun = Socket::adopt(stream).is_ok_and(|client| {
                        self.connecting.begin(client, (upstream, self.own), &self.mailbox)
                    });
                    if !begun {
                        self.plan.common.counters.unreachable();
                    }
                }
                Err(error) => match error.kind() {
                    std::io::ErrorKind::WouldBlock => return,
                    std::io::ErrorKind::ConnectionAborted | std::io::ErrorKind::Interrupted => {}
                    _ => {
                        self.short_of_descriptors = true;
                        return;
                    }
                },
            }
        }
    }

    fn open(&mut self, sockets: PerSide<Socket>) {
        let place = self.free.pop().unwrap_or_else(|| {
            self.slots.push(Slot::default());
            self.slots.len() - 1
        });
        let watched = Side::ALL.into_iter().all(|side| {
            let watched = self.poller.watch(sockets[side].as_fd(), token_of(place, side));
            watched.is_ok()
        });
        if !watched {
            self.plan.common.counters.unreachable();
            return self.freed.push(place);
        }
        self.number += 1;
        let seed = self.plan.common.seed.wrapping_add(self.number);
        let connection = Connection::new(sockets, &self.plan.toxics, seed, self.clock.now());
        self.plan.common.counters.opened();
        if let Some(slot) = self.slots.get_mut(place) {
            slot.connection = Some(connection);
            slot.concerned = true;
        }
    }

    /// Moves the bytes of connections that are ready or due.
    fn pump(&mut self) {
        let held = &self.plan.common.held_bytes;
        let mut passed_on = PassedOn::default();
        let mut over = Vec::new();
        let mut now = Moment {
            at: self.clock.now(),
            clock: self.clock,
            offset: WallOffset::now(),
        };
        for (place, slot) in self.slots.iter_mut().enumerate() {
            now.at = self.clock.now();
            let concerned =
                std::mem::take(&mut slot.concerned) || slot.wake.is_some_and(|wake| wake <= now.at);
            let Some(connection) = slot.connection.as_mut().filter(|_| concerned) else {
                continue;
            };
            connection.set_generous(held.load(Ordering::Relaxed) < MAX_BUFFERED_BYTES);
            let fate = connection.pump(&now, &mut self.buffer, &mut passed_on);
            slot.wake = connection.next_wake();
            let holds = connection.held_bytes();
            held.fetch_add(holds, Ordering::Relaxed);
            held.fetch_sub(slot.held_bytes, Ordering::Relaxed);
            slot.held_bytes = holds;
            if fate != Fate::Open {
                over.push((place, fate));
            }
        }
        self.plan.common.counters.passed_on(passed_on);
        for (place, fate) in over {
            self.end(place, fate);
        }
    }

    fn end(&mut self, place: usize, fate: Fate) {
        let Some(slot) = self.slots.get_mut(place) else {
            return;
        };
        let ended = std::mem::take(slot);
        let Some(connection) = ended.connection else {
            return;
        };
        self.plan
            .common
            .held_bytes
            .fetch_sub(ended.held_bytes, Ordering::Relaxed);
        for socket in connection.sockets() {
            self.poller.forget(socket.as_fd());
        }
        match fate {
            Fate::Reset => connection.reset(),
            Fate::Open | Fate::Close => connection.close(&mut self.buffer),
        }
        self.freed.push(place);
    }
}

/// The poller's token of a connection's socket.
fn token_of(place: usize, side: Side) -> u64 {
    FIRST_CONNECTION + 2 * place as u64 + side as u64
}

fn place_of(token: u64) -> (usize, Side) {
    let number = token.saturating_sub(FIRST_CONNECTION);
    let place = usize::try_from(number / 2).unwrap_or(usize::MAX);
    match number.is_multiple_of(2) {
        true => (place, Side::Client),
        false => (place, Side::Server),
    }
}

const COMMANDS: u64 = 0;
const ALARM: u64 = 1;
const CLIENTS: u64 = 2;
const FIRST_CONNECTION: u64 = 4;

/// Polling time before a due time: covers the wake-up latency.
const AWAKE: Duration = Duration::from_micros(150);

/// Shorter waits only sleep: a busy proxy must not occupy a processor with polling.
const REST: Duration = Duration::from_micros(600);

const READ_LIMIT: usize = 64 * 1024;

/// Buffered bytes of all proxies before each connection is limited.
const MAX_BUFFERED_BYTES: usize = 256 * 1024 * 1024;

/// Pause before accepting again for lack of descriptors.
const DESCRIPTOR_PAUSE: Duration = Duration::from_millis(100);

//! A thread's event loop over its clients.
//!
//! 1. A client that is ready is read, and whatever it then has to send is sent at once: one read and one send a turn. The
//!    end of an operation is the moment right after the read that brought its last byte, and in a closed loop the begin of
//!    the next.
//! 2. A thread with one client that waits does so in the read itself: there is nobody else to look after.
//! 3. Sleeping clients, those who join later and intended begins of an open loop are times in a heap, for which a timer
//!    interrupts waiting.
//! 4. A client whose operation failed gets another connection after a pause, made beside the loop: the others go on.

use super::arrivals::Arrivals;
use super::connection::{Connection, broken};
use super::course::Course;
use super::machine::{Afterwards, Kind, Machine, Next, Opened, Site};
use super::slot::{Slot, State};
use super::tally::{Tally, own_rate};
use super::{LOOK_UP, PAUSE_AFTER_ERROR, processor};
use crate::error::{LiveError, OsError};
use crate::load::LoadError;
use crate::poller::{Bell, Poller, Ready, ReadyList};
use crate::socket::Received;
use crate::timer::Timer;
use model::Direction;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::Scope;
use std::time::{Duration, Instant};

/// A thread's part of a run.
pub(super) struct Driver<'scope, 'env, K: Kind> {
    kind: &'env K,
    course: &'env Course<'env>,
    scope: &'scope Scope<'scope, 'env>,
    slots: Vec<Slot<K::Machine<'env>>>,
    /// Clients that are not over.
    alive: usize,
    poller: Poller,
    timer: Timer,
    timer_set_to: Option<Instant>,
    wakes: BinaryHeap<Reverse<(Instant, usize)>>,
    arrivals: Option<Arrivals>,
    /// Open loop: clients that wait for something to do, the one that waits longest first.
    idle: VecDeque<usize>,
    bell: Arc<Bell>,
    /// No operation begins any more: whoever still connects may stop that.
    over: Arc<AtomicBool>,
    replaced: (Sender<Replacement>, Receiver<Replacement>),
    buffer: Box<[u8]>,
    request: Vec<u8>,
    tally: Tally,
    phase: Phase,
    /// When deadlines are looked at next.
    next_check: Instant,
    /// When no more operations begin.
    end: Option<Instant>,
}

/// What of a run is under way.
#[derive(Debug, Clone, PartialEq)]
enum Phase {
    /// Nothing counts; the first error is the thread's.
    WarmUp {
        failed: Option<LoadError>,
    },
    Counting,
}

/// A client that gets another connection.
struct Replacement {
    slot: usize,
    opened: Result<Option<Opened>, LoadError>,
}

/// What a thread begins with.
pub(super) struct Start<'env, K: Kind> {
    pub kind: &'env K,
    pub course: &'env Course<'env>,
    /// Its clients: their numbers and connections.
    pub clients: Vec<(u32, Option<Opened>)>,
}

impl<'scope, 'env, K: Kind> Driver<'scope, 'env, K> {
    /// Runs the thread's clients until the end of the run. Takes part in the course's start exactly once.
    pub fn run(start: Start<'env, K>, scope: &'scope Scope<'scope, 'env>) -> Result<Tally, LoadError> {
        let course = start.course;
        let mut driver = match Self::new(start, scope) {
            Ok(driver) => driver,
            Err(error) => {
                course.start(false);
                return Err(error);
            }
        };
        let warm = driver.warm_up();
        let started = course.start(warm.is_ok());
        let end = match (warm, started) {
            (Err(error), _) => Err(error),
            // The error is told by the thread that had it.
            (Ok(()), None) => Ok(()),
            (Ok(()), Some(started)) => {
                driver.count_from(started);
                Ok(())
            }
        };
        driver.over.store(true, Ordering::Relaxed);
        driver.leave();
        end.map(|()| driver.tally)
    }

    fn new(start: Start<'env, K>, scope: &'scope Scope<'scope, 'env>) -> Result<Self, LoadError> {
        let poller = Poller::new()?;
        let (timer, bell) = (Timer::new()?, Arc::new(Bell::new()?));
        poller.watch(timer.as_fd(), TIMER)?;
        poller.watch_bell(&bell, BELL)?;
        let (slots, connections): (Vec<_>, Vec<_>) = start
            .clients
            .into_iter()
            .map(|(number, opened)| {
                let ground = start.course.ground();
                let birth = ground.birth(number, &ground.control.stop);
                (Slot::new(number, start.kind.machine(&birth)), opened)
            })
            .unzip();
        let mut driver = Self {
            kind: start.kind,
            course: start.course,
            scope,
            alive: slots.len(),
            slots,
            poller,
            timer,
            timer_set_to: None,
            wakes: BinaryHeap::new(),
            arrivals: None,
            idle: VecDeque::new(),
            bell,
            over: Arc::default(),
            replaced: channel(),
            buffer: vec![0; BUFFER].into_boxed_slice(),
            request: Vec::with_capacity(4096),
            tally: Tally::new(start.course.control(), start.kind.scripts()),
            phase: Phase::WarmUp { failed: None },
            next_check: Instant::now(),
            end: None,
        };
        for (index, opened) in connections.into_iter().enumerate() {
            driver.adopt(index, opened)?;
        }
        Ok(driver)
    }

    /// Operations that do not count, each client its own.
    fn warm_up(&mut self) -> Result<(), LoadError> {
        if self.course.plan().warm_up > 0 {
            for slot in &mut self.slots {
                slot.left = Some(self.course.plan().warm_up);
            }
            let now = Instant::now();
            for index in 0..self.slots.len() {
                self.begin(index, now, Duration::ZERO);
            }
            self.turn_until_over();
        }
        self.course.check_stopped()?;
        match std::mem::replace(&mut self.phase, Phase::Counting) {
            Phase::WarmUp { failed: Some(error) } => Err(error),
            Phase::WarmUp { failed: None } | Phase::Counting => Ok(()),
        }
    }

    /// Operations that count.
    fn count_from(&mut self, started: Instant) {
        let plan = self.course.plan();
        let used = processor::of_this_thread();
        self.alive = self.slots.len();
        self.end = self.course.end();
        if let Some(rate) = plan.rate {
            let (own, all) = (self.slots.len(), plan.clients as usize);
            let number = self.slots.first().map_or(0, |slot| slot.number);
            let seed = plan.seed ^ (u64::from(number) << 32);
            self.arrivals = Some(Arrivals::new(rate, own, all, started, seed));
        }
        for index in 0..self.slots.len() {
            let slot = &mut self.slots[index];
            slot.left = plan.operations_per_client;
            slot.joined = self.course.joins(slot.number, started);
            slot.last = slot.joined;
            slot.state = State::Idle;
            if plan.ramp.is_zero() {
                self.free(index, started);
            } else {
                let joins = slot.joined;
                self.wake_at(index, joins);
            }
        }
        self.turn_until_over();
        if let (Some(arrivals), Some(end)) = (self.arrivals.take(), self.end) {
            self.tally.not_begun += arrivals.before(end);
        }
        if plan.rate.is_none() {
            let rates = self.slots.iter();
            self.tally.per_second = rates
                .map(|slot| own_rate(slot.count, slot.joined, slot.last))
                .sum();
        }
        self.tally.cpu = processor::of_this_thread().since(used);
    }
}

/// Turning.
impl<'scope, 'env, K: Kind> Driver<'scope, 'env, K> {
    fn turn_until_over(&mut self) {
        let mut ready = ReadyList::new();
        while self.alive > 0 && !self.course.control().is_stopped() {
            let mut came = true;
            if self.waits_in_read() {
                came = self.readable(0, false);
            } else {
                let longest = self.prepare_to_wait();
                self.poller.wait(&mut ready, longest);
                for event in ready.iter() {
                    self.event(event);
                }
            }
            if !self.wakes.is_empty() || self.arrivals.is_some() {
                self.be_on_time();
            }
            // Where one client has all the thread's attention, a look at the clock each turn would be one too many.
            if !came || self.slots.len() > 1 || !self.waits_in_read() {
                self.check_deadlines();
            }
        }
    }

    /// Whether the only client waits for a reply, in a read that is patient.
    fn waits_in_read(&self) -> bool {
        match self.slots.as_slice() {
            [only] => {
                only.state == State::Waiting
                    && only
                        .connection
                        .as_ref()
                        .is_some_and(|connection| connection.is_patient() && !connection.has_unsent())
            }
            _ => false,
        }
    }

    /// How long is waited before looking whether something took too long.
    fn patience(&self) -> Duration {
        LOOK_UP
            .min(self.course.plan().timeout)
            .max(Duration::from_millis(1))
    }

    /// Sets the timer to what is due next; gives how long to wait at most.
    fn prepare_to_wait(&mut self) -> Option<Duration> {
        let woken = self.wakes.peek().map(|Reverse((at, _))| *at);
        let arrival = self
            .arrivals
            .as_ref()
            .filter(|_| !self.idle.is_empty())
            .map(Arrivals::next);
        let due = woken.into_iter().chain(arrival).min();
        let now = due.map(|_| Instant::now());
        if let (Some(due), Some(now)) = (due, now) {
            if due <= now {
                return Some(Duration::ZERO);
            }
            if self.timer_set_to != Some(due) {
                self.timer.set(Some(due.duration_since(now)));
                self.timer_set_to = Some(due);
            }
        }
        Some(self.patience())
    }

    fn event(&mut self, event: Ready) {
        match event.token {
            TIMER => self.timer_set_to = None,
            BELL => self.take_replacements(),
            token => {
                let index = usize::try_from(token).unwrap_or(usize::MAX);
                let Some(slot) = self.slots.get_mut(index) else {
                    return;
                };
                if event.writable() && slot.connection.as_ref().is_some_and(Connection::has_unsent)
                    || slot.state == State::Connecting
                {
                    self.writable(index);
                }
                if event.readable() {
                    self.readable(index, event.ending());
                }
            }
        }
    }

    /// Begins what is due: clients whose time has come, intended operations for which a client is free.
    fn be_on_time(&mut self) {
        let now = Instant::now();
        while let Some(Reverse((at, index))) = self.wakes.peek().copied() {
            if at > now {
                break;
            }
            self.wakes.pop();
            if self.slots[index].wake != Some(at) {
                continue;
            }
            self.slots[index].wake = None;
            match self.slots[index].state {
                State::Idle => self.free(index, now),
                State::Sleeping => {
                    let next = self.slots[index].machine.wake(&mut self.request);
                    self.advance(index, next);
                }
                State::Pausing => self.replace(index),
                State::Connecting | State::Waiting | State::Ending | State::Opening | State::Over => {}
            }
        }
        if self.arrivals.is_some() {
            self.begin_arrivals(now);
        }
    }

    fn begin_arrivals(&mut self, now: Instant) {
        if self.end.is_some_and(|end| now >= end) {
            return self.release_idle();
        }
        while let Some(arrivals) = &mut self.arrivals {
            let intended = arrivals.next();
            if intended > now {
                return;
            }
            let Some(index) = self.idle.pop_front() else {
                return;
            };
            arrivals.advance();
            self.begin(index, now, now.duration_since(intended));
            if self.slots[index].state == State::Over {
                // No operations are left, for nobody.
                self.arrivals = None;
                self.release_idle();
            }
        }
    }

    /// Clients that wait for something to do have no more.
    fn release_idle(&mut self) {
        while let Some(index) = self.idle.pop_front() {
            self.over(index);
        }
    }

    fn check_deadlines(&mut self) {
        let now = Instant::now();
        if now < self.next_check {
            return;
        }
        self.next_check = now + self.patience() / 2;
        for index in 0..self.slots.len() {
            if self.slots[index].has_deadline() && now >= self.slots[index].deadline {
                self.too_late(index);
            }
        }
        if self.arrivals.is_none() && self.course.plan().rate.is_some() {
            self.release_idle();
        }
    }

    fn too_late(&mut self, index: usize) {
        let after = self.course.plan().timeout;
        match self.slots[index].state {
            State::Ending => self.hang_up(index),
            State::Connecting => {
                let error = match self.kind.site() {
                    Some(Site { address, server }) => LoadError::Connect(LiveError::ConnectTimedOut {
                        server: server.to_owned(),
                        address,
                        after,
                    }),
                    None => LoadError::TimedOut { after },
                };
                self.fail(index, &error);
            }
            State::Idle
            | State::Waiting
            | State::Sleeping
            | State::Pausing
            | State::Opening
            | State::Over => {
                self.fail(index, &LoadError::TimedOut { after });
            }
        }
    }
}

/// Operations.
impl<'scope, 'env, K: Kind> Driver<'scope, 'env, K> {
    /// A client has nothing to do: gives it the next operation, if there is one now.
    fn free(&mut self, index: usize, now: Instant) {
        let slot = &mut self.slots[index];
        slot.state = State::Idle;
        if slot.left == Some(0) {
            return self.over(index);
        }
        if self.phase == Phase::Counting && self.course.plan().rate.is_some() {
            self.idle.push_back(index);
            self.begin_arrivals(now);
        } else {
            self.begin(index, now, Duration::ZERO);
        }
    }

    /// Begins an operation `lag` later than intended, unless the client has none left.
    fn begin(&mut self, index: usize, now: Instant, lag: Duration) {
        let slot = &mut self.slots[index];
        let counting = self.phase == Phase::Counting;
        let in_time = !counting || self.end.is_none_or(|end| now < end);
        if !in_time || slot.left == Some(0) || (counting && !self.course.takes_one()) {
            return self.over(index);
        }
        slot.left = slot.left.map(|left| left - 1);
        slot.began = now;
        slot.lag = lag;
        slot.deadline = now
            .checked_add(self.course.plan().timeout)
            .unwrap_or(now + LONGEST);
        slot.waited = false;
        slot.reused = slot.connection.is_some();
        self.request.clear();
        let next = slot.machine.begin(&mut self.request);
        self.advance(index, next);
    }

    /// Does what the client's machine asks for next.
    fn advance(&mut self, index: usize, next: Result<Next, LoadError>) {
        match next {
            Ok(Next::Wait) => {}
            Ok(Next::Send) => self.send(index),
            Ok(Next::Sleep(pause)) => {
                let slot = &mut self.slots[index];
                slot.state = State::Sleeping;
                let now = Instant::now();
                self.wake_at(index, now.checked_add(pause).unwrap_or(now + LONGEST));
            }
            Ok(Next::Done) => self.done(index),
            Ok(Next::AskAgain) if self.slots[index].reused && self.kind.site().is_some() => {
                self.hang_up_quietly(index);
                let slot = &mut self.slots[index];
                slot.reused = false;
                self.request.clear();
                let next = slot.machine.begin(&mut self.request);
                self.advance(index, next);
            }
            Ok(Next::AskAgain) => self.fail(index, &LoadError::Closed),
            Err(error) => self.fail(index, &error),
        }
    }

    /// Sends the request, over a new connection when there is none.
    fn send(&mut self, index: usize) {
        let slot = &mut self.slots[index];
        if slot.connection.is_none()
            && let Err(error) = self.connect(index)
        {
            return self.fail(index, &error);
        }
        let slot = &mut self.slots[index];
        let Some(connection) = &mut slot.connection else {
            return;
        };
        slot.waited = true;
        if self.phase == Phase::Counting {
            self.tally.turns += 1;
            self.tally
                .passed(Direction::ClientToServer, self.request.len() as u64);
        }
        if let Err(error) = slot.machine.sending(&self.request) {
            return self.fail(index, &error);
        }
        if slot.state == State::Connecting && self.course.ground().watch.is_some() {
            // What is seen first of a connection is that it is open.
            connection.hold(&self.request);
            self.request.clear();
            return;
        }
        let sent = connection.send(&self.request);
        self.request.clear();
        match sent {
            // A connection that is not open yet takes nothing.
            Ok(()) if connection.has_unsent() && slot.state == State::Connecting => {}
            Ok(()) => {
                if slot.state == State::Connecting && self.slots.len() == 1 {
                    self.make_patient();
                }
                self.slots[index].state = State::Waiting;
            }
            Err(LoadError::Closed) if slot.reused => self.ended(index),
            Err(error) => {
                let error = self.connect_error(index, error);
                self.fail(index, &error);
            }
        }
    }

    fn connect(&mut self, index: usize) -> Result<(), LoadError> {
        let Some(site) = self.kind.site() else {
            return Err(LoadError::Closed);
        };
        let slot = &mut self.slots[index];
        slot.state = State::Connecting;
        slot.connecting = Instant::now();
        let begin = match self.course.ground().watch {
            Some(_) => Connection::begin_stamped,
            None => Connection::begin,
        };
        let connection = begin(&site.address).map_err(|reason| connect_failed(site, reason))?;
        self.poller.watch(connection.socket().as_fd(), index as u64)?;
        slot.machine.connected(None);
        slot.connection = Some(connection);
        if self.phase == Phase::Counting {
            // The handshake.
            self.tally.turns += 1;
        }
        Ok(())
    }

    /// There is room to send, or the connection is open now, or broken.
    fn writable(&mut self, index: usize) {
        let slot = &mut self.slots[index];
        let Some(connection) = &mut slot.connection else {
            return;
        };
        if slot.state == State::Connecting {
            match connection.socket().connected() {
                Ok(true) => {}
                Ok(false) => return,
                Err(reason) => {
                    let error = self.connect_error(index, LoadError::Broken { reason });
                    return self.fail(index, &error);
                }
            }
            if let Some(watch) = self.course.ground().watch {
                connection.watched_by(watch, self.course.next_id(), slot.connecting.elapsed());
            }
            slot.state = State::Waiting;
        }
        if let Err(error) = connection.flush() {
            self.fail(index, &error);
        }
    }

    /// Reads what is there; false when there was nothing.
    fn readable(&mut self, index: usize, ending: bool) -> bool {
        loop {
            let slot = &mut self.slots[index];
            let Some(connection) = &mut slot.connection else {
                return true;
            };
            let patient = connection.is_patient();
            match connection.receive(&mut self.buffer) {
                Received::Bytes { count, emptied, .. } => {
                    self.came(index, count);
                    // A patient read would wait for the next reply here, out of reach of whoever ends the run.
                    if patient || (emptied && !ending) {
                        return true;
                    }
                }
                Received::Nothing => return false,
                Received::End => {
                    self.ended(index);
                    return true;
                }
                Received::Broken(reason) => {
                    match broken(reason) {
                        LoadError::Closed => self.ended(index),
                        error => self.fail(index, &error),
                    }
                    return true;
                }
            }
        }
    }

    /// So many bytes came into the buffer.
    fn came(&mut self, index: usize, count: usize) {
        let slot = &mut self.slots[index];
        let bytes = self.buffer.get(..count).unwrap_or_default();
        if self.phase == Phase::Counting && slot.state != State::Idle {
            self.tally.passed(Direction::ServerToClient, count as u64);
        }
        let next = slot.machine.take(bytes, &mut self.request);
        match slot.state {
            State::Waiting => self.advance(index, next),
            State::Idle if next.is_err() => self.lose(index),
            // What nobody waits for is looked at and forgotten.
            State::Idle
            | State::Connecting
            | State::Sleeping
            | State::Ending
            | State::Pausing
            | State::Opening
            | State::Over => {}
        }
    }

    /// The server has closed the connection.
    fn ended(&mut self, index: usize) {
        let slot = &mut self.slots[index];
        match slot.state {
            State::Waiting => {
                let next = slot.machine.ended();
                if next == Ok(Next::Done) {
                    self.hang_up_quietly(index);
                }
                self.advance(index, next);
            }
            State::Ending => self.hang_up(index),
            State::Idle => self.lose(index),
            State::Connecting | State::Sleeping => self.fail(index, &LoadError::Closed),
            State::Pausing | State::Opening | State::Over => self.hang_up_quietly(index),
        }
    }

    fn done(&mut self, index: usize) {
        let now = Instant::now();
        let slot = &mut self.slots[index];
        if now >= slot.deadline {
            let after = self.course.plan().timeout;
            return self.fail(index, &LoadError::TimedOut { after });
        }
        if self.phase == Phase::Counting {
            slot.count += 1;
            slot.last = now;
            let took = now.duration_since(slot.began);
            let script = slot.machine.script();
            let lag = self.course.plan().rate.map(|_| slot.lag);
            self.tally.done(now, took, lag, script);
        }
        if slot.connection.is_some() && slot.machine.afterwards() == Afterwards::Ends {
            slot.state = State::Ending;
            slot.deadline = now + ENDING;
        } else if slot.waited {
            self.free(index, now);
        } else {
            // Nothing was asked of anybody: others get a turn before it begins again.
            slot.state = State::Idle;
            self.wake_at(index, now);
        }
    }

    /// The connection is of no more use; the client goes on.
    fn hang_up(&mut self, index: usize) {
        self.hang_up_quietly(index);
        self.free(index, Instant::now());
    }

    fn hang_up_quietly(&mut self, index: usize) {
        if let Some(connection) = self.slots[index].connection.take() {
            connection.close();
        }
    }

    /// The operation under way has failed.
    fn fail(&mut self, index: usize, error: &LoadError) {
        if let Some(connection) = self.slots[index].connection.take() {
            connection.close();
        }
        if let Phase::WarmUp { failed } = &mut self.phase {
            failed.get_or_insert_with(|| error.clone());
            self.alive = 0;
            return;
        }
        self.tally.failed(Instant::now(), error);
        self.course.control().end_on_fault(error);
        self.pause(index);
    }

    /// The connection was lost between operations.
    fn lose(&mut self, index: usize) {
        self.hang_up_quietly(index);
        if self.kind.site().is_none() {
            self.idle.retain(|idle| *idle != index);
            self.pause(index);
        }
    }

    fn wake_at(&mut self, index: usize, at: Instant) {
        self.slots[index].wake = Some(at);
        self.wakes.push(Reverse((at, index)));
    }

    fn pause(&mut self, index: usize) {
        self.slots[index].state = State::Pausing;
        self.wake_at(index, Instant::now() + PAUSE_AFTER_ERROR);
    }

    /// Gets the client another connection: beside the loop, where that takes waiting.
    fn replace(&mut self, index: usize) {
        let now = Instant::now();
        if self.end.is_some_and(|end| now >= end) {
            return self.over(index);
        }
        if self.kind.site().is_some() {
            return self.free(index, now);
        }
        let (kind, course) = (self.kind, self.course);
        let (over, bell, sender) = (self.over.clone(), self.bell.clone(), self.replaced.0.clone());
        let number = self.slots[index].number;
        let made = std::thread::Builder::new()
            .name(format!("client {number}"))
            .spawn_scoped(self.scope, move || {
                let birth = course.ground().birth_ahead(number, &over);
                let opened = kind.open(&birth, course.ground().watch, &|| course.next_id());
                // Nobody waits any more when the run is over.
                sender.send(Replacement { slot: index, opened }).ok();
                bell.ring();
            });
        self.slots[index].state = State::Opening;
        if made.is_err() {
            // As many threads as there may be are busy with it: later.
            self.pause(index);
        }
    }

    fn take_replacements(&mut self) {
        while let Ok(Replacement { slot: index, opened }) = self.replaced.1.try_recv() {
            match opened {
                Ok(opened) => {
                    if let Err(error) = self.adopt(index, opened) {
                        self.attempt_failed(index, &error);
                    } else {
                        self.free(index, Instant::now());
                    }
                }
                Err(LoadError::Stopped) => self.over(index),
                Err(error) => self.attempt_failed(index, &error),
            }
        }
    }

    /// Another connection could not be had: an operation that failed.
    fn attempt_failed(&mut self, index: usize, error: &LoadError) {
        let in_time = self.end.is_none_or(|end| Instant::now() < end);
        if in_time && self.course.takes_one() {
            self.tally.failed(Instant::now(), error);
            self.pause(index);
        } else {
            self.over(index);
        }
    }

    fn adopt(&mut self, index: usize, opened: Option<Opened>) -> Result<(), LoadError> {
        if let Some(Opened {
            connection, decoder, ..
        }) = opened
        {
            self.poller.watch(connection.socket().as_fd(), index as u64)?;
            let slot = &mut self.slots[index];
            slot.machine.connected(decoder);
            slot.connection = Some(connection);
            self.make_patient();
        }
        Ok(())
    }

    /// One client alone, whose connection lasts, may wait in its own read.
    fn make_patient(&mut self) {
        let patience = self.patience();
        if let [only] = self.slots.as_mut_slice()
            && only.machine.afterwards() == Afterwards::Kept
            && let Some(connection) = &mut only.connection
        {
            // Where it cannot be, the poller waits.
            connection.be_patient(patience).ok();
        }
    }

    fn over(&mut self, index: usize) {
        let slot = &mut self.slots[index];
        if slot.state != State::Over {
            slot.state = State::Over;
            self.alive = self.alive.saturating_sub(1);
        }
    }

    fn connect_error(&self, index: usize, error: LoadError) -> LoadError {
        match (error, self.kind.site(), self.slots[index].state) {
            (LoadError::Broken { reason }, Some(site), State::Connecting) => connect_failed(site, reason),
            (error, _, _) => error,
        }
    }

    /// Takes leave of the server, for all clients.
    fn leave(&mut self) {
        for slot in &mut self.slots {
            if let Some(connection) = slot.connection.take() {
                connection.leave(self.kind.farewell());
            }
        }
    }
}

fn connect_failed(site: Site<'_>, reason: OsError) -> LoadError {
    let (server, address) = (site.server.to_owned(), site.address);
    LoadError::Connect(match reason {
        OsError(libc::ECONNREFUSED) => LiveError::Refused { server, address },
        reason => LiveError::ConnectFailed {
            server,
            address,
            reason,
        },
    })
}

const TIMER: u64 = u64::MAX;
const BELL: u64 = u64::MAX - 1;

/// How long a server may take to close a connection that it was asked to close.
const ENDING: Duration = Duration::from_millis(100);
/// A time beyond what the clock can tell.
const LONGEST: Duration = Duration::from_secs(365 * 24 * 3600);
const BUFFER: usize = 64 * 1024;

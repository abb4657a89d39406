//! An operation of a client, from start to end.

use super::super::connection::{Connection, broken};
use super::super::machine::{Afterwards, Kind, Machine, Next, Site};
use super::super::slot::State;
use super::{Driver, MAX_DURATION, Phase};
use crate::Error;
use model::Direction;
use std::os::fd::AsFd;
use std::time::{Duration, Instant};
use sys::error::{LiveError, OsError};
use sys::socket::Received;

impl<K: Kind> Driver<'_, '_, K> {
    /// Starts the next operation of a free client, if one is due.
    pub(super) fn free(&mut self, index: usize, now: Instant) {
        let slot = &mut self.slots[index];
        slot.state = State::Idle;
        if slot.left == Some(0) {
            return self.over(index);
        }
        if self.phase == Phase::Counting && self.shared.plan().rate.is_some() {
            self.idle.push_back(index);
            self.begin_arrivals(now);
        } else {
            self.begin(index, now, Duration::ZERO);
        }
    }

    pub(super) fn begin(&mut self, index: usize, now: Instant, lag: Duration) {
        let slot = &mut self.slots[index];
        let counting = self.phase == Phase::Counting;
        let in_time = !counting || self.end.is_none_or(|end| now < end);
        if !in_time || slot.left == Some(0) || (counting && !self.shared.takes_one()) {
            return self.over(index);
        }
        slot.left = slot.left.map(|left| left - 1);
        slot.began = now;
        slot.lag = lag;
        slot.deadline = now
            .checked_add(self.shared.plan().timeout)
            .unwrap_or(now + MAX_DURATION);
        slot.waited = false;
        slot.reused = slot.connection.is_some();
        self.request.clear();
        if let Some(watch) = self.shared.context().watch
            && let Some(began) = watch.began
        {
            began(watch.clock.now());
        }
        let next = slot.machine.begin(&mut self.request);
        self.advance(index, next);
    }

    pub(super) fn advance(&mut self, index: usize, next: Result<Next, Error>) {
        match next {
            Ok(Next::Wait) => {}
            Ok(Next::Send) => self.send(index),
            Ok(Next::Sleep(pause)) => {
                let slot = &mut self.slots[index];
                slot.state = State::Sleeping;
                let now = Instant::now();
                self.wake_at(index, now.checked_add(pause).unwrap_or(now + MAX_DURATION));
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
            Ok(Next::AskAgain) => self.fail(index, &Error::Closed),
            Err(error) => self.fail(index, &error),
        }
    }

    pub(super) fn send(&mut self, index: usize) {
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
        let sending = slot.machine.sending(&mut self.request);
        if self.phase == Phase::Counting {
            self.sums.turns += 1;
            self.sums
                .passed(Direction::ClientToServer, self.request.len() as u64);
        }
        if let Err(error) = sending {
            return self.fail(index, &error);
        }
        if slot.state == State::Connecting && self.shared.context().watch.is_some() {
            // The first event of a connection is that it is open.
            connection.buffer_reply(&self.request);
            self.request.clear();
            return;
        }
        if let Some(completions) = self.completions.as_mut().filter(|all| all.has(index)) {
            completions.send(index, &self.request);
            self.request.clear();
            slot.state = State::Waiting;
            return;
        }
        let sent = connection.send(&self.request);
        self.request.clear();
        match sent {
            // A connection that is not open yet accepts no bytes.
            Ok(()) if connection.has_unsent() && slot.state == State::Connecting => {}
            Ok(()) => {
                let opened = slot.state == State::Connecting;
                slot.state = State::Waiting;
                if opened {
                    self.let_one_block();
                    self.complete_by_ring(index);
                }
            }
            Err(Error::Closed) if slot.reused => self.ended(index),
            Err(error) => {
                let error = self.connect_error(index, error);
                self.fail(index, &error);
            }
        }
    }

    pub(super) fn connect(&mut self, index: usize) -> Result<(), Error> {
        let Some(site) = self.kind.site() else {
            return Err(Error::Closed);
        };
        let slot = &mut self.slots[index];
        slot.state = State::Connecting;
        slot.connecting = Instant::now();
        let begin = match self.shared.context().watch {
            Some(_) => Connection::begin_stamped,
            None => Connection::begin,
        };
        let connection = begin(&site.address).map_err(|reason| connect_failed(site, reason))?;
        self.poller.watch(connection.socket().as_fd(), index as u64)?;
        slot.machine.connected(None);
        slot.connection = Some(connection);
        if self.phase == Phase::Counting {
            // The handshake.
            self.sums.turns += 1;
        }
        Ok(())
    }

    /// It is open, ready for more, or broken.
    pub(super) fn writable(&mut self, index: usize) {
        let slot = &mut self.slots[index];
        let Some(connection) = &mut slot.connection else {
            return;
        };
        if slot.state == State::Connecting {
            match connection.socket().connected() {
                Ok(true) => {}
                Ok(false) => return,
                Err(reason) => {
                    let error = self.connect_error(index, Error::Broken { reason });
                    return self.fail(index, &error);
                }
            }
            if let Some(watch) = self.shared.context().watch {
                connection.watched_by(watch, self.shared.next_id(), slot.connecting.elapsed());
            }
            slot.state = State::Waiting;
        }
        match connection.flush() {
            Ok(()) => self.complete_by_ring(index),
            Err(error) => self.fail(index, &error),
        }
    }

    pub(super) fn readable(&mut self, index: usize, ending: bool) -> bool {
        let mut looks = 0;
        loop {
            let slot = &mut self.slots[index];
            let Some(connection) = &mut slot.connection else {
                return true;
            };
            let blocks = connection.blocks();
            let received = connection.receive(&mut self.buffer);
            if blocks
                && matches!(received, Received::End | Received::Broken(_))
                && self.shared.control().is_stopped()
            {
                return true;
            }
            match received {
                Received::Bytes { count, emptied, .. } => {
                    if looks > 0 {
                        self.read_heuristic.paid();
                    }
                    self.came(index, count);
                    // A blocking read would wait for the next reply here, and could not be
                    // interrupted at the end of the run.
                    if blocks {
                        return true;
                    }
                    if emptied && !ending {
                        let waits = self.slots[index].state == State::Waiting;
                        if !waits || looks == MAX_POLLED_REPLIES || !self.read_heuristic.looks() {
                            return true;
                        }
                        looks += 1;
                    }
                }
                Received::Nothing => return looks > 0,
                Received::End => {
                    self.ended(index);
                    return true;
                }
                Received::Broken(reason) => {
                    self.broke(index, reason);
                    return true;
                }
            }
        }
    }

    pub(super) fn broke(&mut self, index: usize, reason: OsError) {
        match broken(reason) {
            Error::Closed => self.ended(index),
            error => self.fail(index, &error),
        }
    }

    pub(super) fn came(&mut self, index: usize, count: usize) {
        let slot = &mut self.slots[index];
        let bytes = self.buffer.get(..count).unwrap_or_default();
        if self.phase == Phase::Counting && slot.state != State::Idle {
            self.sums.passed(Direction::ServerToClient, count as u64);
        }
        let next = slot.machine.process_bytes(bytes, &mut self.request);
        match slot.state {
            State::Waiting => self.advance(index, next),
            State::Idle if next.is_err() => self.drop_connection(index),
            // Bytes outside an operation are decoded and discarded.
            State::Idle
            | State::Connecting
            | State::Sleeping
            | State::Ending
            | State::Pausing
            | State::Opening
            | State::Over => {}
        }
    }

    pub(super) fn ended(&mut self, index: usize) {
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
            State::Idle => self.drop_connection(index),
            State::Connecting | State::Sleeping => self.fail(index, &Error::Closed),
            State::Pausing | State::Opening | State::Over => self.hang_up_quietly(index),
        }
    }

    pub(super) fn done(&mut self, index: usize) {
        let now = Instant::now();
        let slot = &mut self.slots[index];
        if now >= slot.deadline {
            let after = self.shared.plan().timeout;
            return self.fail(index, &Error::TimedOut { after });
        }
        if self.phase == Phase::Counting {
            slot.count += 1;
            slot.last = now;
            let took = now.duration_since(slot.began);
            let script = slot.machine.script();
            let lag = self.shared.plan().rate.map(|_| slot.lag);
            self.sums.done(now, took, lag, script);
        }
        if slot.connection.is_some() && slot.machine.afterwards() == Afterwards::Ends {
            slot.state = State::Ending;
            slot.deadline = now + ENDING;
            self.next_check = self.next_check.min(slot.deadline);
        } else if slot.waited {
            self.free(index, now);
        } else {
            // No request was sent: other clients are served before the next attempt.
            slot.state = State::Idle;
            self.wake_at(index, now);
        }
    }

    pub(super) fn hang_up(&mut self, index: usize) {
        self.hang_up_quietly(index);
        self.free(index, Instant::now());
    }

    pub(super) fn hang_up_quietly(&mut self, index: usize) {
        if let Some(completions) = &mut self.completions {
            completions.forget(index);
        }
        if let Some(connection) = self.slots[index].connection.take() {
            connection.close();
        }
    }

    pub(super) fn fail(&mut self, index: usize, error: &Error) {
        self.hang_up_quietly(index);
        if let Phase::WarmUp { failed } = &mut self.phase {
            failed.get_or_insert_with(|| error.clone());
            self.alive = 0;
            return;
        }
        self.sums.failed(Instant::now(), error);
        self.shared.control().end_on_fault(error);
        self.pause(index);
    }

    pub(super) fn over(&mut self, index: usize) {
        let slot = &mut self.slots[index];
        if slot.state != State::Over {
            slot.state = State::Over;
            self.alive = self.alive.saturating_sub(1);
        }
    }

    pub(super) fn connect_error(&self, index: usize, error: Error) -> Error {
        match (error, self.kind.site(), self.slots[index].state) {
            (Error::Broken { reason }, Some(site), State::Connecting) => connect_failed(site, reason),
            (error, _, _) => error,
        }
    }

    pub(super) fn leave(&mut self) {
        self.completions = None;
        for slot in &mut self.slots {
            if let Some(connection) = slot.connection.take() {
                connection.leave(self.kind.farewell());
            }
        }
    }
}

fn connect_failed(site: Site<'_>, reason: OsError) -> Error {
    let (server, address) = (site.server.to_owned(), site.address);
    Error::Connect(match reason {
        OsError(libc::ECONNREFUSED) => LiveError::Refused { server, address },
        reason => LiveError::ConnectFailed {
            server,
            address,
            reason,
        },
    })
}

/// Replies of one client read without waiting, before others are served.
const MAX_POLLED_REPLIES: u32 = 16;

/// Timeout for the server to close a connection on request.
const ENDING: Duration = Duration::from_millis(100);

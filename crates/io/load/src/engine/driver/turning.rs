//! Waits for events and handles due work.

use super::super::READ_TIMEOUT;
use super::super::connection::Connection;
use super::super::machine::{Kind, Machine, Site};
use super::super::slot::State;
use super::{BELL, Driver, MAX_DURATION, TIMER};
use crate::Error;
use std::cmp::Reverse;
use std::time::{Duration, Instant};
use sys::error::LiveError;
use sys::poller::{ReadyEvent, ReadyList};

impl<K: Kind> Driver<'_, '_, K> {
    pub(super) fn turn_until_over(&mut self) {
        let mut ready = ReadyList::default();
        while self.alive > 0 && !self.shared.control().is_stopped() {
            let mut came = true;
            if self.waits_in_read() {
                came = self.readable(0, false);
            } else {
                let longest = self.prepare_to_wait();
                if self.completions.is_some() {
                    self.wait_for_completions(longest, &mut ready);
                } else {
                    self.poll(longest, &mut ready);
                }
            }
            if !self.wakes.is_empty() || self.arrivals.is_some() {
                self.be_on_time();
            }
            // With a single client, reading the clock on each round trip would cost too much.
            if !came || self.slots.len() > 1 || !self.waits_in_read() {
                self.check_deadlines();
            }
        }
    }

    pub(super) fn poll(&mut self, longest: Duration, ready: &mut ReadyList) {
        self.poller.wait(ready, Some(longest));
        for event in ready.iter() {
            self.event(event);
        }
    }

    /// Whether the only client waits for a reply in a blocking read.
    pub(super) fn waits_in_read(&self) -> bool {
        match self.slots.as_slice() {
            [only] => {
                only.state == State::Waiting
                    && only
                        .connection
                        .as_ref()
                        .is_some_and(|connection| connection.blocks() && !connection.has_unsent())
            }
            _ => false,
        }
    }

    pub(super) fn read_timeout(&self) -> Duration {
        READ_TIMEOUT
            .min(self.shared.plan().timeout)
            .max(Duration::from_millis(1))
    }

    /// Sets the timer to the next due time; returns the maximum wait.
    pub(super) fn prepare_to_wait(&mut self) -> Duration {
        let woken = self.wakes.peek().map(|Reverse((at, _))| *at);
        let arrival = self
            .arrivals
            .as_ref()
            .filter(|_| !self.idle.is_empty())
            .map(|arrivals| self.end.map_or(arrivals.next(), |end| end.min(arrivals.next())));
        let due = woken.into_iter().chain(arrival).min();
        let now = due.map(|_| Instant::now());
        if let (Some(due), Some(now)) = (due, now) {
            if due <= now {
                return Duration::ZERO;
            }
            if self.timer_set_to != Some(due) {
                self.timer.set(Some(due.duration_since(now)));
                self.timer_set_to = Some(due);
            }
        }
        self.until_check
    }

    pub(super) fn event(&mut self, event: ReadyEvent) {
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
                let by_ring = self.completions.as_ref().is_some_and(|all| all.has(index));
                if event.readable() && !by_ring {
                    self.readable(index, event.ending());
                }
            }
        }
    }

    pub(super) fn be_on_time(&mut self) {
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

    pub(super) fn begin_arrivals(&mut self, now: Instant) {
        if self.arrivals.is_none() || self.end.is_some_and(|end| now >= end) {
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
                // No client has operations left.
                self.arrivals = None;
                self.release_idle();
            }
        }
    }

    pub(super) fn release_idle(&mut self) {
        while let Some(index) = self.idle.pop_front() {
            self.over(index);
        }
    }

    pub(super) fn check_deadlines(&mut self) {
        let now = Instant::now();
        if now >= self.next_check {
            self.end_late(now);
        }
        self.until_check = self.next_check.saturating_duration_since(now);
    }

    fn end_late(&mut self, now: Instant) {
        // Operations that begin later have later deadlines.
        self.next_check = now
            .checked_add(self.shared.plan().timeout)
            .unwrap_or(now + MAX_DURATION);
        for index in 0..self.slots.len() {
            if self.slots[index].has_deadline() && now >= self.slots[index].deadline {
                self.too_late(index);
            }
            if self.slots[index].has_deadline() {
                self.next_check = self.next_check.min(self.slots[index].deadline);
            }
        }
        // Many deadlines are checked at once.
        self.next_check = self.next_check.max(now + MIN_CHECK);
    }

    pub(super) fn too_late(&mut self, index: usize) {
        let after = self.shared.plan().timeout;
        match self.slots[index].state {
            State::Ending => self.hang_up(index),
            State::Connecting => {
                let error = match self.kind.site() {
                    Some(Site { address, server }) => Error::Connect(LiveError::ConnectTimedOut {
                        server: server.to_owned(),
                        address,
                        after,
                    }),
                    None => Error::TimedOut { after },
                };
                self.fail(index, &error);
            }
            State::Idle
            | State::Waiting
            | State::Sleeping
            | State::Pausing
            | State::Opening
            | State::Over => {
                self.fail(index, &Error::TimedOut { after });
            }
        }
    }
}

const MIN_CHECK: Duration = Duration::from_millis(1);

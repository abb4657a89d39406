//! Replaces a client's connection after a failure or loss.

use super::super::PAUSE_AFTER_ERROR;
use super::super::machine::{Afterwards, Kind, Machine, Opened};
use super::super::slot::State;
use super::{Driver, Replacement};
use crate::Error;
use std::cmp::Reverse;
use std::os::fd::AsFd;
use std::time::Instant;

impl<'scope, 'env, K: Kind> Driver<'scope, 'env, K> {
    pub(super) fn drop_connection(&mut self, index: usize) {
        self.hang_up_quietly(index);
        if self.kind.site().is_none() {
            self.idle.retain(|idle| *idle != index);
            self.pause(index);
        }
    }

    pub(super) fn wake_at(&mut self, index: usize, at: Instant) {
        self.slots[index].wake = Some(at);
        self.wakes.push(Reverse((at, index)));
    }

    pub(super) fn pause(&mut self, index: usize) {
        self.slots[index].state = State::Pausing;
        self.wake_at(index, Instant::now() + PAUSE_AFTER_ERROR);
    }

    /// Works outside the loop if that blocks.
    pub(super) fn replace(&mut self, index: usize) {
        let now = Instant::now();
        if self.end.is_some_and(|end| now >= end) {
            return self.over(index);
        }
        if self.kind.site().is_some() {
            return self.free(index, now);
        }
        let (kind, shared) = (self.kind, self.shared);
        let (over, waker, sender) = (self.over.clone(), self.waker.clone(), self.replaced.0.clone());
        let number = self.slots[index].number;
        let made = std::thread::Builder::new()
            .name(format!("client {number}"))
            .spawn_scoped(self.scope, move || {
                let client_spec = shared.context().birth_ahead(number, &over);
                let opened = kind.open(&client_spec, shared.context().watch, &|| shared.next_id());
                // After the end of the run there is no receiver.
                sender.send(Replacement { slot: index, opened }).ok();
                waker.wake();
            });
        self.slots[index].state = State::Opening;
        if made.is_err() {
            // All threads for this are busy: later.
            self.pause(index);
        }
    }

    pub(super) fn take_replacements(&mut self) {
        while let Ok(Replacement { slot: index, opened }) = self.replaced.1.try_recv() {
            match opened {
                Ok(opened) => {
                    if let Err(error) = self.adopt(index, opened) {
                        self.attempt_failed(index, &error);
                    } else {
                        self.free(index, Instant::now());
                    }
                }
                Err(Error::Stopped) => self.over(index),
                Err(error) => self.attempt_failed(index, &error),
            }
        }
    }

    /// A failed attempt to connect counts as a failed operation.
    pub(super) fn attempt_failed(&mut self, index: usize, error: &Error) {
        let in_time = self.end.is_none_or(|end| Instant::now() < end);
        if in_time && self.shared.takes_one() {
            self.sums.failed(Instant::now(), error);
            self.pause(index);
        } else {
            self.over(index);
        }
    }

    pub(super) fn adopt(&mut self, index: usize, opened: Option<Opened>) -> Result<(), Error> {
        if let Some(Opened {
            connection, decoder, ..
        }) = opened
        {
            self.poller.watch(connection.socket().as_fd(), index as u64)?;
            let slot = &mut self.slots[index];
            slot.machine.connected(decoder);
            slot.connection = Some(connection);
            self.let_one_block();
            self.complete_by_ring(index);
        }
        Ok(())
    }

    /// A single client with a persistent connection may block in its read.
    pub(super) fn let_one_block(&mut self) {
        let longest = self.read_timeout();
        let reads = &self.shared.control().blocking_reads;
        if let [only] = self.slots.as_mut_slice()
            && only.machine.afterwards() == Afterwards::Kept
            && let Some(connection) = &mut only.connection
        {
            // Otherwise the poller waits.
            connection.block(longest, reads).ok();
        }
    }
}

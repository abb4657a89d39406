//! An outside in memory: bytes arrive at once, and time passes only while the replay waits.

use super::ReplayError;
use super::outside::{Happened, Outside};
use model::Side;
use std::collections::BTreeMap;
use std::time::Duration;
use sys::error::OsError;
use sys::socket::{Received, Sent};

#[derive(Default)]
pub(super) struct Memory {
    now: u64,
    happened: Vec<Happened>,
    /// Bytes that an end of a connection has not read.
    unread: BTreeMap<(u32, Side), u64>,
}

impl Memory {
    fn ready(&mut self, slot: u32, end: Side) {
        self.happened.push(Happened::Ready {
            slot,
            end,
            readable: true,
            writable: true,
        });
    }
}

impl Outside for Memory {
    fn now(&self) -> u64 {
        self.now
    }

    fn stock(&mut self, _: usize) -> Result<(), ReplayError> {
        Ok(())
    }

    fn connect(&mut self, slot: u32) -> Result<(), ReplayError> {
        self.happened.push(Happened::Accepted(slot));
        self.ready(slot, Side::Client);
        Ok(())
    }

    fn connected(&mut self, _: u32) -> Result<bool, OsError> {
        Ok(true)
    }

    fn send(&mut self, slot: u32, from: Side, bytes: u64) -> Sent {
        let to = from.reverse();
        *self.unread.entry((slot, to)).or_default() += bytes;
        self.ready(slot, to);
        Sent::Bytes(bytes as usize)
    }

    fn receive(&mut self, slot: u32, at: Side) -> Received {
        match self.unread.remove(&(slot, at)) {
            Some(count) => Received::Bytes {
                count: count as usize,
                emptied: true,
                stamp: None,
            },
            None => Received::Nothing,
        }
    }

    fn close(&mut self, _: u32) {}

    fn wait(&mut self, longest: Duration, happened: &mut Vec<Happened>) -> Result<(), ReplayError> {
        if self.happened.is_empty() {
            self.now += longest.as_nanos() as u64;
        }
        happened.append(&mut self.happened);
        Ok(())
    }
}

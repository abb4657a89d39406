//! One direction of a link: a chain of impairments.

use crate::LinkDescription;
use crate::impairments::{DropCause, Impairment, for_direction};
use model::{BitRate, Direction, Timestamp};
use std::time::Duration;

/// Computes packet arrivals in one direction of a link, shared by its connections. Call
/// [`Pipe::accept`] for each packet in order of time.
#[derive(Debug, Clone)]
pub struct Pipe {
    chain: Vec<Impairment>,
}

/// Fate of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PacketOutcome {
    /// It arrives at this time.
    Arrives(Timestamp),
    /// It is dropped for this reason.
    Dropped(DropCause),
}

impl Pipe {
    /// An idle pipe for one direction of `link`.
    pub fn new(link: &LinkDescription, direction: Direction) -> Self {
        Self {
            chain: for_direction(link, direction),
        }
    }

    /// Accepts a packet of `wire_bytes` at `at`; times must not decrease.
    pub fn accept(&mut self, at: Timestamp, wire_bytes: u32) -> PacketOutcome {
        let mut time = at;
        for impairment in &mut self.chain {
            match impairment.pass(time, wire_bytes) {
                Ok(left) => time = left,
                Err(cause) => return PacketOutcome::Dropped(cause),
            }
        }
        PacketOutcome::Arrives(time)
    }

    /// Changes the rate of a pipe that has one, without a burst, for packets from now on.
    pub fn set_rate(&mut self, rate: BitRate) {
        for impairment in &mut self.chain {
            match impairment {
                Impairment::Rate(bucket) => bucket.set_rate(rate),
                Impairment::Outages(_) | Impairment::Loss(_) | Impairment::Delay(_) => {}
            }
        }
    }

    /// Bytes not yet serialised at `at`, rounded up; zero without a rate.
    pub fn waiting_bytes(&self, at: Timestamp) -> u64 {
        let waiting = self.chain.iter().map(|impairment| match impairment {
            Impairment::Rate(bucket) => bucket.waiting_bytes(at),
            Impairment::Outages(_) | Impairment::Loss(_) | Impairment::Delay(_) => 0,
        });
        waiting.sum()
    }

    /// When the last accepted packet is serialised; zero without a rate.
    pub(crate) fn serialised_at(&self) -> Timestamp {
        let ends = self.chain.iter().map(|impairment| match impairment {
            Impairment::Rate(bucket) => bucket.free_at(),
            Impairment::Outages(_) | Impairment::Loss(_) | Impairment::Delay(_) => Timestamp::default(),
        });
        ends.max().unwrap_or_default()
    }

    /// Travel time of a minimal packet, without serialisation and jitter.
    pub fn delay(&self) -> Duration {
        let delays = self.chain.iter().map(|impairment| match impairment {
            Impairment::Delay(delay) => delay.base(),
            Impairment::Outages(_) | Impairment::Rate(_) | Impairment::Loss(_) => Duration::ZERO,
        });
        delays.sum()
    }
}

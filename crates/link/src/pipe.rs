//! One direction of a link: a chain of impairments.

use crate::LinkDescription;
use crate::impairments::{DropCause, Impairment, for_direction};
use model::{Direction, Timestamp};
use std::time::Duration;

/// One direction of a link, as arithmetic: it holds no packets, but computes when each arrives.
///
/// Calling order: [`Pipe::accept`] for each packet, in the order of time. All connections that share the link
/// share the pipe: that is what makes its rate the link's and not each connection's.
#[derive(Debug, Clone)]
pub struct Pipe {
    chain: Vec<Impairment>,
}

/// What happens to a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PacketOutcome {
    /// It is at the other end at this time.
    Arrives(Timestamp),
    /// It never is.
    Dropped(DropCause),
}

impl Pipe {
    /// This direction of `link`, idle.
    pub fn new(link: &LinkDescription, direction: Direction) -> Self {
        Self {
            chain: for_direction(link, direction),
        }
    }

    /// Takes a packet of `wire_bytes` at `at`, which must not be earlier than the packet before it.
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

    /// Bytes not yet serialised at `at`, rounded up; zero without a rate.
    pub fn waiting_bytes(&self, at: Timestamp) -> u64 {
        let waiting = self.chain.iter().map(|impairment| match impairment {
            Impairment::Rate(bucket) => bucket.waiting_bytes(at),
            Impairment::Outages(_) | Impairment::Loss(_) | Impairment::Delay(_) => 0,
        });
        waiting.sum()
    }

    /// When the last packet accepted was, or will be, serialised; zero without a rate.
    pub(crate) fn serialised_at(&self) -> Timestamp {
        let ends = self.chain.iter().map(|impairment| match impairment {
            Impairment::Rate(bucket) => bucket.free_at(),
            Impairment::Outages(_) | Impairment::Loss(_) | Impairment::Delay(_) => Timestamp::default(),
        });
        ends.max().unwrap_or_default()
    }

    /// The time a minimal packet takes, not counting serialisation and jitter.
    pub fn delay(&self) -> Duration {
        let delays = self.chain.iter().map(|impairment| match impairment {
            Impairment::Delay(delay) => delay.base(),
            Impairment::Outages(_) | Impairment::Rate(_) | Impairment::Loss(_) => Duration::ZERO,
        });
        delays.sum()
    }
}

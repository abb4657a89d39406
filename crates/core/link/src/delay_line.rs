//! A pipe that holds packets in flight.

use crate::{PacketOutcome, Pipe};
use model::Timestamp;
use std::collections::VecDeque;

/// One direction of a link with packets in flight, without a clock.
///
/// Call [`DelayLine::accept`] on arrival, and [`DelayLine::release`] from [`DelayLine::next_wake`]
/// on until it returns `None`. Packets keep their order.
#[derive(Debug)]
pub struct DelayLine<T> {
    pipe: Pipe,
    on_the_way: VecDeque<(Timestamp, T)>,
    dropped: u64,
}

impl<T> DelayLine<T> {
    /// An empty line over `pipe`.
    pub const fn new(pipe: Pipe) -> Self {
        Self {
            pipe,
            on_the_way: VecDeque::new(),
            dropped: 0,
        }
    }

    /// Accepts a packet at `at`, or drops it if the queue is full.
    pub fn accept(&mut self, at: Timestamp, wire_bytes: u32, packet: T) -> PacketOutcome {
        let outcome = self.pipe.accept(at, wire_bytes);
        match outcome {
            PacketOutcome::Arrives(arrives) => self.on_the_way.push_back((arrives, packet)),
            PacketOutcome::Dropped(_) => self.dropped += 1,
        }
        outcome
    }

    /// The next packet that has arrived by `at`.
    pub fn release(&mut self, at: Timestamp) -> Option<T> {
        self.on_the_way
            .pop_front_if(|(arrives, _)| *arrives <= at)
            .map(|(_, packet)| packet)
    }

    /// Arrival of the next packet; `None` if none is in flight.
    pub fn next_wake(&self) -> Option<Timestamp> {
        self.on_the_way.front().map(|(arrives, _)| *arrives)
    }

    /// Packets dropped for lack of room.
    pub const fn dropped(&self) -> u64 {
        self.dropped
    }
}

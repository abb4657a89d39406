//! A pipe that holds what passes it.

use crate::{PacketOutcome, Pipe};
use model::Timestamp;
use std::collections::VecDeque;

/// One direction of a link with the packets that are on it. Sans-IO: the caller passes the time in.
///
/// Calling order: [`DelayLine::accept`] as packets arrive; [`DelayLine::release`] until it gives nothing
/// more, at [`DelayLine::next_wake`] or later. Packets come out in the order in which they went in.
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

    /// Takes a packet at `at`; it is dropped when the queue has no room.
    pub fn accept(&mut self, at: Timestamp, wire_bytes: u32, packet: T) -> PacketOutcome {
        let outcome = self.pipe.accept(at, wire_bytes);
        match outcome {
            PacketOutcome::Arrives(arrives) => self.on_the_way.push_back((arrives, packet)),
            PacketOutcome::Dropped(_) => self.dropped += 1,
        }
        outcome
    }

    /// The next packet that is at the other end at `at`.
    pub fn release(&mut self, at: Timestamp) -> Option<T> {
        self.on_the_way
            .pop_front_if(|(arrives, _)| *arrives <= at)
            .map(|(_, packet)| packet)
    }

    /// When the next packet arrives; `None` if none is on the way.
    pub fn next_wake(&self) -> Option<Timestamp> {
        self.on_the_way.front().map(|(arrives, _)| *arrives)
    }

    /// How many packets were dropped for lack of room.
    pub const fn dropped(&self) -> u64 {
        self.dropped
    }
}

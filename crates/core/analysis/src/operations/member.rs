//! An exchange with its owner, before it is a step, and the steps of a group.

use crate::exchange_pool::ExchangeRecycler;
use model::{Assigned, Endpoint, Exchange, OperationStep, Protocol, Share};
use std::net::IpAddr;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sides {
    pub(super) client: Endpoint,
    pub(super) server: Endpoint,
    pub(super) client_host: IpAddr,
    pub(super) server_host: IpAddr,
}

#[derive(Debug, Clone)]
pub(super) struct Member {
    pub(super) exchange: Box<Exchange>,
    pub(super) protocol: Protocol,
    pub(super) sides: Sides,
    /// `None` if no request owns the exchange, or it is the request itself.
    pub(super) assigned: Option<Assigned>,
    /// `None` unless it is a guess.
    pub(super) probability: Option<Share>,
    pub(super) outside_requests: bool,
}

/// Members of a group, as contiguous steps: they are many, and walked often.
#[derive(Debug, Default)]
pub(super) struct Members {
    pub(super) steps: Vec<OperationStep>,
    /// Sides from a step number up to the next entry. Most groups have one connection.
    sides: Vec<(usize, Sides)>,
}

impl Members {
    pub(super) fn with_capacity(capacity: usize) -> Self {
        Self {
            steps: Vec::with_capacity(capacity),
            sides: Vec::new(),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.steps.len()
    }

    pub(super) fn push(&mut self, member: Member, emptied: &mut ExchangeRecycler) {
        let step = OperationStep {
            assigned: member.assigned,
            probability: member.probability,
            outside_requests: member.outside_requests,
            ..OperationStep::first(emptied.take_exchange(member.exchange), member.protocol)
        };
        self.add(step, member.sides);
    }

    pub(super) fn add(&mut self, step: OperationStep, sides: Sides) {
        let length = self.steps.len();
        if self.sides.last().is_none_or(|(_, last)| *last != sides) {
            self.sides.push((length, sides));
        }
        if length == self.steps.capacity() && length >= MANY {
            // Doubling would take twice the memory that the limits allow.
            self.steps.reserve_exact(length / 4);
        }
        self.steps.push(step);
    }

    pub(super) fn sides_of(&self, step: usize) -> Option<&Sides> {
        let behind = self.sides.partition_point(|(from, _)| *from <= step);
        let (_, sides) = self.sides.get(behind.checked_sub(1)?)?;
        Some(sides)
    }

    pub(super) fn by_start(self) -> Vec<(OperationStep, Sides)> {
        let lengths = self.sides.iter().skip(1).map(|(from, _)| *from);
        let ends: Vec<usize> = lengths.chain([self.steps.len()]).collect();
        let sides = self.sides.iter().zip(ends);
        let sides = sides.flat_map(|((from, sides), end)| std::iter::repeat_n(*sides, end - from));
        let mut all: Vec<(OperationStep, Sides)> = self.steps.into_iter().zip(sides).collect();
        all.sort_by_key(|(step, _)| step.exchange.at);
        all
    }

    pub(super) fn sorted(self) -> Self {
        let mut sorted = Self::default();
        for (step, sides) in self.by_start() {
            sorted.add(step, sides);
        }
        sorted
    }
}

/// From this many steps on, a group's memory grows by a quarter.
const MANY: usize = 1024;

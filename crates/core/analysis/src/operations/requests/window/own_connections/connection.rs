//! A connection that a program opened for one request.

use super::super::super::runs::ConnectionUnits;
use super::super::kind;
use crate::operations::member::Member;
use model::{Assigned, Phase, Timestamp};
use std::hash::{DefaultHasher, Hash, Hasher};

pub(super) struct OwnConnection {
    pub(super) opened: Timestamp,
    pub(super) closed: Timestamp,
    pub(super) exchanges: Vec<Exchanged>,
    /// Hash of its first few statements.
    pub(super) beginning: u32,
    /// The request that an identifier proves to own it.
    pub(super) owner: Option<u64>,
}

pub(super) struct Exchanged {
    pub(super) started: Timestamp,
    pub(super) ended: Timestamp,
    pub(super) kind: u32,
}

impl OwnConnection {
    pub(super) fn new(lane: &ConnectionUnits) -> Self {
        let members = || lane.units.iter().flat_map(|unit| &unit.members);
        let works = members().filter(|member| member.exchange.phase == Phase::Work);
        let mut beginning = DefaultHasher::new();
        for member in works.take(BEGINNING) {
            member.exchange.fingerprint.hash(&mut beginning);
        }
        let replied = members().filter(|member| member.exchange.phase != Phase::Close);
        let exchanges = replied.map(|member| Exchanged {
            started: member.exchange.at,
            ended: member.exchange.ended(),
            kind: kind_of(member),
        });
        let closed = members().map(|member| member.exchange.ended()).max();
        let opened = lane.opened.unwrap_or_default();
        let proven = |owner: &(u64, Assigned)| owner.1 == Assigned::Identifier;
        let owners = lane.units.iter().filter_map(|unit| unit.owner);
        Self {
            opened,
            closed: closed.unwrap_or(opened),
            exchanges: exchanges.collect(),
            beginning: kind(beginning.finish()),
            owner: owners.filter(proven).map(|(id, _)| id).next(),
        }
    }

    /// The last exchange begun before `at`, and the kind of the next.
    pub(super) fn around(&self, at: Timestamp) -> (Option<&Exchanged>, u32) {
        let begun = self.exchanges.partition_point(|exchange| exchange.started < at);
        let before = begun.checked_sub(1).and_then(|last| self.exchanges.get(last));
        (
            before,
            self.exchanges.get(begun).map_or(KIND_OF_END, |next| next.kind),
        )
    }

    fn overlaps(&self, other: &Self) -> bool {
        let (mut one, mut another) = (
            self.exchanges.iter().peekable(),
            other.exchanges.iter().peekable(),
        );
        while let (Some(left), Some(right)) = (one.peek(), another.peek()) {
            if left.started < right.ended && right.started < left.ended {
                return true;
            }
            match left.ended < right.ended {
                true => one.next(),
                false => another.next(),
            };
        }
        false
    }

    /// Cost of being a further connection of the program with `first`.
    pub(super) fn cost_as_sibling(&self, first: &Self) -> Option<f64> {
        let differ = self
            .owner
            .zip(first.owner)
            .is_some_and(|(own, other)| own != other);
        let may_be = first.opened < self.opened && !differ && !self.overlaps(first);
        let (apart, later) = match self.opened <= first.closed {
            true => (
                self.closed
                    .since(first.closed)
                    .max(first.closed.since(self.closed)),
                0.0,
            ),
            false => (self.opened.since(first.closed), COST_SEQUENTIAL),
        };
        let apart = apart.as_secs_f64() / TOGETHER_SECONDS;
        may_be.then(|| later + 1.0 + 1.5 * (1.0 + apart).ln())
    }
}

fn kind_of(member: &Member) -> u32 {
    let mut hasher = DefaultHasher::new();
    (member.exchange.phase, &member.exchange.fingerprint).hash(&mut hasher);
    kind(hasher.finish())
}

pub(super) const KIND_OF_END: u32 = 0;
/// Statements that show what a connection is for.
const BEGINNING: usize = 3;
/// Cost of being opened after the other was closed.
const COST_SEQUENTIAL: f64 = 2.0;
/// Programs close their connections one after another.
const TOGETHER_SECONDS: f64 = 1e-4;

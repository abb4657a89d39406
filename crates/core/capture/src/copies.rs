//! Packets that are captured under several pairs of addresses: before and after a translation
//! (DNAT, masquerading, containers behind a bridge), or in two virtual networks. They are one
//! connection.
//!
//! For a packet that begins a connection by its endpoints:
//! 1. It waits if a packet with the same sequence number, acknowledgement, length and flags passed just
//!    before on a connection with other addresses. Later packets of its direction wait with it.
//! 2. The first packet of the other direction decides. The reply passes the translation in reverse order:
//!    a copy's reply is seen before the original's, or has the original's timestamp (RFC 7323). Otherwise it
//!    is a separate connection with the same numbers, and the waiting packets are processed.
//! 3. A long series of copies needs no reply.
//!
//! A connection that begins in the middle just where another one is has lost its own beginning.

use crate::ip::Address;
use crate::key::{Key, KeyHasher};
use crate::tcp::{ACK, Head, Packet, SYN, SynOptions};
use model::{ConnectionId, Timestamp};
use std::collections::HashMap;
use std::hash::BuildHasherDefault;
use std::time::Duration;

pub(crate) struct Copies {
    passed: Vec<Passed>,
    marks: Vec<u32>,
    next: usize,
    candidates: HashMap<Key, Candidate, BuildHasherDefault<KeyHasher>>,
}

#[derive(Debug, Clone, Copy)]
struct Passed {
    at: Timestamp,
    sequence: u32,
    acknowledgement: u32,
    length: u32,
    flags: u8,
    stamp: Option<u32>,
    owner: Owner,
    /// Whether it comes from the first endpoint of its connection's key.
    from_low: bool,
    is_original: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Owner {
    pub slot: u32,
    pub id: ConnectionId,
}

struct Candidate {
    of: Original,
    from_low: bool,
    packets: Vec<Waiting>,
    bytes: usize,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Original {
    pub owner: Owner,
    /// The first endpoint of the copy's key is the second of the original's.
    pub flipped: bool,
    /// The receiver's own address, which a copy nearer to it has.
    pub receiver: (Address, u16),
    /// Whether it receives from the first endpoint of the original's key.
    pub from_low: bool,
}

pub(crate) struct Waiting {
    pub source: usize,
    pub head: Head,
    pub options: SynOptions,
    pub payload: Vec<u8>,
}

pub(crate) enum Verdict {
    Waits,
    Copy(Original),
    Own(Vec<Waiting>),
}

#[derive(Clone, Copy)]
pub(crate) struct Newcomer<'p> {
    pub key: Key,
    pub source: usize,
    pub from_low: bool,
    pub packet: &'p Packet<'p>,
    pub options: &'p SynOptions,
}

impl Default for Copies {
    fn default() -> Self {
        Self {
            passed: Vec::with_capacity(REMEMBERED),
            marks: Vec::with_capacity(REMEMBERED),
            next: 0,
            candidates: HashMap::default(),
        }
    }
}

impl Copies {
    #[inline]
    pub fn remember(&mut self, head: &Head, owner: Owner, from_low: bool, is_original: bool) {
        let passed = Passed {
            at: head.at,
            sequence: head.sequence,
            acknowledgement: head.acknowledgement,
            length: head.length,
            flags: head.flags,
            stamp: head.timestamps.map(|(own, _)| own),
            owner,
            from_low,
            is_original,
        };
        match (self.passed.get_mut(self.next), self.marks.get_mut(self.next)) {
            (Some(place), Some(at)) => (*place, *at) = (passed, mark(head)),
            _ => {
                self.passed.push(passed);
                self.marks.push(mark(head));
            }
        }
        self.next = (self.next + 1) % REMEMBERED;
    }

    /// Classifies a packet without a connection of its endpoints. `key_of` returns the key of a
    /// connection that is still tracked.
    #[cold]
    pub fn decide(&mut self, new: Newcomer<'_>, key_of: impl Fn(Owner) -> Option<Key>) -> Verdict {
        let head = &new.packet.head;
        if let Some(mut candidate) = self.candidates.remove(&new.key) {
            let of = candidate.of;
            let is_known = key_of(of.owner).is_some();
            let original = self.last_like(head, |passed| passed.owner == of.owner);
            if !is_known || (new.from_low == candidate.from_low && original.is_none()) {
                return Verdict::Own(candidate.packets);
            }
            if new.from_low == candidate.from_low {
                candidate.wait(new);
                if candidate.is_long() {
                    return Verdict::Copy(of);
                }
                self.candidates.insert(new.key, candidate);
                return Verdict::Waits;
            }
            let before = self.last_like(head, |passed| passed.owner == of.owner && passed.is_original);
            let stamp = head.timestamps.map(|(own, _)| own).filter(|own| *own != 0);
            let is_own = before
                .is_some_and(|before| before.at <= head.at && (stamp.is_none() || before.stamp != stamp));
            return match is_own {
                true => Verdict::Own(candidate.packets),
                false => Verdict::Copy(of),
            };
        }
        let may_be_copied = |passed: &Passed| {
            key_of(passed.owner).is_some_and(|original| new.key.may_be_translated(&original))
        };
        if let Some(syn) = self.answered_syn(head).filter(may_be_copied) {
            return Verdict::Copy(Original {
                owner: syn.owner,
                flipped: syn.from_low == new.from_low,
                receiver: (head.source, head.source_port),
                from_low: syn.from_low,
            });
        }
        let Some(original) = self.last_like(head, may_be_copied) else {
            return Verdict::Own(Vec::new());
        };
        if self.candidates.len() >= MAX_CANDIDATES || self.count_of(original.owner) >= MAX_PER_ORIGINAL {
            return Verdict::Own(Vec::new());
        }
        let mut candidate = Candidate {
            of: Original {
                owner: original.owner,
                flipped: original.from_low != new.from_low,
                receiver: (head.destination, head.destination_port),
                from_low: original.from_low,
            },
            from_low: new.from_low,
            packets: Vec::new(),
            bytes: 0,
        };
        candidate.wait(new);
        self.candidates.insert(new.key, candidate);
        Verdict::Waits
    }

    /// Removes packets with numbers that so many pairs of endpoints share that they identify none.
    pub fn take_indistinct(&mut self) -> Vec<(Key, Vec<Waiting>)> {
        let keys = self
            .candidates
            .iter()
            .filter(|(_, candidate)| self.count_of(candidate.of.owner) >= MAX_PER_ORIGINAL);
        let mut keys: Vec<Key> = keys.map(|(key, _)| *key).collect();
        keys.sort_unstable();
        let taken = keys
            .into_iter()
            .filter_map(|key| Some((key, self.candidates.remove(&key)?.packets)));
        taken.collect()
    }

    fn count_of(&self, owner: Owner) -> usize {
        self.candidates
            .values()
            .filter(|candidate| candidate.of.owner == owner)
            .count()
    }

    /// The SYN that a SYN-ACK answers, of a connection without a previous answer.
    fn answered_syn(&self, head: &Head) -> Option<Passed> {
        if !(head.has(SYN) && head.has(ACK)) {
            return None;
        }
        let kind = |passed: &Passed| passed.flags & (SYN | ACK);
        let syn =
            self.passed.iter().rev().find(|passed| {
                kind(passed) == SYN && passed.sequence.wrapping_add(1) == head.acknowledgement
            })?;
        let is_answer = |passed: &Passed| kind(passed) == SYN | ACK && passed.owner == syn.owner;
        (!self.passed.iter().any(is_answer)).then_some(*syn)
    }

    fn last_like(&self, head: &Head, may_be: impl Fn(&Passed) -> bool) -> Option<Passed> {
        if !head.has(SYN | ACK) {
            return None;
        }
        let patience = if head.has(SYN) { SYN_TIMEOUT } else { TIMEOUT };
        let wanted = mark(head);
        let (newer, older) = self.marks.split_at(self.next.min(self.marks.len()));
        let latest_first = (0..newer.len())
            .rev()
            .chain((newer.len()..newer.len() + older.len()).rev());
        latest_first
            .filter(|&place| self.marks[place] == wanted)
            .map(|place| &self.passed[place])
            .filter(|passed| passed.is_like(head) && head.at.since(passed.at) <= patience)
            .find(|passed| may_be(passed))
            .copied()
    }
}

impl Passed {
    fn is_like(&self, head: &Head) -> bool {
        self.sequence == head.sequence
            && self.acknowledgement == head.acknowledgement
            && self.length == head.length
            && self.flags == head.flags
    }
}

impl Candidate {
    fn wait(&mut self, new: Newcomer<'_>) {
        self.bytes += new.packet.payload.len();
        self.packets.push(Waiting {
            source: new.source,
            head: new.packet.head,
            options: *new.options,
            payload: new.packet.payload.to_vec(),
        });
    }

    fn is_long(&self) -> bool {
        self.packets.len() >= MAX_PACKETS || self.bytes >= MAX_BYTES
    }
}

fn mark(head: &Head) -> u32 {
    head.sequence.wrapping_mul(0x9e37_79b9) ^ head.acknowledgement.rotate_left(16) ^ head.length
}

/// Covers some milliseconds of a busy link.
const REMEMBERED: usize = 1024;
/// Maximum time between copies of one packet. The first of a connection may wait for ARP.
const TIMEOUT: Duration = Duration::from_millis(20);
const SYN_TIMEOUT: Duration = Duration::from_millis(200);
/// At most 4 MB with their packets.
const MAX_CANDIDATES: usize = 256;
const MAX_PER_ORIGINAL: usize = 4;
const MAX_PACKETS: usize = 16;
const MAX_BYTES: usize = 16 << 10;

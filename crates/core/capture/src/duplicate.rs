//! Distinguishes a packet captured twice from one sent twice.

use crate::key::MIX;
use crate::tcp::Head;
use model::Timestamp;
use std::time::Duration;

#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Recent {
    interface: u32,
    marks: [u32; RECENT],
    at: Timestamp,
    next: u8,
}

impl Recent {
    pub fn of_interface(interface: u32) -> Self {
        Self {
            interface,
            ..Self::default()
        }
    }

    pub fn interface(&self) -> u32 {
        self.interface
    }

    #[inline]
    pub fn add(&mut self, head: &Head) {
        self.interface = head.interface;
        self.at = head.at;
        self.marks[usize::from(self.next) % RECENT] = mark(head);
        self.next = self.next.wrapping_add(1);
    }

    /// Whether a packet that repeats old bytes is a second capture of the same transmission. It is
    /// one if
    ///
    /// 1. it was captured on another interface than the last packet of this direction that was not a
    ///    duplicate, or
    /// 2. one of the last few packets had the same header, IP identification and checksum, and either the
    ///    identification is in use (it changes with each transmission) or the last of them is no older than
    ///    [`SAME_PACKET`].
    pub fn has(&self, head: &Head) -> bool {
        if head.interface != self.interface {
            return true;
        }
        let near = head.at.since(self.at) < SAME_PACKET;
        (head.identification != 0 || near) && self.marks.contains(&mark(head))
    }
}

/// The last packets of a direction, each with the interface that captured it first.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Sightings {
    last: [Sighting; RECENT],
    next: u8,
}

#[derive(Debug, Clone, Copy, Default)]
struct Sighting {
    mark: u32,
    interface: u32,
    at: Timestamp,
}

impl Sightings {
    /// Whether the same packet was just captured on another interface, such as a bridge and its
    /// ports. `false` if the interface is unknown.
    #[inline]
    pub fn has_elsewhere(&mut self, head: &Head) -> bool {
        head.interface != 0 && self.has_on_another(head, mark(head))
    }

    /// Like `has_elsewhere` for a connection with several pairs of addresses, each of which counts
    /// as an interface: a translation changes the checksum, and may change the identification.
    #[cold]
    pub fn has_translated(&mut self, head: &Head) -> bool {
        let same = Head {
            checksum: 0,
            identification: 0,
            ..*head
        };
        self.has_on_another(head, mark(&same))
    }

    fn has_on_another(&mut self, head: &Head, mark: u32) -> bool {
        let is_copy = self.last.iter().any(|seen| {
            seen.mark == mark && seen.interface != head.interface && head.at.since(seen.at) < SAME_PACKET
        });
        if !is_copy {
            self.last[usize::from(self.next) % RECENT] = Sighting {
                mark,
                interface: head.interface,
                at: head.at,
            };
            self.next = self.next.wrapping_add(1);
        }
        is_copy
    }
}

/// A number that two transmissions are unlikely to share.
#[inline]
fn mark(head: &Head) -> u32 {
    let numbers = u64::from(head.sequence) << 32 | u64::from(head.acknowledgement);
    let origin = u64::from(head.checksum) << 32 | u64::from(head.identification) << 16;
    let rest = u64::from(head.length) << 24 | u64::from(head.window) << 8 | u64::from(head.flags);
    let mixed = (numbers.wrapping_mul(MIX) ^ origin).wrapping_mul(MIX) ^ rest;
    (mixed.wrapping_mul(MIX) >> 32) as u32
}

const RECENT: usize = 8;
/// Maximum time between copies without IP identification, below any retransmission timeout.
const SAME_PACKET: Duration = Duration::from_millis(3);

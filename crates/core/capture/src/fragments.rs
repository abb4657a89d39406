//! Reassembles fragmented IP packets, within bounds.

use crate::ip::Datagram;
use model::Timestamp;
use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

#[derive(Default)]
pub(crate) struct Fragments {
    partial: HashMap<Key, Partial>,
    pub lost: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Key {
    source: u128,
    destination: u128,
    six: bool,
    protocol: u8,
    identification: u32,
}

struct Partial {
    first_at: Timestamp,
    /// Captured bytes by offset, without overlaps (the first copy wins).
    pieces: BTreeMap<usize, Vec<u8>>,
    length: Option<usize>,
    packets: u64,
    wire_bytes: u64,
}

pub(crate) struct Whole {
    pub payload: Vec<u8>,
    pub packets: u64,
    pub wire_bytes: u64,
}

impl Fragments {
    /// Adds one fragment, and returns the packet if it completes it. A fragment cut by the snap
    /// length cannot complete a packet and is dropped.
    pub fn add(&mut self, at: Timestamp, datagram: &Datagram<'_>, wire: u32) -> Option<Whole> {
        let place = datagram.fragment?;
        let end = place.offset + datagram.length;
        if datagram.payload.len() < datagram.length || end > MAX_DATAGRAM {
            self.lost += 1;
            return None;
        }
        let key = Key {
            source: datagram.source.bits,
            destination: datagram.destination.bits,
            six: datagram.source.six,
            protocol: datagram.protocol,
            identification: datagram.identification,
        };
        self.forget(at, key);
        let partial = self.partial.entry(key).or_insert_with(|| Partial::new(at));
        partial.packets += 1;
        partial.wire_bytes += u64::from(wire);
        if !place.more {
            partial.length = Some(end);
        }
        partial.insert(place.offset, datagram.payload);
        if !partial.is_whole() {
            return None;
        }
        let partial = self.partial.remove(&key)?;
        Some(Whole {
            payload: partial.pieces.into_values().flatten().collect(),
            packets: partial.packets,
            wire_bytes: partial.wire_bytes,
        })
    }

    /// Drops packets that are too old, and the oldest if there are too many.
    fn forget(&mut self, at: Timestamp, key: Key) {
        if self.partial.len() < MAX_PARTIAL || self.partial.contains_key(&key) {
            return;
        }
        let before = self.partial.len();
        self.partial
            .retain(|_, partial| at.since(partial.first_at) < MAX_WAIT);
        self.lost += (before - self.partial.len()) as u64;
        if self.partial.len() >= MAX_PARTIAL {
            let oldest = self
                .partial
                .iter()
                .min_by_key(|(_, partial)| partial.first_at)
                .map(|(key, _)| *key);
            self.lost += u64::from(oldest.and_then(|key| self.partial.remove(&key)).is_some());
        }
    }
}

impl Partial {
    fn new(first_at: Timestamp) -> Self {
        Self {
            first_at,
            pieces: BTreeMap::new(),
            length: None,
            packets: 0,
            wire_bytes: 0,
        }
    }

    /// Drops a fragment that overlaps a kept one: RFC 5722 forbids overlaps, so it is a duplicate
    /// or an attack.
    fn insert(&mut self, offset: usize, bytes: &[u8]) {
        let before = self
            .pieces
            .range(..=offset)
            .next_back()
            .map(|(start, piece)| start + piece.len());
        let after = self.pieces.range(offset..).next().map(|(start, _)| *start);
        let free =
            before.is_none_or(|end| end <= offset) && after.is_none_or(|start| offset + bytes.len() <= start);
        if free && !bytes.is_empty() {
            self.pieces.insert(offset, bytes.to_vec());
        }
    }

    fn is_whole(&self) -> bool {
        let Some(length) = self.length else { return false };
        let mut reached = 0;
        for (start, piece) in &self.pieces {
            if *start != reached {
                return false;
            }
            reached += piece.len();
        }
        reached == length
    }
}

const MAX_DATAGRAM: usize = 65_535;
/// Incomplete packets: at most 16 MiB in total.
const MAX_PARTIAL: usize = 256;
/// Time a packet may stay incomplete when room is needed (RFC 791 suggests 15 s, Linux waits 30 s).
const MAX_WAIT: Duration = Duration::from_secs(30);

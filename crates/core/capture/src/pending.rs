//! Bytes that arrived out of order.

use model::Timestamp;
use std::collections::BTreeMap;

/// Bytes of one direction beyond a gap, by their offset, without overlaps.
#[derive(Debug, Default)]
pub(crate) struct Pending {
    chunks: BTreeMap<u64, Chunk>,
    charge: usize,
}

#[derive(Debug)]
pub(crate) struct Chunk {
    pub at: Timestamp,
    /// Stream offset of the first byte.
    pub start: u64,
    /// Bytes on the wire, of which `bytes` has the captured ones.
    pub length: u64,
    pub bytes: Vec<u8>,
}

impl Chunk {
    fn end(&self) -> u64 {
        self.start + self.length
    }
}

impl Pending {
    /// Buffers the new bytes from `start` on (the first copy wins). Returns whether there were any.
    pub fn insert(&mut self, at: Timestamp, start: u64, length: u64, payload: &[u8]) -> bool {
        let end = start + length;
        let before = self.chunks.range(..=start).next_back();
        let mut cursor = before.map_or(start, |(_, chunk)| chunk.end().max(start));
        let mut added = false;
        while cursor < end {
            let after = self
                .chunks
                .range(cursor..end)
                .next()
                .map(|(_, chunk)| (chunk.start, chunk.end()));
            let (stop, next) = after.unwrap_or((end, end));
            if stop > cursor {
                let (from, to) = ((cursor - start) as usize, (stop - start) as usize);
                let bytes = payload
                    .get(from..to.min(payload.len()))
                    .unwrap_or_default()
                    .to_vec();
                self.charge += bytes.len() + CHUNK_CHARGE;
                let length = stop - cursor;
                self.chunks.insert(
                    cursor,
                    Chunk {
                        at,
                        start: cursor,
                        length,
                        bytes,
                    },
                );
                added = true;
            }
            cursor = next;
        }
        added
    }

    pub fn first_start(&self) -> Option<u64> {
        self.chunks.first_key_value().map(|(start, _)| *start)
    }

    /// When the first bytes after `place` passed: since then the bytes at `place` are missing.
    pub fn passed_behind(&self, place: u64) -> Option<Timestamp> {
        self.chunks.range(place..).next().map(|(_, chunk)| chunk.at)
    }

    pub fn take_at(&mut self, next: u64) -> Option<Chunk> {
        let first = self.chunks.first_entry().filter(|entry| *entry.key() <= next)?;
        let chunk = first.remove();
        self.charge -= chunk.bytes.len() + CHUNK_CHARGE;
        Some(chunk)
    }

    pub fn charge(&self) -> usize {
        self.charge
    }
}

const CHUNK_CHARGE: usize = 128;

#[cfg(test)]
mod tests {
    use super::*;

    fn drain(mut pending: Pending, from: u64) -> Vec<u8> {
        let mut next = from;
        let mut bytes = Vec::new();
        while let Some(chunk) = pending.take_at(next) {
            next = chunk.end();
            bytes.extend(chunk.bytes);
        }
        assert_eq!(pending.charge(), 0);
        bytes
    }

    #[test]
    fn the_first_copy_wins_wherever_copies_overlap() {
        let mut pending = Pending::default();
        let at = Timestamp::from_nanos(1);
        assert!(pending.insert(at, 102, 2, b"cd"));
        assert!(pending.insert(at, 106, 2, b"gh"));
        assert!(pending.insert(at, 100, 10, b"ABCDEFGHIJ"));
        assert!(!pending.insert(at, 101, 8, b"xxxxxxxx"));
        assert_eq!(drain(pending, 100), b"ABcdEFghIJ");
    }

    #[test]
    fn bytes_cut_by_the_snap_length_keep_their_place() {
        let mut pending = Pending::default();
        let at = Timestamp::from_nanos(1);
        assert!(pending.insert(at, 110, 10, b"abc"));
        let chunk = pending.take_at(110).expect("inserted");
        assert_eq!((chunk.length, chunk.bytes.as_slice()), (10, b"abc".as_slice()));
    }
}

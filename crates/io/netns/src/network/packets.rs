//! Reused buffers for packets.

#[derive(Debug, Clone, Copy)]
pub(super) struct Segment<'a> {
    pub(super) bytes: &'a [u8],
    /// Cut from a frame, so it may be joined with its neighbours.
    pub(super) is_part: bool,
}

impl<'a> Segment<'a> {
    pub(super) const fn whole(bytes: &'a [u8]) -> Self {
        Self {
            bytes,
            is_part: false,
        }
    }
}

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Packet {
    pub(super) bytes: Vec<u8>,
    pub(super) is_part: bool,
}

#[derive(Debug, Default)]
pub(super) struct Buffers {
    small: Vec<Vec<u8>>,
    large: Vec<Vec<u8>>,
    used: usize,
}

impl Buffers {
    /// Returns `None` at the memory limit.
    pub(super) fn copy(&mut self, segment: Segment<'_>) -> Option<Packet> {
        let Segment { bytes, is_part } = segment;
        if self.used + LARGE_BYTES.max(bytes.len()) > MAX_BYTES {
            return None;
        }
        let (pool, room) = if bytes.len() <= SMALL_BYTES {
            (&mut self.small, SMALL_BYTES)
        } else {
            (&mut self.large, LARGE_BYTES.max(bytes.len()))
        };
        let mut copy = pool.pop().unwrap_or_else(|| Vec::with_capacity(room));
        copy.extend_from_slice(bytes);
        self.used += copy.capacity();
        Some(Packet { bytes: copy, is_part })
    }

    pub(super) fn give_back(&mut self, packet: Packet) {
        let mut room = packet.bytes;
        self.used = self.used.saturating_sub(room.capacity());
        room.clear();
        let pool = if room.capacity() < LARGE_BYTES {
            &mut self.small
        } else {
            &mut self.large
        };
        if pool.len() < KEPT {
            pool.push(room);
        }
    }
}

/// For acknowledgements and requests.
const SMALL_BYTES: usize = 256;
/// Ethernet's mtu, rounded up.
const LARGE_BYTES: usize = 1536;
const KEPT: usize = 8192;

/// Two seconds at 1 Gbit/s. Further packets are dropped, counted and reported.
pub(super) const MAX_BYTES: usize = 256 * 1024 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_bounded_and_buffers_come_back() {
        let mut buffers = Buffers::default();
        let packet = Segment::whole(&[7; 1500]);
        let held: Vec<Packet> = std::iter::from_fn(|| buffers.copy(packet)).collect();
        assert!(held.len() * LARGE_BYTES <= MAX_BYTES && (held.len() + 2) * LARGE_BYTES > MAX_BYTES);
        assert!(buffers.copy(Segment::whole(&[1])).is_none());
        for packet in held {
            buffers.give_back(packet);
        }
        assert_eq!(buffers.used, 0);
        assert_eq!(buffers.copy(packet).unwrap().bytes, packet.bytes);
    }
}

//! The endpoints of a connection as a lookup key.

use crate::tcp::Head;
use std::hash::{Hash, Hasher};

/// Both endpoints and their virtual network. The lower endpoint comes first, so that both
/// directions have the same key.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key {
    low: u128,
    high: u128,
    ports: [u16; 2],
    six: bool,
    network: u32,
}

impl Key {
    /// Also returns whether the packet comes from the key's first endpoint.
    #[inline]
    pub fn from_head(head: &Head) -> (Self, bool) {
        let (source, destination) = (head.source.bits, head.destination.bits);
        let from_low = (source, head.source_port) <= (destination, head.destination_port);
        let (low, high, ports) = if from_low {
            (source, destination, [head.source_port, head.destination_port])
        } else {
            (destination, source, [head.destination_port, head.source_port])
        };
        (
            Self {
                low,
                high,
                ports,
                six: head.source.six,
                network: head.network,
            },
            from_low,
        )
    }
}

impl Key {
    pub fn is_tagged(&self) -> bool {
        self.network != 0
    }

    #[must_use]
    pub fn untagged(self) -> Self {
        Self { network: 0, ..self }
    }

    /// Whether two keys can be one connection before and after a translation. `false` if they
    /// differ only in ports, as a client's connections to one server do.
    pub fn may_be_translated(&self, other: &Self) -> bool {
        (self.low, self.high, self.network) != (other.low, other.high, other.network)
    }
}

impl Hash for Key {
    #[inline]
    fn hash<H: Hasher>(&self, state: &mut H) {
        let fold = |bits: u128| (bits as u64) ^ ((bits >> 64) as u64).rotate_left(32);
        state.write_u64(fold(self.low));
        state.write_u64(
            fold(self.high)
                ^ u64::from(self.ports[0]) << 32
                ^ u64::from(self.ports[1]) << 48
                ^ u64::from(self.network),
        );
    }
}

/// Multiplies and folds in a few cycles. Sufficient for addresses that were not chosen to collide.
#[derive(Default)]
pub(crate) struct KeyHasher(u64);

impl Hasher for KeyHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u64(u64::from(*byte));
        }
    }

    #[inline]
    fn write_u64(&mut self, word: u64) {
        let product = u128::from(self.0 ^ word).wrapping_mul(u128::from(MIX));
        self.0 = (product as u64) ^ (product >> 64) as u64;
    }
}

/// An odd number without pattern (2^64 divided by the golden ratio).
pub(crate) const MIX: u64 = 0x9e37_79b9_7f4a_7c15;

//! A map by connection, for lookups at every packet.

use crate::ConnectionId;
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// Keys are longwire's own numbers, so the hash needs no protection against chosen collisions.
pub type ConnectionMap<V> = HashMap<ConnectionId, V, BuildHasherDefault<ConnectionHasher>>;

/// Spreads consecutive numbers over all bits (Fibonacci hashing).
#[derive(Debug, Clone, Copy, Default)]
pub struct ConnectionHasher(u64);

impl Hasher for ConnectionHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_u32(u32::from(byte));
        }
    }

    fn write_u32(&mut self, number: u32) {
        self.0 = (self.0 ^ u64::from(number))
            .wrapping_mul(0x9e37_79b9_7f4a_7c15)
            .rotate_left(26);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_connection_keeps_its_value() {
        let mut map = ConnectionMap::default();
        for number in 0..10_000 {
            map.insert(ConnectionId(number), number);
        }
        assert!((0..10_000).all(|number| map.get(&ConnectionId(number)) == Some(&number)));
    }
}

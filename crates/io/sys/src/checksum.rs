//! The Internet checksum (RFC 1071).

pub fn checksum(bytes: &[u8]) -> u16 {
    !sum(bytes, 0)
}

/// The one's complement sum of `before` and the 16-bit words of `bytes`, padded with zero.
pub fn sum(bytes: &[u8], before: u64) -> u16 {
    // Sums of words in machine order are sums in network order with bytes exchanged (RFC 1071, 2).
    let words = bytes.chunks_exact(4);
    let rest = words.remainder();
    let mut last = [0; 4];
    last[..rest.len()].copy_from_slice(rest);
    let word = |word: &[u8]| word.try_into().map_or(0, u32::from_ne_bytes);
    let total: u64 = words.map(|bytes| u64::from(word(bytes))).sum();
    let own = folded(total + u64::from(u32::from_ne_bytes(last)));
    folded(u64::from(own.to_be()) + before)
}

fn folded(mut sum: u64) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_of_the_rfc() {
        assert_eq!(sum(&[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7], 0), 0xddf2);
    }

    #[test]
    fn an_odd_byte_is_the_high_half_of_a_word() {
        assert_eq!(sum(&[1, 2, 3], 0), 0x0102 + 0x0300);
        assert_eq!(sum(&[1, 2, 3, 4, 5], 0xffff_0000), 0x0102 + 0x0304 + 0x0500);
    }
}

//! Bounds-checked reading of lengths and numbers.

/// Reads a slice from the front. On a short slice, methods return `None` and consume no bytes.
#[derive(Debug, Clone, Copy)]
pub struct Reader<'a> {
    bytes: &'a [u8],
}

impl<'a> Reader<'a> {
    /// Starts at the first byte.
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self { bytes }
    }

    /// Returns the unread bytes.
    pub const fn rest(&self) -> &'a [u8] {
        self.bytes
    }

    /// Number of unread bytes.
    pub const fn left(&self) -> usize {
        self.bytes.len()
    }

    /// Whether everything has been read.
    pub const fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// Reads `length` bytes at once.
    pub fn take_bytes(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.bytes.split_at_checked(length)?;
        self.bytes = rest;
        Some(taken)
    }

    /// Reads `length` bytes into a separate reader.
    pub fn sub(&mut self, length: usize) -> Option<Reader<'a>> {
        self.take_bytes(length).map(Reader::new)
    }

    /// Reads `N` bytes at once.
    pub fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, rest) = self.bytes.split_first_chunk::<N>()?;
        self.bytes = rest;
        Some(*taken)
    }

    /// Reads a single byte.
    pub fn u8(&mut self) -> Option<u8> {
        let (first, rest) = self.bytes.split_first()?;
        self.bytes = rest;
        Some(*first)
    }

    /// Two bytes, big-endian order.
    pub fn u16_be(&mut self) -> Option<u16> {
        self.array().map(u16::from_be_bytes)
    }

    /// Three bytes, big-endian order.
    pub fn u24_be(&mut self) -> Option<u32> {
        self.array().map(|[a, b, c]| u32::from_be_bytes([0, a, b, c]))
    }

    /// Four bytes, big-endian order.
    pub fn u32_be(&mut self) -> Option<u32> {
        self.array().map(u32::from_be_bytes)
    }

    /// Two bytes, little-endian order.
    pub fn u16_le(&mut self) -> Option<u16> {
        self.array().map(u16::from_le_bytes)
    }

    /// Three bytes, little-endian order.
    pub fn u24_le(&mut self) -> Option<u32> {
        self.array().map(|[a, b, c]| u32::from_le_bytes([a, b, c, 0]))
    }

    /// Four bytes, little-endian order.
    pub fn u32_le(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    /// Eight bytes, little-endian order.
    pub fn u64_le(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    /// Reads up to a NUL, which is consumed too.
    pub fn cstr(&mut self) -> Option<&'a [u8]> {
        let end = self.bytes.iter().position(|&byte| byte == 0)?;
        let text = self.take_bytes(end)?;
        self.u8()?;
        Some(text)
    }

    /// MySQL's length-encoded integer: one byte below 251, or 0xFC, 0xFD, 0xFE and 2, 3, 8 bytes.
    /// `None` also for 0xFB (NULL) and 0xFF (an error packet).
    pub fn lenenc_int(&mut self) -> Option<u64> {
        let mut ahead = *self;
        let value = match ahead.u8()? {
            small @ 0..=0xFA => u64::from(small),
            0xFC => u64::from(ahead.u16_le()?),
            0xFD => u64::from(ahead.u24_le()?),
            0xFE => ahead.u64_le()?,
            0xFB | 0xFF => return None,
        };
        *self = ahead;
        Some(value)
    }

    /// MySQL's length-encoded string of bytes.
    pub fn lenenc_bytes(&mut self) -> Option<&'a [u8]> {
        let mut ahead = *self;
        let length = ahead.lenenc_int()?;
        let text = ahead.take_bytes(usize::try_from(length).ok()?)?;
        *self = ahead;
        Some(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_read_takes_nothing() {
        let mut reader = Reader::new(&[0xFD, 1, 2]);
        assert_eq!(reader.lenenc_int(), None);
        assert_eq!(reader.u32_be(), None);
        assert_eq!(reader.cstr(), None);
        assert_eq!(reader.left(), 3);
        assert_eq!(reader.u24_le(), Some(0x0002_01FD));
        assert!(reader.is_empty());
    }

    #[test]
    fn a_length_beyond_the_slice_is_none() {
        let mut huge = Reader::new(&[0xFE, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, b'x']);
        assert_eq!(huge.lenenc_bytes(), None);
        assert_eq!(huge.left(), 10);
        let mut fits = Reader::new(&[2, b'a', b'b', b'c']);
        assert_eq!(fits.lenenc_bytes(), Some(&b"ab"[..]));
        assert_eq!(fits.rest(), b"c");
    }

    #[test]
    fn a_sub_reader_is_confined() {
        let mut outer = Reader::new(&[1, 2, 3]);
        let mut inner = outer.sub(2).expect("two of three");
        assert_eq!(inner.u16_be(), Some(0x0102));
        assert_eq!(inner.u8(), None);
        assert_eq!(outer.u8(), Some(3));
    }
}

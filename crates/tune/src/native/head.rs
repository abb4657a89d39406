//! Headers of messages, which may come in parts.

/// A header of so many bytes, as far as it has come.
#[derive(Debug)]
pub(crate) struct Head<const BYTES: usize> {
    bytes: [u8; BYTES],
    filled: usize,
}

impl<const BYTES: usize> Default for Head<BYTES> {
    fn default() -> Self {
        Self {
            bytes: [0; BYTES],
            filled: 0,
        }
    }
}

impl<const BYTES: usize> Head<BYTES> {
    /// Whether all of it is there.
    pub const fn is_whole(&self) -> bool {
        self.filled == BYTES
    }

    /// Its bytes; those that have not come yet are of the one before it.
    pub const fn bytes(&self) -> [u8; BYTES] {
        self.bytes
    }

    /// Takes what it lacks of `bytes` and gives the rest.
    pub fn take<'b>(&mut self, bytes: &'b [u8]) -> &'b [u8] {
        let (part, rest) = bytes.split_at(bytes.len().min(BYTES - self.filled));
        let end = self.filled + part.len();
        if let Some(place) = self.bytes.get_mut(self.filled..end) {
            place.copy_from_slice(part);
        }
        self.filled = end;
        rest
    }

    /// The next one is to come.
    pub const fn clear(&mut self) {
        self.filled = 0;
    }
}

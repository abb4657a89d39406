//! Numbers in the byte order of a file or a protocol.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ByteOrder {
    Big,
    Little,
}

pub(crate) const NETWORK: ByteOrder = ByteOrder::Big;

impl ByteOrder {
    #[inline]
    pub fn u32_at(self, bytes: &[u8], offset: usize) -> Option<u32> {
        let four = *bytes.get(offset..)?.first_chunk::<4>()?;
        Some(match self {
            Self::Big => u32::from_be_bytes(four),
            Self::Little => u32::from_le_bytes(four),
        })
    }

    #[inline]
    pub fn u16_at(self, bytes: &[u8], offset: usize) -> Option<u16> {
        let two = *bytes.get(offset..)?.first_chunk::<2>()?;
        Some(match self {
            Self::Big => u16::from_be_bytes(two),
            Self::Little => u16::from_le_bytes(two),
        })
    }
}

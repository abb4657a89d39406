//! Fields of each code, as far as they determine a message's end.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Field {
    Skip(u16),
    /// Two bytes of length, the bytes, and one more if odd.
    Text,
    /// Four bytes of length, the bytes, and one more if odd.
    LongText,
    /// A statement as [`Field::LongText`] or [`Field::Text`], by negotiation.
    Sql,
    /// Size of a tuple in four or two bytes, by negotiation.
    TupleSize,
    /// Position of an error in the statement, in four or two bytes by negotiation.
    ErrorOffset,
    ErrorCode,
    /// Twelve or twenty bytes of counts, by negotiation.
    DoneCounts,
    /// Number of repetitions of [`Field::Each`], in two bytes.
    Count,
    /// Length of [`Field::Names`] in four bytes.
    NamesLength,
    /// These fields, repeated [`Field::Count`] times.
    Each(&'static [Field]),
    /// As many bytes as [`Field::NamesLength`], and one more if odd.
    Names,
    /// Type, indicator, precision, and a value in the form of the type.
    Parameter,
    ReturnColumn,
    /// Pairs of a kind and a text, ended by kind 0.
    Infos,
    LargeObject,
    /// Four bytes of size and as many bytes in chunks, each with two bytes of length, padded to be
    /// even.
    Chunks,
    /// The rest of a login packet, with its length in place of the code; two bytes identify it.
    Login,
    /// Everything until the other side speaks: the end of the message is unknown.
    Rest,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Features {
    /// Statements and offsets in them have four bytes of length; `None` before negotiation.
    pub(super) long_statements: Option<bool>,
    pub(super) long_tuples: bool,
    pub(super) long_counts: bool,
}

impl Features {
    /// Bits of the server's answer to the offered features, most significant first.
    pub(super) fn from_bits(bits: &[u8]) -> Self {
        let has = |byte: usize, bit: u8| bits.get(byte).is_some_and(|byte| byte & bit != 0);
        Self {
            long_statements: Some(has(7, 0x02)),
            long_tuples: has(8, 0x04),
            long_counts: has(8, 0x02),
        }
    }
}

//! The rows of a text result, read from the bytes of a whole reply: for clients that want to know what they
//! were answered. What a reply is, and where it ends, the decoders know.

/// Rows of one result, as text.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TextRows {
    /// Names of the columns.
    pub columns: Vec<String>,
    /// Values, `None` for NULL; each row has as many as there are columns.
    pub rows: Vec<Vec<Option<Vec<u8>>>>,
}

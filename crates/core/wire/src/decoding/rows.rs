//! Rows of a text result, for clients that need the answer.

/// Rows of one result, as text.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TextRows {
    /// Names of the columns.
    pub columns: Vec<String>,
    /// One value per column, `None` for NULL.
    pub rows: Vec<Vec<Option<Vec<u8>>>>,
}

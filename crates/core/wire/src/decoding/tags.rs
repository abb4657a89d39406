//! Rows of messages, found by their tag.

/// Messages that begin with a tag of one byte, one row each.
#[derive(Debug)]
pub struct TaggedRows<R: 'static> {
    rows: &'static [R],
    /// Per tag, the number of its row from 1; 0 if it has none.
    by_tag: [u8; 256],
}

impl<R> TaggedRows<R> {
    /// `tags` are those of `rows`, in the same order.
    ///
    /// # Panics
    /// If a tag has two rows, or a row no tag: at compile time, for a `static`.
    pub const fn new(rows: &'static [R], tags: &[u8]) -> Self {
        assert!(rows.len() == tags.len(), "one tag a row");
        let mut by_tag = [0; 256];
        let mut index = 0;
        while index < tags.len() {
            let number = &mut by_tag[tags[index] as usize];
            assert!(*number == 0, "one row a tag");
            index += 1;
            *number = index as u8;
        }
        Self { rows, by_tag }
    }

    /// `None` if no message has this tag.
    #[inline]
    pub fn find(&self, tag: u8) -> Option<&'static R> {
        let number = self.by_tag[usize::from(tag)];
        self.rows.get(usize::from(number).wrapping_sub(1))
    }

    /// In the order of the protocol's table.
    pub const fn rows(&self) -> &'static [R] {
        self.rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_found_by_their_tags() {
        static ROWS: TaggedRows<&str> = TaggedRows::new(&["first", "last"], &[0, 255]);
        assert_eq!(ROWS.find(0), Some(&"first"));
        assert_eq!(ROWS.find(255), Some(&"last"));
        assert_eq!(ROWS.find(7), None);
        assert_eq!(ROWS.rows().len(), 2);
    }
}

//! Values that may be null.

/// One value or null per row. Needs no memory while all are null, as most columns are in most runs.
#[derive(Debug, Clone, Default)]
pub(crate) struct NullableValues<T> {
    /// Nulls before the first value.
    before: usize,
    values: Vec<T>,
    present: Vec<bool>,
}

impl<T: Copy + Default> NullableValues<T> {
    pub(crate) fn push(&mut self, value: Option<T>) {
        match value {
            None if self.values.is_empty() => self.before += 1,
            value => {
                if self.values.is_empty() {
                    self.values.resize(self.before, T::default());
                    self.present.resize(self.before, false);
                }
                self.values.push(value.unwrap_or_default());
                self.present.push(value.is_some());
            }
        }
    }

    pub(crate) fn get(&self, row: usize) -> Option<T> {
        match self.present.get(row) {
            Some(true) => self.values.get(row).copied(),
            _ => None,
        }
    }

    pub(crate) fn last(&self) -> Option<T> {
        self.get(self.present.len().checked_sub(1)?)
    }
}

impl<T: Copy + Default> FromIterator<Option<T>> for NullableValues<T> {
    fn from_iter<I: IntoIterator<Item = Option<T>>>(values: I) -> Self {
        let mut all = Self::default();
        values.into_iter().for_each(|value| all.push(value));
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_those_of_their_rows() {
        let rows = [None, None, Some(7), None, Some(0)];
        let values: NullableValues<i64> = rows.into_iter().collect();
        assert_eq!(
            [0, 1, 2, 3, 4, 5].map(|row| values.get(row)),
            [None, None, Some(7), None, Some(0), None]
        );
        assert_eq!(values.last(), Some(0));
        let empty: NullableValues<i64> = [None, None].into_iter().collect();
        assert_eq!(
            (empty.get(1), empty.last(), empty.values.capacity()),
            (None, None, 0)
        );
    }
}

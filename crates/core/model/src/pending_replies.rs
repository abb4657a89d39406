//! A bounded queue of requests without a reply.

use std::collections::VecDeque;
use std::ops::Deref;

/// Requests that wait for replies, oldest first; at most `LIMIT`.
///
/// A client may send requests forever and read no reply. At the limit [`PendingReplies::push`]
/// fails, and the client's direction becomes opaque, as replies can no longer be assigned. Reads
/// like [`VecDeque`]; unused memory is released.
#[derive(Debug, Clone)]
pub struct PendingReplies<T, const LIMIT: usize> {
    entries: VecDeque<T>,
}

impl<T, const LIMIT: usize> Default for PendingReplies<T, LIMIT> {
    fn default() -> Self {
        Self {
            entries: VecDeque::new(),
        }
    }
}

/// The limit is reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooManyPending {
    /// Maximum number of entries.
    pub limit: usize,
}

impl<T, const LIMIT: usize> PendingReplies<T, LIMIT> {
    /// Adds the newest entry.
    ///
    /// # Errors
    /// At the limit.
    pub fn push(&mut self, entry: T) -> Result<(), TooManyPending> {
        self.check()?;
        if self.entries.len() == self.entries.capacity() {
            // Doubling would take twice the memory of the limit. Most connections have one request.
            let length = self.entries.len();
            let more = (length / 4).max(length.clamp(1, FEW));
            self.entries.reserve_exact(more);
        }
        self.entries.push_back(entry);
        Ok(())
    }

    /// Checks for room.
    ///
    /// # Errors
    /// At the limit.
    pub fn check(&self) -> Result<(), TooManyPending> {
        match self.entries.len() < LIMIT {
            true => Ok(()),
            false => Err(TooManyPending { limit: LIMIT }),
        }
    }

    /// Puts back the oldest entry.
    pub fn put_back(&mut self, entry: T) {
        self.entries.push_front(entry);
    }

    /// Removes the oldest entry.
    pub fn pop(&mut self) -> Option<T> {
        let entry = self.entries.pop_front();
        let (length, capacity) = (self.entries.len(), self.entries.capacity());
        if capacity > MANY && length < capacity / 4 {
            self.entries.shrink_to(capacity / 2);
        }
        entry
    }

    /// Removes `count` oldest entries.
    pub fn discard(&mut self, count: usize) {
        let count = count.min(self.entries.len());
        self.entries.drain(..count);
    }

    /// The oldest entry, if any.
    pub fn front_mut(&mut self) -> Option<&mut T> {
        self.entries.front_mut()
    }

    /// The newest entry, if any.
    pub fn back_mut(&mut self) -> Option<&mut T> {
        self.entries.back_mut()
    }

    /// Exchanges two entries, counted from the oldest.
    pub fn swap(&mut self, one: usize, other: usize) {
        self.entries.swap(one, other);
    }

    /// Counts from the oldest.
    pub fn get_mut(&mut self, place: usize) -> Option<&mut T> {
        self.entries.get_mut(place)
    }

    /// All entries, oldest first.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.entries.iter_mut()
    }

    /// Keeps entries that match `keep`.
    pub fn retain(&mut self, keep: impl FnMut(&T) -> bool) {
        self.entries.retain(keep);
    }

    /// Removes all entries and memory.
    pub fn clear(&mut self) {
        self.entries.clear();
        self.entries.shrink_to(FEW);
    }
}

impl<T, const LIMIT: usize> Deref for PendingReplies<T, LIMIT> {
    type Target = VecDeque<T>;

    fn deref(&self) -> &VecDeque<T> {
        &self.entries
    }
}

const FEW: usize = 16;

/// Larger room is released.
const MANY: usize = 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_one_beyond_the_limit_is_refused() {
        let mut pending = PendingReplies::<_, 3>::default();
        assert_eq!([1, 2, 3].map(|entry| pending.push(entry)), [Ok(()); 3]);
        assert_eq!(pending.push(4), Err(TooManyPending { limit: 3 }));
        assert_eq!(pending.pop(), Some(1));
        assert_eq!(pending.push(4), Ok(()));
        assert!(pending.iter().eq(&[2, 3, 4]));
    }

    #[test]
    fn room_grows_by_a_quarter_and_is_given_back() {
        let mut pending = PendingReplies::<_, 100_000>::default();
        for entry in 0..100_000 {
            pending.push(entry).expect("there is room");
            let (length, capacity) = (pending.len(), pending.capacity());
            assert!(capacity <= length + length / 4 + FEW, "{capacity} for {length}");
        }
        while pending.pop().is_some() {}
        assert!(pending.capacity() <= 4 * MANY, "{}", pending.capacity());
        (0..10_000).for_each(|entry| pending.push(entry).expect("there is room"));
        pending.clear();
        assert!(pending.capacity() <= 2 * FEW, "{}", pending.capacity());
    }
}

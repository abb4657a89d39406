//! Requests without a reply: the one place where they wait, in decoders and in pairing, and no more of them
//! than a limit.

use crate::framing::HeaderFault;
use std::collections::VecDeque;
use std::ops::Deref;

/// One entry for every request that waits for its reply, oldest first; at most `LIMIT`.
///
/// A client can send requests for ever and read nothing. Beyond the limit [`PendingReplies::push`] refuses an
/// entry, and who calls it must give up the place in the protocol: a decoder returns the error, so that the
/// client's direction is opaque from there on, because a reply could not be distinguished from that to
/// another request any more. Reading is that of [`VecDeque`]; the memory grows in steps and is given back.
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

/// An entry beyond the limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooManyPending {
    /// How many there may be.
    pub limit: usize,
}

impl From<TooManyPending> for HeaderFault {
    fn from(fault: TooManyPending) -> Self {
        Self {
            expected: "fewer requests without a reply",
            found: fault.limit.to_string(),
        }
    }
}

impl<T, const LIMIT: usize> PendingReplies<T, LIMIT> {
    /// Adds the newest.
    ///
    /// # Errors
    /// When as many are pending as may be.
    pub fn push(&mut self, entry: T) -> Result<(), TooManyPending> {
        self.check()?;
        if self.entries.len() == self.entries.capacity() {
            // Doubling would hold twice of what the limit says.
            let more = (self.entries.len() / 4).max(FEW);
            self.entries.reserve_exact(more);
        }
        self.entries.push_back(entry);
        Ok(())
    }

    /// Whether one more may be added.
    ///
    /// # Errors
    /// When not.
    pub fn check(&self) -> Result<(), TooManyPending> {
        match self.entries.len() < LIMIT {
            true => Ok(()),
            false => Err(TooManyPending { limit: LIMIT }),
        }
    }

    /// Puts the oldest back, which was popped and whose reply has only begun.
    pub fn put_back(&mut self, entry: T) {
        self.entries.push_front(entry);
    }

    /// Takes the oldest away.
    pub fn pop(&mut self) -> Option<T> {
        let entry = self.entries.pop_front();
        let (length, capacity) = (self.entries.len(), self.entries.capacity());
        if capacity > MANY && length < capacity / 4 {
            self.entries.shrink_to(capacity / 2);
        }
        entry
    }

    /// Takes the `count` oldest away.
    pub fn discard(&mut self, count: usize) {
        let count = count.min(self.entries.len());
        self.entries.drain(..count);
    }

    /// The oldest.
    pub fn front_mut(&mut self) -> Option<&mut T> {
        self.entries.front_mut()
    }

    /// The newest.
    pub fn back_mut(&mut self) -> Option<&mut T> {
        self.entries.back_mut()
    }

    /// The one at `place`, from the oldest.
    pub fn get_mut(&mut self, place: usize) -> Option<&mut T> {
        self.entries.get_mut(place)
    }

    /// All, oldest first.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut T> {
        self.entries.iter_mut()
    }

    /// Keeps those for which `keep` holds.
    pub fn retain(&mut self, keep: impl FnMut(&T) -> bool) {
        self.entries.retain(keep);
    }

    /// Nothing is pending any more.
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

/// Room that is kept.
const FEW: usize = 16;

/// Room from which on it is given back.
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

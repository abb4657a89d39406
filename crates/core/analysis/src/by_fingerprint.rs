//! Values by fingerprint, found without hashing texts.

use foldhash::HashMap;
use model::Fingerprint;
use std::sync::Arc;

/// Values by fingerprint, in order of insertion.
///
/// Equal fingerprints mostly share one allocation, so a recent address is enough to find one: its
/// text, which may be long, is neither hashed nor compared.
#[derive(Debug)]
pub(crate) struct ByFingerprint<V> {
    /// Each entry keeps its allocation, so that no other text can get the address.
    recent: Vec<Option<(Fingerprint, u32)>>,
    by_text: HashMap<Fingerprint, u32>,
    values: Vec<V>,
}

impl<V> Default for ByFingerprint<V> {
    fn default() -> Self {
        Self {
            recent: Vec::new(),
            by_text: HashMap::default(),
            values: Vec::new(),
        }
    }
}

/// A power of two.
const RECENT: usize = 1024;

impl<V> ByFingerprint<V> {
    /// Number of a fingerprint, from 0. A new one is inserted with `new`, or is `None` if there are
    /// already `most`.
    pub(crate) fn number(
        &mut self,
        fingerprint: &Fingerprint,
        most: usize,
        new: impl FnOnce(u32, &Fingerprint) -> V,
    ) -> Option<u32> {
        if self.recent.is_empty() {
            self.recent.resize(RECENT, None);
        }
        let place = slot_index(fingerprint);
        if let Some((known, number)) = &self.recent[place]
            && Arc::ptr_eq(known, fingerprint)
        {
            return Some(*number);
        }
        let number = match self.by_text.get(fingerprint) {
            Some(number) => *number,
            None if self.values.len() >= most => return None,
            None => {
                let number = u32::try_from(self.values.len()).ok()?;
                self.values.push(new(number, fingerprint));
                self.by_text.insert(fingerprint.clone(), number);
                number
            }
        };
        self.recent[place] = Some((fingerprint.clone(), number));
        Some(number)
    }

    pub(crate) fn value(&mut self, number: u32) -> Option<&mut V> {
        self.values.get_mut(number as usize)
    }

    pub(crate) fn values(&mut self) -> impl Iterator<Item = &mut V> {
        self.values.iter_mut()
    }
}

fn slot_index(fingerprint: &Fingerprint) -> usize {
    let address = Arc::as_ptr(fingerprint).cast::<u8>() as u64;
    (address.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (u64::BITS - RECENT.trailing_zeros())) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_texts_have_one_number_wherever_they_are() {
        let mut numbers = ByFingerprint::default();
        let mut number = |text: &Fingerprint, most: usize| numbers.number(text, most, |number, _| number);
        let texts: Vec<Fingerprint> = (0..3 * RECENT)
            .map(|one| format!("select {one}").into())
            .collect();
        for _ in 0..2 {
            for (expected, text) in (0..).zip(&texts) {
                let other: Fingerprint = Arc::from(&**text);
                assert_eq!(number(text, texts.len()), Some(expected));
                assert_eq!(number(&other, texts.len()), Some(expected));
            }
        }
        assert_eq!(number(&"new".into(), texts.len()), None);
        assert_eq!(numbers.value(5).copied(), Some(5));
    }
}

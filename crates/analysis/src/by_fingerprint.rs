//! Numbers of fingerprints, found without reading their texts.

use foldhash::HashMap;
use model::Fingerprint;
use std::sync::Arc;

/// Numbers fingerprints in the order in which they are first met, from 0 on.
///
/// Equal ones mostly share one allocation: then the address of one that came lately is enough, and its text, which may be long, is neither
/// hashed nor compared.
#[derive(Debug, Default)]
pub(crate) struct ByFingerprint {
    /// By address. Each keeps its allocation, so that no other text gets that address.
    recent: Vec<Option<(Fingerprint, u32)>>,
    by_text: HashMap<Fingerprint, u32>,
}

/// Addresses remembered: a power of two.
const RECENT: usize = 1024;

impl ByFingerprint {
    /// The number of a fingerprint; absent for one that is new when there are `most` already.
    pub(crate) fn number(&mut self, fingerprint: &Fingerprint, most: usize) -> Option<u32> {
        if self.recent.is_empty() {
            self.recent.resize(RECENT, None);
        }
        let place = place(fingerprint);
        if let Some((known, number)) = &self.recent[place]
            && Arc::ptr_eq(known, fingerprint)
        {
            return Some(*number);
        }
        let number = match self.by_text.get(fingerprint) {
            Some(number) => *number,
            None if self.by_text.len() >= most => return None,
            None => {
                let number = u32::try_from(self.by_text.len()).ok()?;
                self.by_text.insert(fingerprint.clone(), number);
                number
            }
        };
        self.recent[place] = Some((fingerprint.clone(), number));
        Some(number)
    }
}

/// Where an address is remembered (Fibonacci hashing).
fn place(fingerprint: &Fingerprint) -> usize {
    let address = Arc::as_ptr(fingerprint).cast::<u8>() as u64;
    (address.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (u64::BITS - RECENT.trailing_zeros())) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_texts_have_one_number_wherever_they_are() {
        let mut numbers = ByFingerprint::default();
        let texts: Vec<Fingerprint> = (0..3 * RECENT)
            .map(|one| format!("select {one}").into())
            .collect();
        for _ in 0..2 {
            for (expected, text) in (0..).zip(&texts) {
                let other: Fingerprint = Arc::from(&**text);
                assert_eq!(numbers.number(text, texts.len()), Some(expected));
                assert_eq!(numbers.number(&other, texts.len()), Some(expected));
            }
        }
        assert_eq!(numbers.number(&"new".into(), texts.len()), None);
    }
}
